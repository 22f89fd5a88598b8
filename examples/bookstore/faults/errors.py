"""A third of the searches fail, on all replicas."""

from faults.fault import Truth, by_effects

FAULT = by_effects(
    "errors",
    "30 % of GET /results fail on all replicas",
    Truth(service="store", operation="GET /results", cause="errors", errors=True),
    {"service": "store", "operation": "GET /results", "share": 0.3, "error": "no such index"},
)
