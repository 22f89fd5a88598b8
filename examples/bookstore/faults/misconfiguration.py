"""Mi's misconfiguration: one replica is started with database connections that are not reused."""

from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

NAME = "misconfiguration"
REPLICA = "store-3"


def start(shop: "Shop") -> None:
    shop.effects(NAME, {"service": "store", "instance": REPLICA, "set": {"keep_connections": False}})
    shop.restart(REPLICA)


def stop(shop: "Shop") -> None:
    shop.effects(NAME)
    shop.restart(REPLICA)


FAULT = Fault(
    NAME,
    "store-3 is restarted so that it closes its database connections after each request",
    Truth(service="store", replicas=(REPLICA,), cause="configuration", also=("code", "machine")),
    start,
    stop,
)
