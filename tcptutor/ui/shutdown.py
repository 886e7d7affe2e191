"""Reliable shutdown, even if the terminal is gone and Textual blocks on it.

When the process is killed here, the journal holds every answer and all data of a run that arrived. The lab's
processes end with this process.
"""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ENDING_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
_PATIENCE = 8.0
"""Seconds allowed for an orderly end: usually half a second, up to six to store the files of a session."""
_PATIENCE_WHILE_BUSY = 40.0
"""Seconds allowed while the process is still busy, since a loaded machine takes longer."""
_BUSY_SHARE = 0.1
"""Seconds per second of CPU time, or of waiting for a CPU, that count as busy."""


def _busy_seconds() -> float:
    """Return seconds of CPU time plus the main thread's time in the run queue (field 2 of /proc/self/schedstat)."""
    waited = 0
    with suppress(OSError):  # not on every kernel
        _, waited, _ = map(int, Path("/proc/self/schedstat").read_text().split())
    return time.process_time() + waited / 1e9


def _watch() -> None:
    """Kill the process once it is idle or late."""
    began, worked = time.monotonic(), _busy_seconds()
    while True:
        time.sleep(1.0)
        before, worked = worked, _busy_seconds()
        took = time.monotonic() - began
        if took > _PATIENCE_WHILE_BUSY or (took > _PATIENCE and worked - before < _BUSY_SHARE):
            os._exit(1)


class EndingSignals:
    """Handlers of termination signals, installed before the app exists and until after it ends.

    Plain signal handlers run even while the event loop blocks on a write to a dead terminal. They come before
    asyncio's, which would cancel a half-started app.
    """

    def __init__(self) -> None:
        self._is_signaled = False
        self._leave: Callable[[], object] | None = None

    def catch(self) -> None:
        """Install the handlers. A signal asks the app to exit as soon as it runs."""
        self._is_signaled, self._leave = False, None
        for number in ENDING_SIGNALS:
            signal.signal(number, self._handle)

    def call(self, leave: Callable[[], object]) -> None:
        """Call `leave` in the running loop on a signal, past or future. Kills the process if it does not end."""
        # A signal arrives in an arbitrary context, in which Textual's timers may fail.
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        self._leave = lambda: loop.call_soon_threadsafe(leave, context=context)
        if self._is_signaled:
            self._leave()

    def _handle(self, _number: int, _frame: object) -> None:
        if not self._is_signaled:
            # Not threading.Thread: the signal may arrive while the main thread holds threading's lock.
            _thread.start_new_thread(_watch, ())
        self._is_signaled = True
        if self._leave is not None:
            self._leave()


signals = EndingSignals()
