"""Processes orders: takes them from the queue, reduces the stock, and marks them as shipped."""

import json
import time

from opentelemetry import propagate, trace

from shop.clients import Database, cache
from shop.layout import Layout
from shop.orders import LINES, QUEUE
from shop.switches import Switches
from shop.telemetry import add_thread_ids

WAIT_S = 2
HANDLE = f"process {QUEUE}"
#: As in TPC-W, items that are almost sold out are restocked (clause 2.7.3).
REDUCE = "UPDATE item SET stock = CASE WHEN stock < %s + 10 THEN stock + 21 ELSE stock END - %s WHERE id = %s"

add_thread_ids()
layout = Layout.from_environment()
switches = Switches(layout)
database = Database(layout)
redis = cache(layout)
tracer = trace.get_tracer("bookstore")


def handle(message: dict[str, object]) -> None:
    switches.apply(HANDLE)
    with database.connection().transaction():
        for line in database.query(LINES, message["order"]):
            database.execute(REDUCE, line["quantity"], line["quantity"], line["item_id"])
        database.execute("UPDATE orders SET status = 'shipped' WHERE id = %s", message["order"])


def main() -> None:
    while True:
        popped = redis.blpop([QUEUE], timeout=WAIT_S)
        if popped is None:
            continue
        message = json.loads(popped[1])
        context = propagate.extract(message)
        with tracer.start_as_current_span(HANDLE, context=context, kind=trace.SpanKind.CONSUMER) as span:
            span.set_attribute("messaging.system", "redis")
            span.set_attribute("messaging.destination.name", QUEUE)
            span.set_attribute("bookstore.waited_ms", (time.time() - message["published"]) * 1000)
            handle(message)


if __name__ == "__main__":
    main()
