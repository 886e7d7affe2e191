"""Keys of a shell that has no prompt yet."""

from __future__ import annotations

import asyncio

from tcptutor.ui.host_shell import Shell


class SlowTerminal:
    """A terminal whose shell speaks when the test says so."""

    def __init__(self) -> None:
        self.typed = b""
        self.says: asyncio.Queue[bytes] = asyncio.Queue()

    async def read(self) -> bytes:
        return await self.says.get()

    def write(self, data: bytes) -> None:
        self.typed += data

    def resize(self, rows: int, columns: int) -> None:
        pass

    def close(self) -> None:
        pass


async def test_what_is_typed_before_the_prompt_waits_for_it_in_its_order() -> None:
    terminal = SlowTerminal()
    spoke = asyncio.Event()
    shell = Shell("h1", terminal, 24, 80, lambda each: spoke.set() if each.spoke else None)
    shell.write(b"ping -c 3 h2")
    shell.write(b"\r")
    assert terminal.typed == b""
    terminal.says.put_nowait(b"h1:~# ")
    await asyncio.wait_for(spoke.wait(), 10)
    assert terminal.typed == b"ping -c 3 h2\r"
    shell.write(b"ls")
    assert terminal.typed == b"ping -c 3 h2\rls"
    shell.close()
