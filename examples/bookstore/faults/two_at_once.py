"""Two unrelated faults at once."""

from typing import TYPE_CHECKING

from faults import errors, slow_replica
from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

PARTS = (slow_replica.SLEEP, errors.FAULT)


def start(shop: "Shop") -> None:
    for part in PARTS:
        part.start(shop)


def stop(shop: "Shop") -> None:
    for part in PARTS:
        part.stop(shop)
        shop.effects(part.name)


FAULT = Fault(
    "two-at-once",
    "store-2 waits in GET /item, and a third of GET /results fail everywhere",
    Truth(service="store", operation="GET /item", cause="waiting", more=tuple(part.truth for part in PARTS)),
    start,
    stop,
)
