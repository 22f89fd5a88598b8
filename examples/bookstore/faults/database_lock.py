"""A maintenance job that locks a table of the database every now and then."""

from faults.fault import Fault, Truth

NAME = "database-lock"
LOCK = "BEGIN; LOCK TABLE item IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.4); COMMIT; SELECT pg_sleep(1.6);"

FAULT = Fault(
    NAME,
    "another session locks the table of books for 400 ms every two seconds",
    Truth(service="store", operation="SELECT item", cause="dependency", also=("waiting",)),
    lambda shop: shop.background(NAME, "faults.database_lock"),
    lambda shop: shop.processes.stop(NAME),
)

if __name__ == "__main__":
    from control.shop import Shop

    shop = Shop.from_environment()
    while True:
        shop.sql(LOCK)
