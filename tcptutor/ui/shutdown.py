"""Leaving the app for certain, also when the terminal has gone away and Textual waits for it.

By the time a process is ended here the journal holds every answer and all that had arrived of a run, and the lab
dies with us: its processes are bound to ours.
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
"""Seconds that an orderly end may take after a signal. It takes about half of one; with a terminal on the lab, whose
files come out first, up to six."""
_PATIENCE_AT_WORK = 40.0
"""Seconds while it still works at its end, which takes it longer on a busy machine."""
_AT_WORK = 0.1
"""Seconds in each second, of the processor or of waiting for it, that it takes to say so."""


def _at_work() -> float:
    """Seconds that this process has had of the processor, and its main thread has waited for on a busy machine."""
    waited = 0
    with suppress(OSError):  # not every kernel tells it
        _, waited, _ = map(int, Path("/proc/self/schedstat").read_text().split())
    return time.process_time() + waited / 1e9


def _watch() -> None:
    """End the process if it neither ends by itself nor works at it."""
    began, worked = time.monotonic(), _at_work()
    while True:
        time.sleep(1.0)
        before, worked = worked, _at_work()
        took = time.monotonic() - began
        if took > _PATIENCE_AT_WORK or (took > _PATIENCE and worked - before < _AT_WORK):
            os._exit(1)


class EndingSignals:
    """What asks this process to end, from before there is an app until after it.

    Plain signal handlers: they run even while the loop waits in a write to a terminal that nobody reads any more. And
    they are there before asyncio's own, which would cancel an app that is not whole yet.
    """

    def __init__(self) -> None:
        self._asked = False
        self._leave: Callable[[], object] | None = None

    def catch(self) -> None:
        """From now on an ending signal asks the app to leave: as soon as there is one."""
        self._asked, self._leave = False, None
        for number in ENDING_SIGNALS:
            signal.signal(number, self._handle)

    def call(self, leave: Callable[[], object]) -> None:
        """Call `leave` in the running loop when a signal asks us to end, or has; the process ends if that does not."""
        # A signal comes in whatever context is just running, also in none of an app, where Textual's timers fail.
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        self._leave = lambda: loop.call_soon_threadsafe(leave, context=context)
        if self._asked:
            self._leave()

    def _handle(self, _number: int, _frame: object) -> None:
        if not self._asked:
            # Not threading's: a signal may come while the main thread holds its lock, starting another one.
            _thread.start_new_thread(_watch, ())
        self._asked = True
        if self._leave is not None:
            self._leave()


signals = EndingSignals()
"""Those of this process."""
