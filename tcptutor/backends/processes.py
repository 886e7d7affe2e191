"""Ending a child process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal


def kill(process: asyncio.subprocess.Process) -> None:
    """SIGKILL, unless it has ended.

    Not `process.kill()`: that one looks first whether the child has ended, and so may take its exit status away from
    asyncio, which then says so on the student's terminal.
    """
    if process.returncode is None:
        # Under sudo the child is not ours to kill.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)
