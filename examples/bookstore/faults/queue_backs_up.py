"""The worker is too slow for the arriving orders, so that they wait in the queue."""

from faults.fault import Truth, by_effects

FAULT = by_effects(
    "queue-backs-up",
    "the worker waits 8 s for each order, and orders come faster",
    Truth(service="worker", operation="process orders", cause="waiting"),
    {"service": "worker", "operation": "process orders", "sleep_ms": 8000},
)
