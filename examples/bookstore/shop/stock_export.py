"""A scheduled task of each replica of the store, which uses the connection pool beside the requests, as in many applications.

Every second it sends the stock of some books to a partner, who takes a batch every 50 ms; until the last one it holds a connection.
"""

import threading
import time

import psycopg
from opentelemetry.instrumentation.utils import suppress_instrumentation
from psycopg_pool import PoolTimeout

from shop.clients import Database

EVERY_S = 1.0
BATCHES = 6
BATCH_S = 0.05
STOCK = "SELECT id, stock FROM item WHERE id > %s ORDER BY id LIMIT 50"


def start_stock_export(database: Database) -> None:
    threading.Thread(target=_run, args=(database,), daemon=True, name="stock-export").start()


def _run(database: Database) -> None:
    last = 0
    while True:
        time.sleep(EVERY_S)
        try:
            last = _export(database, last)
        except (psycopg.Error, PoolTimeout):
            continue


def _export(database: Database, last: int) -> int:
    with suppress_instrumentation(), database.own_connection() as connection:
        for _ in range(BATCHES):
            rows = connection.execute(STOCK, (last,)).fetchall()
            last = rows[-1]["id"] if rows else 0
            time.sleep(BATCH_S)
    return last
