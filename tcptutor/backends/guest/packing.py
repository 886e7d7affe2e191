"""Snapshots go through zstd. QEMU has a pipe and takes its content as it is: only zstd knows, at its end, whether that
is what was packed, and whether all of it was written.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from tcptutor.backends import ending, tools
from tcptutor.base.errors import LabError


def unpacked(snapshot: Path) -> contextlib.AbstractAsyncContextManager[int]:
    """A pipe with the content of `snapshot`. On leaving raises LabError unless it is what was packed."""
    return _through("-dcq", "--", str(snapshot), into=False)


def packed(snapshot: Path) -> contextlib.AbstractAsyncContextManager[int]:
    """A pipe into `snapshot`. On leaving raises LabError unless all of it was written."""
    return _through("-q", "-3", "-T0", "-f", "-o", str(snapshot), into=True)


@contextlib.asynccontextmanager
async def _through(*arguments: str, into: bool) -> AsyncIterator[int]:
    command = [tools.find("zstd"), *arguments]
    reading, writing = os.pipe()
    ours, given = (writing, reading) if into else (reading, writing)
    with contextlib.ExitStack() as end:
        end.callback(os.close, ours)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=given if into else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL if into else given,
                stderr=asyncio.subprocess.PIPE,
            )
        finally:
            os.close(given)
        # Fed with half of its state QEMU may stand still for good: nobody waits for it once zstd has failed.
        failed = asyncio.timeout(None)
        watching = asyncio.create_task(_watch(process, failed))
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


async def _watch(process: asyncio.subprocess.Process, failed: asyncio.Timeout) -> None:
    """Let `failed` expire when zstd fails."""
    if await process.wait() != 0:
        failed.reschedule(asyncio.get_running_loop().time())


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """Why zstd failed: the last part of its error line, behind the names of program and file; empty when it did not."""
    _, said = await process.communicate()
    return said.decode(errors="replace").strip().rpartition(" : ")[2]
