"""A replica leaks memory: its memory grows, and so do its garbage collections."""

from faults.fault import Truth, by_effects

FAULT = by_effects(
    "leak",
    "store-2 leaks 400 KiB with each GET /search, up to 400 MiB",
    Truth(service="store", replicas=("store-2",), cause="code", also=("machine",)),
    {"service": "store", "instance": "store-2", "operation": "GET /search", "leak_kib": 400},
)
