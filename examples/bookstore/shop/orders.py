"""What customers buy: carts, orders, and their payment."""

import json
import time
from typing import Any

import redis
from opentelemetry import propagate, trace
from psycopg_pool import ConnectionPool

from shop.clients import Payment

CART_S = 1800
QUEUE = "orders"

CUSTOMER = "SELECT id, name, tenant, discount FROM customer WHERE id = %s"
PRICES = "SELECT id, title, price_cents FROM item WHERE id = ANY(%s)"
LAST = "SELECT id, placed, status, total_cents FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 1"
LINES = "SELECT item_id, quantity FROM order_line WHERE order_id = %s"

tracer = trace.get_tracer("bookstore")


class Orders:
    """Carts are in the cache, orders in the database; what follows an order is done by the worker."""

    def __init__(self, pool: ConnectionPool, cache: "redis.Redis", payment: Payment) -> None:
        self._pool = pool
        self._cache = cache
        self._payment = payment

    def add_to_cart(self, customer: int, item: int) -> dict[str, Any]:
        key = f"cart:{customer}"
        self._cache.hincrby(key, str(item), 1)
        self._cache.expire(key, CART_S)
        return self.cart(customer)

    def cart(self, customer: int) -> dict[str, Any]:
        quantities = {int(item): int(number) for item, number in self._cache.hgetall(f"cart:{customer}").items()}
        with self._pool.connection() as connection:
            rows = connection.execute(PRICES, [list(quantities)]).fetchall()
        lines = [row | {"quantity": quantities[row["id"]]} for row in rows]
        return {"lines": lines, "cents": sum(line["price_cents"] * line["quantity"] for line in lines)}

    def customer(self, customer: int) -> dict[str, Any] | None:
        with self._pool.connection() as connection:
            return connection.execute(CUSTOMER, [customer]).fetchone()

    def register(self, customer: int) -> None:
        with self._pool.connection() as connection:
            connection.execute("UPDATE customer SET last_login = now() WHERE id = %s", [customer])

    def confirm(self, customer: int) -> int:
        """Pays and stores the cart. The customer's row is locked meanwhile: an account buys one thing at a time."""
        cart = self.cart(customer)
        with self._pool.connection() as connection, connection.transaction():
            connection.execute("SELECT id FROM customer WHERE id = %s FOR UPDATE", [customer])
            paid = self._payment.authorize(customer, cart["cents"])
            order = connection.execute(
                "INSERT INTO orders (customer_id, status, total_cents) VALUES (%s, %s, %s) RETURNING id",
                [customer, "paid" if paid else "refused", cart["cents"]],
            ).fetchone()["id"]
            for line in cart["lines"]:
                connection.execute(
                    "INSERT INTO order_line (order_id, item_id, quantity) VALUES (%s, %s, %s)",
                    [order, line["id"], line["quantity"]],
                )
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
        with self._pool.connection() as connection:
            order = connection.execute(LAST, [customer]).fetchone() or {}
            if order and with_lines:
                order["lines"] = connection.execute(LINES, [order["id"]]).fetchall()
        return order

    def change_price(self, item: int, cents: int) -> None:
        with self._pool.connection() as connection:
            connection.execute("UPDATE item SET price_cents = %s WHERE id = %s", [cents, item])
        self._cache.delete(f"item:{item}")
