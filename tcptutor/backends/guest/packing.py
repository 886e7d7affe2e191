"""Compression of snapshots with zstd.

QEMU trusts the pipe in both directions: only zstd's exit status shows whether a snapshot was written completely, and
whether it is intact.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from tcptutor.backends import ending, tools
from tcptutor.base.errors import LabError


def decompress(snapshot: Path) -> contextlib.AbstractAsyncContextManager[int]:
    """Open a pipe with the content of `snapshot`. Raises LabError on exit if the file is damaged."""
    return _through("-dcq", "--", str(snapshot), into=False)


def compress(snapshot: Path) -> contextlib.AbstractAsyncContextManager[int]:
    """Open a pipe into `snapshot`. Raises LabError on exit unless everything was written."""
    return _through("-q", "-3", "-T0", "-f", "-o", str(snapshot), into=True)


@contextlib.asynccontextmanager
async def _through(*arguments: str, into: bool) -> AsyncIterator[int]:
    command = [tools.find("zstd"), *arguments]
    reading, writing = os.pipe()
    ours, theirs = (writing, reading) if into else (reading, writing)
    with contextlib.ExitStack() as end:
        end.callback(os.close, ours)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=theirs if into else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL if into else theirs,
                stderr=asyncio.subprocess.PIPE,
            )
        finally:
            os.close(theirs)
        # QEMU may hang when its state is cut short, so a failure of zstd ends the wait.
        failed = asyncio.timeout(None)
        watching = asyncio.create_task(_expire_on_failure(process, failed))
        try:
            async with failed:
                yield ours
        except BaseException as error:
            watching.cancel()
            ending.kill(process)
            reason = await _last_words(process)
            if failed.expired() or (isinstance(error, LabError) and reason):
                raise LabError(reason or f"zstd ended with status {process.returncode}") from None
            raise
        watching.cancel()
    reason = await _last_words(process)
    if process.returncode != 0:
        raise LabError(reason or f"zstd ended with status {process.returncode}")


async def _expire_on_failure(process: asyncio.subprocess.Process, failed: asyncio.Timeout) -> None:
    if await process.wait() != 0:
        failed.reschedule(asyncio.get_running_loop().time())


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """Return the reason from zstd's error line, after the names of program and file; empty without an error."""
    _, output = await process.communicate()
    return output.decode(errors="replace").strip().rpartition(" : ")[2]
