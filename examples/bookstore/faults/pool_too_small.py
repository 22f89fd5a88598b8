"""CloudDiag's case 1: a pool that is too small. Requests wait for a connection to the database, on all replicas."""

from faults.fault import Truth, by_effects

FAULT = by_effects(
    "pool-too-small",
    "every replica of the store has one connection to the database instead of 8",
    Truth(service="store", cause="waiting", also=("configuration",)),
    {"service": "store", "set": {"pool_size": 1}},
)
