"""Requests of one tenant are slow, on all replicas."""

from faults.fault import Truth, by_effects

TENANT = "shop-4"
OPERATIONS = ("GET /item", "GET /home", "GET /search", "GET /results")
WHERE = {"service": "store", "tenant": TENANT, "sleep_ms": 80}

FAULT = by_effects(
    "slow-tenant",
    f"four pages of {TENANT} take 80 ms longer",
    Truth(service="store", operation="GET /item", tenant=TENANT, cause="data"),
    *(WHERE | {"operation": operation} for operation in OPERATIONS),
)
