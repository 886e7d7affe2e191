"""Output to a browser that reads slowly: bounded, and a whole frame when it has caught up."""

from __future__ import annotations

import asyncio

from tcptutor.serve.browser_output import MOST_BYTES, BrowserOutput


class Reader:
    """A browser that reads only while it is awake."""

    def __init__(self) -> None:
        self.awake = asyncio.Event()
        self.awake.set()
        self.read: list[bytes | str] = []
        self.repaints = 0

    async def send_bytes(self, data: bytes) -> None:
        await self.awake.wait()
        self.read.append(data)

    async def send_str(self, data: str) -> None:
        await self.awake.wait()
        self.read.append(data)

    async def caught_up(self) -> None:
        self.repaints += 1


async def test_a_slow_browser_misses_frames_and_gets_a_whole_one() -> None:
    reader = Reader()
    output = BrowserOutput(reader, reader.caught_up)
    sending = asyncio.create_task(output.send())
    output.write(b"first")
    await asyncio.sleep(0.01)
    assert reader.read == [b"first"]
    reader.awake.clear()
    frame = b"x" * 10_000
    for _ in range(1000):
        output.write(frame)
        await asyncio.sleep(0)
    output.write("message")
    assert reader.read == [b"first"]
    reader.awake.set()
    await asyncio.sleep(0.01)
    assert sum(map(len, reader.read)) <= MOST_BYTES + len(b"firstmessage")
    assert reader.read[-1] == "message"
    assert reader.repaints == 1
    output.write(b"whole")
    await asyncio.sleep(0.01)
    assert reader.read[-1] == b"whole"
    sending.cancel()


async def test_frames_that_wait_are_sent_together_and_in_order() -> None:
    reader = Reader()
    output = BrowserOutput(reader, reader.caught_up)
    for number in range(20_000):
        output.write(b"%d " % number)
    for _ in range(300):
        output.write("message")
    sending = asyncio.create_task(output.send())
    await asyncio.sleep(0.05)
    frames = b"".join(each for each in reader.read if isinstance(each, bytes))
    assert frames == b"".join(b"%d " % number for number in range(20_000))
    assert len(reader.read) < 120
    assert reader.read.count("message") == 100
    assert reader.repaints == 0
    sending.cancel()
