"""One replica of three is slow in one operation: it sleeps, computes, or waits for a lock."""

from faults.fault import Truth, by_effects

WHERE = {"service": "store", "instance": "store-2", "operation": "GET /item"}


def truth(cause: str) -> Truth:
    return Truth(service="store", operation="GET /item", replicas=("store-2",), cause=cause, also=("machine",))


SLEEP = by_effects(
    "slow-replica-sleep", "store-2 waits 60 ms in GET /item", truth("waiting"), WHERE | {"sleep_ms": 60}
)
SPIN = by_effects(
    "slow-replica-spin", "store-2 computes for 30 ms in GET /item", truth("code"), WHERE | {"spin_ms": 30}
)
LOCK = by_effects(
    "slow-replica-lock", "GET /item on store-2 holds a lock for 80 ms", truth("waiting"), WHERE | {"lock_ms": 80}
)
