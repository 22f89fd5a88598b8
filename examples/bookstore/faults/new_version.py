"""A new version of the store computes longer in one transaction, as in Cherkasova et al. (2009): 5 and 10 ms."""

from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop


def fault(version: str, more_ms: int) -> Fault:
    name = f"new-version-{more_ms}-ms"

    def start(shop: "Shop") -> None:
        shop.effects(name, {"service": "store", "version": version, "operation": "GET /home", "spin_ms": more_ms})
        shop.deploy(version)

    def stop(shop: "Shop") -> None:
        shop.effects(name)
        shop.deploy(shop.first_version)

    truth = Truth(service="store", operation="GET /home", cause="code")
    return Fault(name, f"version {version} of the store computes {more_ms} ms longer in GET /home", truth, start, stop)


FIVE = fault("1.1.0", 5)
TEN = fault("1.2.0", 10)
