"""Days without a fault, on which every report is false."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from faults.fault import Fault, Truth, nothing

if TYPE_CHECKING:
    from control.shop import Shop


def load(name: str, summary: str, **changes: object) -> Fault:
    return Fault(name, summary, Truth(), lambda shop: shop.load(name, **changes))


def done(name: str, summary: str, start: Callable[["Shop"], object], stop: Callable[["Shop"], object] = nothing) -> Fault:
    return Fault(name, summary, Truth(), start, stop)


DAYS = (
    done("ordinary-day", "nothing happens", nothing),
    load("more-load", "half as many clients again", factor=1.5),
    load("less-load", "half of the clients", factor=0.5),
    load("browsing-day", "the mix is browsing", mix="browsing"),
    load("ordering-day", "the mix is ordering", mix="ordering"),
    load("open-arrivals", "as many requests, from clients that wait for nothing", rate=15),
    done(
        "harmless-deployment",
        "a new version of the store that changes nothing",
        lambda shop: shop.deploy("1.0.1"),
        lambda shop: shop.deploy(shop.first_version),
    ),
    done("restarted-replica", "one replica is restarted, once", lambda shop: shop.restart("store-3")),
    done("backup", "the database is copied, as every night", lambda shop: shop.backup()),
    done("statistics", "the database collects its statistics", lambda shop: shop.sql("ANALYZE")),
)
