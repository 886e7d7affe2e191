"""Start of a session's app: a process of its own group, with pipes to the server."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor.base.files import PRIVATE, make_private

DRIVER = "tcptutor.ui.browser_driver:BrowserDriver"
"""Driver of the app in a session: packets over pipes in place of a terminal."""
PIPE_BYTES = 1 << 16
"""Bytes of output read ahead from the app."""


class AppStart(msgspec.Struct, frozen=True, kw_only=True):
    """How to start the app of one student."""

    arguments: tuple[str, ...] = ()
    """Options of `tcptutor`."""
    environment: Mapping[str, str]
    """All of its environment: nothing of the server's is inherited."""
    folder: Path
    """Working folder; files that the student exports go here."""
    log: Path
    """File for the app's standard error, replaced at each start."""


class AppProcess(NamedTuple):
    """A started app. Its process group and its Unix session have the id `pid`."""

    pid: int
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    wait: Callable[[], Awaitable[int]]
    """Wait for its end and return its exit code; can be called repeatedly."""


async def start_session(start: AppStart, size: tuple[int, int]) -> AppProcess:
    """Start the app for a browser of `size`, columns and rows. Raises OSError.

    The app ends by itself when its standard input is closed, as it is when the server is killed.
    """
    for folder in (start.folder, start.log.parent):
        make_private(folder)
    columns, rows = size
    log = os.open(start.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
    try:
        process = await asyncio.create_subprocess_exec(
            # -P: no module is imported from the working folder, in which the student writes files.
            *(sys.executable, "-P", "-m", "tcptutor", *start.arguments),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
            env={**start.environment, "TEXTUAL_DRIVER": DRIVER, "COLUMNS": str(columns), "ROWS": str(rows)},
            cwd=start.folder, start_new_session=True, umask=0o077, limit=PIPE_BYTES,
        )  # fmt: skip
    finally:
        os.close(log)
    assert process.stdin is not None
    assert process.stdout is not None
    return AppProcess(process.pid, process.stdin, process.stdout, process.wait)
