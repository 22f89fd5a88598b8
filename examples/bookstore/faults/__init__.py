"""The faults: one file each, and its row here."""

from faults import errors, slow_replica

FAULTS = {
    fault.name: fault
    for fault in (
        slow_replica.SLEEP,
        slow_replica.SPIN,
        slow_replica.LOCK,
        errors.FAULT,
    )
}
