"""The end of a command that uses the lab: asked for by a signal, and in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def run_until_signal(main: Coroutine[Any, Any, _T]) -> _T:
    """`asyncio.run`, cancelled by the first SIGINT, SIGTERM or SIGHUP; the ones after it do not disturb the end."""

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
