"""An eviction storm: another program fills the cache, which evicts the shop's pages and carts."""

import itertools
import socket
import time
from typing import TYPE_CHECKING

from faults.fault import Fault, Truth
from shop.layout import HOST

if TYPE_CHECKING:
    from control.shop import Shop

NAME = "evictions"
MEMORY, USUAL_MEMORY = "4mb", "64mb"
VALUE_BYTES = 16 * 1024
EVERY_S = 0.0025


def start(shop: "Shop") -> None:
    shop.redis("CONFIG", "SET", "maxmemory", MEMORY)
    shop.background(NAME, "faults.evictions")


def stop(shop: "Shop") -> None:
    shop.processes.stop(NAME)
    shop.redis("CONFIG", "SET", "maxmemory", USUAL_MEMORY)
    shop.redis("EVAL", "for _, key in ipairs(redis.call('keys', 'other:*')) do redis.call('unlink', key) end", "0")


def fill(port: int) -> None:
    value = b"x" * VALUE_BYTES
    with socket.create_connection((HOST, port)) as sock:
        for number in itertools.count():
            key = b"other:%d" % (number % 100_000)
            sock.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value))
            sock.recv(64)
            time.sleep(EVERY_S)


FAULT = Fault(
    NAME,
    "the cache has 4 MB, and another program writes 400 values of 16 KiB a second: almost no page is in the cache",
    Truth(service="store", operation="GET /best", cause="dependency", also=("configuration", "code")),
    start,
    stop,
)

if __name__ == "__main__":
    from control.shop import Shop

    fill(Shop.from_environment().layout.redis)
