"""CloudDiag's case 3: bursts on a few accounts. An account has one order at a time, so its orders wait for each other."""

from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

NAME = "bursts"
ACCOUNTS = (7, 1203, 2041)


def start(shop: "Shop") -> None:
    burst = {"interaction": "Buy Confirm", "accounts": ACCOUNTS, "requests": 6, "probability": 0.1}
    shop.load(NAME, burst=burst)


FAULT = Fault(
    NAME,
    "three accounts send six orders at once every five seconds; orders of an account wait for each other",
    Truth(service="store", operation="SELECT customer", cause="data", also=("waiting", "load")),
    start,
)
