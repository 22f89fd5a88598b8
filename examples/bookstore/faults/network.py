"""Delay and loss between one replica of the store and the recommendations, by the proxy between them."""

from faults.fault import Truth, by_effects

EDGE = ("store", "recommendations")


def truth(replicas: tuple[str, ...]) -> Truth:
    return Truth(service="store", edge=EDGE, replicas=replicas, cause="network", also=("dependency",))


DELAY = by_effects(
    "network-delay",
    "20 ms more each way between store-1 and the recommendations",
    truth(("store-1",)),
    {"service": "link", "operation": "store-1", "set": {"delay_ms": 20}},
)
LOSS = by_effects(
    "network-loss",
    "5 % loss between all replicas of the store and the recommendations",
    truth(()),
    {"service": "link", "set": {"loss": 0.05}},
)
