"""The end, in order, of a child process and of a command that uses the lab."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def kill(process: asyncio.subprocess.Process) -> None:
    """SIGKILL, unless `process` has ended.

    Not `process.kill()`: it looks first whether the child has ended, and so may take its exit status away from
    asyncio, which then says so on the student's terminal.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def run_until_signal(main: Coroutine[Any, Any, _T]) -> _T:
    """`asyncio.run`, cancelled by the first SIGINT, SIGTERM or SIGHUP; further ones do not disturb the end."""

    async def watched() -> _T:
        task = asyncio.create_task(main)
        loop = asyncio.get_running_loop()
        asked = False

        def stop() -> None:
            nonlocal asked
            if not asked:
                asked = True
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                loop.add_signal_handler(number, stop)
        return await task

    return asyncio.run(watched())
