"""The catalog: pages about books."""

import json
from typing import Any

import redis

from shop.clients import Database
from shop.switches import Switches

Row = dict[str, Any]

PAGE_S = 60
BEST_S = 300

NEW = "SELECT id, title, author FROM item WHERE subject = %s ORDER BY published DESC LIMIT 20"
BEST = """
    SELECT i.id, i.title, i.author, sum(l.quantity) AS sold
    FROM order_line l JOIN item i ON i.id = l.item_id
    WHERE l.order_id > (SELECT max(id) - 20000 FROM orders) AND i.subject = %s
    GROUP BY i.id ORDER BY sold DESC, i.id LIMIT 20"""
ITEM = "SELECT id, title, author, subject, price_cents, stock FROM item WHERE id = %s"
RATING = "SELECT count(*) AS reviews, avg(stars)::float8 AS stars FROM review WHERE item_id = %s"
RESULTS = "SELECT id, title, author, price_cents FROM item WHERE lower(title) LIKE %s ORDER BY title LIMIT 20"
RATINGS = "SELECT item_id, avg(stars)::float8 AS stars FROM review WHERE item_id = ANY(%s) GROUP BY item_id"


class Catalog:
    """Reads the database, with a cache in front."""

    def __init__(self, database: Database, cache: "redis.Redis", switches: Switches) -> None:
        self._database = database
        self._cache = cache
        self._switches = switches

    def newest(self, subject: str) -> list[Row]:
        return self._cached(f"new:{subject}", PAGE_S, NEW, subject)

    def best_sellers(self, subject: str) -> list[Row]:
        return self._cached(f"best:{subject}", BEST_S, BEST, subject)

    def item(self, item: int) -> Row:
        rows = self._cached(f"item:{item}", PAGE_S, ITEM, item)
        return (rows[0] if rows else {}) | self._database.query(RATING, item)[0]

    def search(self, text: str) -> list[Row]:
        rows = self._database.query(RESULTS, text.lower() + "%")
        if self._switches.value("query_each_rating", False):
            ratings = [rating for row in rows for rating in self._database.query(RATINGS, [row["id"]])]
        else:
            ratings = self._database.query(RATINGS, [row["id"] for row in rows])
        stars = {rating["item_id"]: rating["stars"] for rating in ratings}
        return [row | {"stars": stars.get(row["id"])} for row in rows]

    def _cached(self, key: str, seconds: int, sql: str, *values: Any) -> list[Row]:
        known = self._cache.get(key)
        if known is not None:
            return json.loads(known)
        rows = self._database.query(sql, *values)
        self._cache.set(key, json.dumps(rows), ex=seconds)
        return rows
