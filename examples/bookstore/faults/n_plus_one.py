"""A new version of the store makes a query for each book instead of one for all."""

from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

NAME = "n-plus-one"
VERSION = "1.3.0"


def start(shop: "Shop") -> None:
    shop.effects(NAME, {"service": "store", "version": VERSION, "set": {"query_each_rating": True}})
    shop.deploy(VERSION)


def stop(shop: "Shop") -> None:
    shop.effects(NAME)
    shop.deploy(shop.first_version)


FAULT = Fault(
    NAME,
    f"version {VERSION} of the store asks the database for the rating of each book in GET /results",
    Truth(service="store", operation="GET /results", cause="code"),
    start,
    stop,
)
