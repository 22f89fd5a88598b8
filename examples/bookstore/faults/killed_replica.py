"""Mi's failover: a replica is killed, and returns, again and again."""

import time
from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

NAME = "killed-replica"
REPLICA = "store-2"
DOWN_S, UP_S = 15, 30


def start(shop: "Shop") -> None:
    shop.background(NAME, "faults.killed_replica")


def stop(shop: "Shop") -> None:
    shop.processes.stop(NAME)
    if shop.processes.pid(REPLICA) is None:
        shop.restart(REPLICA)


def repeat(shop: "Shop") -> None:
    while True:
        shop.kill(REPLICA)
        shop.log(f"{REPLICA} killed")
        time.sleep(DOWN_S)
        shop.restart(REPLICA)
        shop.log(f"{REPLICA} is back")
        time.sleep(UP_S)


FAULT = Fault(
    NAME,
    f"store-2 is killed, and is back after {DOWN_S} s, every {DOWN_S + UP_S} s",
    Truth(service="store", replicas=(REPLICA,), cause="machine", also=("errors", "uneven-load")),
    start,
    stop,
)

if __name__ == "__main__":
    from control.shop import Shop

    repeat(Shop.from_environment())
