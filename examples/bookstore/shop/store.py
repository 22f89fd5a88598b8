"""The application: the fourteen interactions of TPC-W as pages, one process for each replica.

The driver says who asks: `customer` and `tenant` (the bookshop that the customer belongs to) are request headers.
"""

import os

from flask import Flask, g, jsonify, request
from flask.typing import ResponseReturnValue
from opentelemetry import trace

from shop.catalog import Catalog
from shop.clients import POOL_SIZE, Database, Payment, Recommendations, cache
from shop.layout import HOST, Layout
from shop.orders import Orders
from shop.stock_export import start_stock_export
from shop.switches import Switches
from shop.telemetry import add_thread_ids

THREADS = 8
ACCOUNTS = 500

add_thread_ids()
layout = Layout.from_environment()
switches = Switches(layout)
database = Database(layout)
redis = cache(layout)
catalog = Catalog(database, redis, switches)
orders = Orders(database, redis, Payment(layout))
recommendations = Recommendations(layout)
start_stock_export(database)
app = Flask("store")


@app.before_request
def identify() -> None:
    g.customer = int(request.headers.get("customer", "1"))
    g.tenant = request.headers.get("tenant", "none")
    span = trace.get_current_span()
    span.set_attribute("tenant", g.tenant)
    span.set_attribute("account", f"customer-{g.customer % ACCOUNTS}")
    database.resize(switches.value("pool_size", POOL_SIZE))
    switches.apply(f"{request.method} {request.path}", g.tenant)


@app.teardown_request
def release(_: BaseException | None) -> None:
    database.release(switches.value("keep_connections", True))


@app.get("/home")
def home() -> ResponseReturnValue:
    return jsonify(customer=orders.customer(g.customer), related=recommendations.related(item()))


@app.get("/new")
def new_products() -> ResponseReturnValue:
    return jsonify(items=catalog.newest(request.args["subject"]))


@app.get("/best")
def best_sellers() -> ResponseReturnValue:
    return jsonify(items=catalog.best_sellers(request.args["subject"]))


@app.get("/item")
def product_detail() -> ResponseReturnValue:
    return jsonify(item=catalog.item(item()), related=recommendations.related(item()))


@app.get("/search")
def search_request() -> ResponseReturnValue:
    return jsonify(related=recommendations.related(item()))


@app.get("/results")
def search_results() -> ResponseReturnValue:
    return jsonify(items=catalog.search(request.args["text"]))


@app.post("/cart")
def shopping_cart() -> ResponseReturnValue:
    return jsonify(cart=orders.add_to_cart(g.customer, item()), related=recommendations.related(item()))


@app.post("/register")
def customer_registration() -> ResponseReturnValue:
    orders.register(g.customer)
    return jsonify(customer=orders.customer(g.customer))


@app.post("/buy")
def buy_request() -> ResponseReturnValue:
    return jsonify(customer=orders.customer(g.customer), cart=orders.cart(g.customer))


@app.post("/confirm")
def buy_confirm() -> ResponseReturnValue:
    return jsonify(order=orders.confirm(g.customer))


@app.get("/inquiry")
def order_inquiry() -> ResponseReturnValue:
    return jsonify(order=orders.last(g.customer, with_lines=False))


@app.get("/order")
def order_display() -> ResponseReturnValue:
    return jsonify(order=orders.last(g.customer, with_lines=True))


@app.get("/admin")
def admin_request() -> ResponseReturnValue:
    return jsonify(item=catalog.item(item()))


@app.post("/admin")
def admin_confirm() -> ResponseReturnValue:
    orders.change_price(item(), int(request.args["cents"]))
    return jsonify(item=catalog.item(item()))


def item() -> int:
    return int(request.args["item"])


if __name__ == "__main__":
    import waitress

    port = layout.store(os.environ["BOOKSTORE_INSTANCE"])
    waitress.serve(app, host=HOST, port=port, threads=THREADS, ident=None)
