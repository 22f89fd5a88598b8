"""Mi's bad balancer: most requests are sent to one replica."""

from faults.fault import Fault, Truth

WEIGHTS = {"store-1": 20}

FAULT = Fault(
    "bad-balancer",
    "nginx sends ten of eleven requests to store-1",
    Truth(service="store", replicas=("store-1",), cause="uneven-load"),
    lambda shop: shop.write_nginx(WEIGHTS),
    lambda shop: shop.write_nginx({}),
)

