"""The disk of the database is slow: every commit waits for the write-ahead log.

`commit_delay` is PostgreSQL's own pause before it flushes the log. The backend waits for a timer, not for a device; in spans there is
no difference.
"""

from faults.fault import Fault, Truth

DELAY_US = 60_000


FAULT = Fault(
    "slow-disk",
    "every commit at the database takes 60 ms longer",
    Truth(service="store", operation="UPDATE customer", cause="dependency", also=("waiting",)),
    lambda shop: shop.database_settings(fsync="on", commit_siblings="0", commit_delay=str(DELAY_US)),
    lambda shop: shop.database_settings(fsync=None, commit_siblings=None, commit_delay=None),
)
