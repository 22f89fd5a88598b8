"""Clients of the store and the worker: PostgreSQL, Redis, the recommendations, and the payment gateway."""

import json
import os
import socket
import struct
import threading
import time
from contextlib import AbstractContextManager
from typing import Any

import redis
import urllib3
from psycopg import Connection
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from shop.layout import HOST, Layout

POOL_SIZE = 8
NAME = "payment.bookstore"
NAME_TTL_S = 5.0
NAME_TRIES = 2
NAME_TIMEOUT_S = 1.0


class Database:
    """PostgreSQL through a connection pool. As in many frameworks, a request holds a connection from its first query to its end."""

    def __init__(self, layout: Layout) -> None:
        self._address = f"host={HOST} port={layout.postgres} user=bookstore dbname=bookstore"
        self._pool = self._open(POOL_SIZE)
        self._resizing = threading.Lock()
        self._thread = threading.local()

    def _open(self, size: int) -> ConnectionPool[Connection[dict[str, Any]]]:
        options = {"row_factory": dict_row, "autocommit": True}
        return ConnectionPool(self._address, min_size=1, max_size=size, kwargs=options, timeout=20, open=True)

    def connection(self) -> Connection[dict[str, Any]]:
        """The connection of the request; the first call waits until one is free."""
        if getattr(self._thread, "connection", None) is None:
            pool = self._pool
            self._thread.connection, self._thread.pool = pool.getconn(), pool
        return self._thread.connection

    def query(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        return self.connection().execute(sql, values).fetchall()

    def execute(self, sql: str, *values: Any) -> None:
        self.connection().execute(sql, values)

    def release(self, keep: bool = True) -> None:
        """At the end of the request. A connection that is not reusable is closed, and the pool opens another."""
        connection = getattr(self._thread, "connection", None)
        if connection is not None:
            self._thread.connection = None
            if not keep:
                connection.close()
            self._thread.pool.putconn(connection)

    def own_connection(self) -> AbstractContextManager[Connection[dict[str, Any]]]:
        """A connection of the pool for work that is not part of a request."""
        return self._pool.connection()

    def resize(self, size: int) -> None:
        """Opens another pool: `ConnectionPool.resize` does not close connections until they were idle for ten minutes."""
        with self._resizing:
            old = self._pool
            if size == old.max_size:
                return
            self._pool = self._open(size)
        old.close(timeout=0)


def cache(layout: Layout) -> "redis.Redis":
    """Pages, carts, and the queue of orders."""
    return redis.Redis(host=HOST, port=layout.redis, decode_responses=True)


class Recommendations:
    """The recommendation service."""

    def __init__(self, layout: Layout) -> None:
        port = layout.link(os.environ["BOOKSTORE_INSTANCE"])
        self._http = urllib3.PoolManager(maxsize=16, retries=False, timeout=10)
        self._address = f"http://{HOST}:{port}"

    def related(self, item: int) -> list[dict[str, Any]]:
        answer = self._http.request("GET", f"{self._address}/related?item={item}")
        return json.loads(answer.data)["items"] if answer.status == 200 else []


class Payment:
    """The payment gateway of a third party: it is looked up by name and sends no spans."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._http = urllib3.PoolManager(maxsize=16, retries=False, timeout=10)
        self._address: tuple[str, float] = (HOST, 0.0)

    def authorize(self, customer: int, cents: int) -> bool:
        address = f"http://{self._look_up()}:{self._layout.payment}/authorize"
        answer = self._http.request("POST", address, json={"customer": customer, "cents": cents})
        return answer.status == 200

    def _look_up(self) -> str:
        """Queries the name server like a resolver: two tries of a second each, then the previously known address."""
        address, until = self._address
        if time.monotonic() < until:
            return address
        for _ in range(NAME_TRIES):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.settimeout(NAME_TIMEOUT_S)
                sock.sendto(name_query(NAME), (HOST, self._layout.names))
                try:
                    address = socket.inet_ntoa(sock.recv(512)[-4:])
                    break
                except TimeoutError:
                    continue
        self._address = (address, time.monotonic() + NAME_TTL_S)
        return address


def name_query(name: str) -> bytes:
    """A DNS query for an IPv4 address (RFC 1035, section 4.1)."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
