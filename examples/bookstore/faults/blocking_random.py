"""CloudDiag's case 2: two replicas read random numbers from a source that blocks until it has some."""

import fcntl
import os
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

NAME = "blocking-random"
REPLICAS = ("store-1", "store-3")
BYTES = 16
EVERY_S = 0.5


def start(shop: "Shop") -> None:
    pipe = shop.layout.data / "random"
    if not pipe.exists():
        os.mkfifo(pipe)
    shop.background(NAME, "faults.blocking_random", pipe)
    where = {"service": "store", "operation": "POST /cart", "read_file": str(pipe)}
    shop.effects(NAME, *(where | {"instance": instance} for instance in REPLICAS))


def stop(shop: "Shop") -> None:
    """Readers that wait get the end of the file."""
    shop.effects(NAME)
    time.sleep(1)
    shop.processes.stop(NAME)


FAULT = Fault(
    NAME,
    "POST /cart on store-1 and store-3 waits for random numbers, of which there is one every 500 ms",
    Truth(service="store", operation="POST /cart", replicas=REPLICAS, cause="waiting", also=("machine",)),
    start,
    stop,
)

if __name__ == "__main__":
    # Open for reading and writing, so that it stays open without readers. A number is written once the last one was read.
    descriptor = os.open(Path(sys.argv[1]), os.O_RDWR)
    while True:
        time.sleep(EVERY_S)
        waiting = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
        if int.from_bytes(waiting, sys.byteorder) == 0:
            os.write(descriptor, os.urandom(BYTES))
