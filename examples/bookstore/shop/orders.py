"""Carts, orders, and payments."""

import json
import time
from typing import Any

import redis
from opentelemetry import propagate, trace

from shop.clients import Database, Payment

CART_S = 1800
QUEUE = "orders"

CUSTOMER = "SELECT id, name, tenant, discount FROM customer WHERE id = %s"
PRICES = "SELECT id, title, price_cents FROM item WHERE id = ANY(%s)"
LAST = "SELECT id, placed, status, total_cents FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 1"
INSERT = "INSERT INTO orders (customer_id, status, total_cents) VALUES (%s, %s, %s) RETURNING id"
INSERT_LINE = "INSERT INTO order_line (order_id, item_id, quantity) VALUES (%s, %s, %s)"
LINES = "SELECT item_id, quantity FROM order_line WHERE order_id = %s"

tracer = trace.get_tracer("bookstore")


class Orders:
    """Carts are in the cache, orders in the database; the worker processes orders."""

    def __init__(self, database: Database, cache: "redis.Redis", payment: Payment) -> None:
        self._database = database
        self._cache = cache
        self._payment = payment

    def add_to_cart(self, customer: int, item: int) -> dict[str, Any]:
        key = f"cart:{customer}"
        self._cache.hincrby(key, str(item), 1)
        self._cache.expire(key, CART_S)
        return self.cart(customer)

    def cart(self, customer: int) -> dict[str, Any]:
        quantities = {int(item): int(number) for item, number in self._cache.hgetall(f"cart:{customer}").items()}
        rows = self._database.query(PRICES, list(quantities))
        lines = [row | {"quantity": quantities[row["id"]]} for row in rows]
        return {"lines": lines, "cents": sum(line["price_cents"] * line["quantity"] for line in lines)}

    def customer(self, customer: int) -> dict[str, Any] | None:
        rows = self._database.query(CUSTOMER, customer)
        return rows[0] if rows else None

    def register(self, customer: int) -> None:
        self._database.execute("UPDATE customer SET last_login = now() WHERE id = %s", customer)

    def confirm(self, customer: int) -> int:
        """Pays and stores the cart. The customer's row is locked meanwhile, so that an account has one order at a time."""
        cart = self.cart(customer)
        with self._database.connection().transaction():
            self._database.query("SELECT id FROM customer WHERE id = %s FOR UPDATE", customer)
            paid = self._payment.authorize(customer, cart["cents"])
            status = "paid" if paid else "refused"
            order = int(self._database.query(INSERT, customer, status, cart["cents"])[0]["id"])
            for line in cart["lines"]:
                self._database.execute(INSERT_LINE, order, line["id"], line["quantity"])
        self._cache.delete(f"cart:{customer}")
        self._publish(order)
        return order

    def _publish(self, order: int) -> None:
        with tracer.start_as_current_span(f"publish {QUEUE}", kind=trace.SpanKind.PRODUCER) as span:
            span.set_attribute("messaging.system", "redis")
            span.set_attribute("messaging.destination.name", QUEUE)
            message: dict[str, Any] = {"order": order, "published": time.time()}
            propagate.inject(message)
            self._cache.rpush(QUEUE, json.dumps(message))

    def last(self, customer: int, with_lines: bool) -> dict[str, Any]:
        orders = self._database.query(LAST, customer)
        lines = self._database.query(LINES, orders[0]["id"]) if orders and with_lines else []
        return {"order": orders[:1], "lines": lines}

    def change_price(self, item: int, cents: int) -> None:
        self._database.execute("UPDATE item SET price_cents = %s WHERE id = %s", cents, item)
        self._cache.delete(f"item:{item}")
