"""The end, in order, of a child process and of a command that uses the lab."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from tcptutor.backends import tools

_T = TypeVar("_T")

_IF_PARENT_LIVES = ("sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"')
_PROCESS_IDS = ("--pid", "--fork", "--kill-child", "--mount-proc")


def ended_with(parent: int, command: Sequence[str], privileges: Sequence[str] = ()) -> list[str]:
    """`command`, ended by the kernel when the process `parent`, which starts it, ends in whatever way.

    `privileges` is what else setpriv(1) is told. It asks for that signal last: a change of user would take it back. A
    parent that was killed before never sends it, so nothing begins once `parent` is dead.
    """
    setpriv = [tools.find("setpriv"), "--pdeathsig=KILL", *privileges, "--"]
    return [*setpriv, *_IF_PARENT_LIVES, str(parent), *command]


@cache
def _namespace() -> tuple[str, ...]:
    user = () if os.geteuid() == 0 else ("--map-current-user",)
    command = (tools.find("unshare"), *user, *_PROCESS_IDS)
    done = subprocess.run([*command, "true"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return () if done.returncode else command


def all_ended_with(parent: int, command: Sequence[str]) -> list[str]:
    """As `ended_with`, with all that `command` starts and mounts.

    Where this machine gives no process ids of their own, `command` alone is ended.
    """
    return ended_with(parent, [*_namespace(), *command])


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


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Let a closed terminal (SIGHUP) and SIGTERM end everything as cleanly as Ctrl-C does; nohup's wish stays."""
    signals = [
        number for number in (signal.SIGHUP, signal.SIGTERM) if signal.getsignal(number) == signal.SIG_DFL
    ]
    for number in signals:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
