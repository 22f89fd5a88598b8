"""Requests of one tenant are slow, on all replicas."""

from faults.fault import Truth, by_effects

TENANT = "shop-4"
OPERATIONS = ("GET /item", "GET /home", "GET /search", "GET /results")
WHERE = {"service": "store", "tenant": TENANT, "sleep_ms": 80}

FAULT = by_effects(
    "slow-tenant",
    f"four pages of {TENANT} take 80 ms longer",
    # Any of the pages is right.
    Truth(
        service="store",
        operation=OPERATIONS[0],
        tenant=TENANT,
        cause="data",
        more=tuple(
            Truth(service="store", operation=operation, tenant=TENANT, cause="data") for operation in OPERATIONS
        ),
    ),
    *(WHERE | {"operation": operation} for operation in OPERATIONS),
)
