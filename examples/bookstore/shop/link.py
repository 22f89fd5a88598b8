"""The network between the replicas of the store and the recommendations: a TCP proxy that can add delay and loss.

A lost segment is what TCP makes of it: a pause of its retransmission timeout, twice as long each time (RFC 6298).
"""

import asyncio
import random
from collections.abc import AsyncIterator

from shop.layout import HOST, STORES, Layout
from shop.switches import Switches

CHUNK = 64 * 1024
RETRANSMIT_S = 0.2

layout = Layout.from_environment()
switches = Switches(layout)


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while data := await reader.read(CHUNK):
        yield data


async def pump(instance: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One direction of a connection, in order."""
    try:
        async for data in chunks(reader):
            delay = switches.value("delay_ms", 0, operation=instance) / 1000
            loss = switches.value("loss", 0, operation=instance)
            pause = RETRANSMIT_S
            while random.random() < loss:
                delay += pause
                pause *= 2
            if delay:
                await asyncio.sleep(delay)
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def serve(instance: str) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, layout.recommendations)
        except ConnectionError:
            writer.close()
            return
        await asyncio.gather(pump(instance, reader, far_writer), pump(instance, far_reader, writer))

    server = await asyncio.start_server(connect, HOST, layout.link(instance))
    await server.serve_forever()


async def main() -> None:
    await asyncio.gather(*(serve(instance) for instance in STORES))


if __name__ == "__main__":
    asyncio.run(main())
