"""The name server does not answer, so that payments wait for two timeouts of a second every five seconds."""

from faults.fault import Truth, by_effects

FAULT = by_effects(
    "name-lookup",
    "looking up the payment gateway takes two seconds, before the old address is used",
    Truth(service="store", operation="POST /confirm", cause="waiting", also=("dependency", "network")),
    {"service": "payment", "set": {"drop_names": True}},
)
