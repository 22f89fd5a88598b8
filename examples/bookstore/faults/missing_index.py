"""An index of the database is missing, so that each rating of a book reads all reviews."""

from faults.fault import Fault, Truth

FAULT = Fault(
    "missing-index",
    "the index of the reviews is dropped: GET /item and GET /results read 200,000 rows",
    Truth(service="store", operation="SELECT review", cause="dependency", also=("waiting",)),
    lambda shop: shop.sql("DROP INDEX IF EXISTS review_item"),
    lambda shop: shop.sql("CREATE INDEX IF NOT EXISTS review_item ON review (item_id)"),
)
