"""Drives the shop: `bookstore drive` starts this."""

import argparse
import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

from driver.client import Client, Log
from driver.loads import Load, changed, paper, steady
from driver.mixes import INTERACTIONS, MIXES, choose

TICK_S = 0.5
OPEN_CONNECTIONS = 200


class Driver:
    """Clients that arrive and leave according to the load, and requests without a session."""

    def __init__(self, options: argparse.Namespace, load: Load, log: Log) -> None:
        self._options = options
        self._load = load
        self._log = log
        self._dice = random.Random(options.seed)
        self._running: dict[str, list[asyncio.Task[None]]] = {mix: [] for mix in MIXES}
        self._bursts: set[asyncio.Task[None]] = set()
        self._changes: dict[str, Any] = {}

    async def run(self) -> None:
        start = time.monotonic()
        arrivals = asyncio.create_task(self._arrivals())
        while self._options.seconds is None or time.monotonic() - start < self._options.seconds:
            self._changes = self._read_changes()
            # Clients that a rate replaces stop.
            rate = self._changes.get("rate", self._options.rate)
            wanted = {} if rate else self._load(time.monotonic() - start)
            self._adjust(changed(wanted, self._changes.get("factor", 1), self._changes.get("mix")))
            self._burst()
            self._log.file.flush()
            await asyncio.sleep(TICK_S)
        arrivals.cancel()

    def _read_changes(self) -> dict[str, Any]:
        try:
            switches = json.loads((self._options.data / "switches.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return self._changes
        merged: dict[str, Any] = {}
        for changes in switches.get("load", {}).values():
            merged |= changes
        return merged

    def _adjust(self, wanted: dict[str, int]) -> None:
        for mix, running in self._running.items():
            while len(running) < wanted.get(mix, 0):
                client = self._client()
                running.append(asyncio.create_task(client.shop(mix, self._options.think)))
            while len(running) > wanted.get(mix, 0):
                running.pop().cancel()

    def _client(self, customer: int = 0) -> Client:
        return Client(self._options.port, self._log, random.Random(self._dice.random()), customer)

    async def _arrivals(self) -> None:
        """Open arrivals: a Poisson process that does not wait for responses, over reused connections."""
        idle: list[Client] = []
        pending: set[asyncio.Task[None]] = set()

        async def one(client: Client) -> None:
            await client.request(choose(self._changes.get("mix", self._options.mix), self._dice))
            idle.append(client)

        due = time.monotonic()
        while True:
            rate = self._changes.get("rate", self._options.rate)
            if not rate:
                await asyncio.sleep(TICK_S)
                due = time.monotonic()
                continue
            due += self._dice.expovariate(rate)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if len(pending) < OPEN_CONNECTIONS:
                task = asyncio.create_task(one(idle.pop() if idle else self._client()))
                pending.add(task)
                task.add_done_callback(pending.discard)

    def _burst(self) -> None:
        """Some accounts that order many things at once, for a while: `accounts`, `requests` each, with a `probability`."""
        burst = self._changes.get("burst")
        if burst is None or self._dice.random() > burst["probability"]:
            return
        confirm = next(one for one in INTERACTIONS if one.name == burst["interaction"])
        for account in burst["accounts"]:
            for _ in range(burst["requests"]):
                task = asyncio.create_task(self._client(account).request(confirm))
                self._bursts.add(task)
                task.add_done_callback(self._bursts.discard)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bookstore drive", description="Drives the shop until it is stopped.")
    parser.add_argument("--mix", choices=MIXES, default="shopping", help="mix of TPC-W (%(default)s)")
    parser.add_argument("--clients", type=int, default=30, help="closed clients (%(default)s)")
    parser.add_argument("--think", type=float, default=2.0, help="mean think time in seconds (%(default)s; TPC-W has 7)")
    parser.add_argument("--paper", type=float, metavar="SECONDS", help="the paper's changing load, an hour in so many seconds")
    parser.add_argument("--rate", type=float, default=0, help="open arrivals per second instead of clients")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--seed", type=int, default=1, help="seed of what clients do (%(default)s)")
    return parser


def main() -> None:
    parser = arguments()
    parser.add_argument("--data", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    load = steady(options.mix, options.clients)
    if options.paper is not None:
        load = paper(options.clients, options.paper)
    with open(options.data / "answers.csv", "a", encoding="utf-8") as file:
        if file.tell() == 0:
            file.write("time_s,interaction,ms,status\n")
        log = Log(file)
        try:
            asyncio.run(Driver(options, load, log).run())
        except KeyboardInterrupt:
            pass
    print(f"{log.answers} answers, {log.failures} failures; see {options.data}/answers.csv")


if __name__ == "__main__":
    main()
