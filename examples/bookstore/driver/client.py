"""A browser: one connection, one request at a time."""

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import TextIO

from driver.mixes import Interaction, address, choose

CUSTOMERS = 2_880
TENANTS = 6
TIMEOUT_S = 30.0
THINK_MAX = 10


@dataclass
class Log:
    """A line for each response as seen by the user: time of the request, page, response time, status."""

    file: TextIO
    answers: int = 0
    failures: int = 0

    def write(self, start: float, name: str, ms: float, status: int) -> None:
        self.answers += 1
        self.failures += status >= 500 or status == 0
        self.file.write(f"{start:.3f},{name},{ms:.1f},{status}\n")


@dataclass
class Client:
    """A customer with a connection."""

    port: int
    log: Log
    dice: random.Random
    customer: int = 0
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.customer = self.customer or 1 + self.dice.randrange(CUSTOMERS)

    async def shop(self, mix: str, think_s: float) -> None:
        """Thinks and sends requests forever: think times are exponential, at most ten times their mean (clause 5.3.2)."""
        while True:
            await asyncio.sleep(min(self.dice.expovariate(1 / think_s), THINK_MAX * think_s))
            await self.request(choose(mix, self.dice))

    async def request(self, interaction: Interaction) -> None:
        start, clock = time.time(), time.monotonic()
        try:
            status = await asyncio.wait_for(self._exchange(interaction), TIMEOUT_S)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            self.close()
            status = 0
        self.log.write(start, interaction.name, (time.monotonic() - clock) * 1000, status)

    async def _exchange(self, interaction: Interaction) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        head = (
            f"{interaction.method} {address(interaction, self.dice)} HTTP/1.1\r\nHost: bookstore\r\n"
            f"customer: {self.customer}\r\ntenant: shop-{self.customer % TENANTS}\r\nContent-Length: 0\r\n\r\n"
        )
        writer.write(head.encode())
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None
