"""Mi's deprecated method: after an upgrade of the recommendations the store still uses the old interface."""

from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

NAME = "deprecated-method"
VERSION = "2.0.0"


def start(shop: "Shop") -> None:
    where = {"service": "recommendations", "version": VERSION}
    shop.effects(NAME, where | {"set": {"deprecated": True}}, where | {"operation": "deprecated", "sleep_ms": 8})
    shop.restart("recommendations", VERSION)


def stop(shop: "Shop") -> None:
    shop.effects(NAME)
    shop.restart("recommendations")


FAULT = Fault(
    NAME,
    "version 2.0.0 of the recommendations answers the old GET /related with a slow query for each book",
    Truth(service="recommendations", operation="GET /related", cause="code"),
    start,
    stop,
)
