"""A run started before the student asks for it, so that its events are ready at once.

On the guest's virtual clock a run is the same whenever it is made. The prefetched run has a lab of its own, next to
the idle warm lab, and is discarded as soon as other work needs the machine.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path

from tcptutor.backends.guest import sizes
from tcptutor.base.errors import LabError
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event

_MAX_FLOW_SECONDS = 1000.0
"""Largest experiment to prefetch, in flow-seconds: about 10 MB of samples."""
_REPLAY_S, _STEPS = 2.0, 50
"""Replay buffered events over 2 s in 50 steps, so that the chart still grows."""
_MIN_FREE_MIB = 200
"""Minimum of free memory, MiB; below it an unused prefetched run is discarded."""
_CHECK_S = 1.0
"""Seconds between two checks of free memory."""
_POWER = Path("/sys/class/power_supply")


def is_worthwhile(experiment: Experiment) -> bool:
    """Check that this machine has cores, power and memory to spare for `experiment`."""
    return (
        experiment.total_streams * experiment.seconds <= _MAX_FLOW_SECONDS
        and not (experiment.flows.acks or experiment.flows.capture)
        and os.getloadavg()[0] < len(os.sched_getaffinity(0))
        and not on_battery()
    )


def on_battery(folder: Path = _POWER) -> bool:
    """Check whether this machine runs on battery."""
    for state in folder.glob("*/status"):
        with suppress(OSError):
            if state.read_text().strip() == "Discharging":
                return True
    return False


class PrefetchedRun:
    """A run with the given events, started on construction. Calls `close_lab` when it has ended."""

    def __init__(
        self,
        experiment: Experiment,
        events: AsyncGenerator[Event, None],
        close_lab: Callable[[], Awaitable[None]],
    ) -> None:
        self.experiment = experiment
        self._arriving, self._close_lab = events, close_lab
        self._events = deque[Event]()
        self._news = asyncio.Event()
        self._is_used = False
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        checked = time.monotonic()
        try:
            async with aclosing(self._arriving) as events:
                async for event in events:
                    self._events.append(event)
                    self._news.set()
                    if not self._is_used and time.monotonic() > checked + _CHECK_S:
                        checked = time.monotonic()
                        if (free := sizes.available()) is not None and free < _MIN_FREE_MIB:
                            raise LabError("run discarded: this machine has little memory left")
        finally:
            self._news.set()
            await self._close_lab()

    @property
    def failed(self) -> bool:
        """Whether the run has ended with an error, so that a new run is needed."""
        return self._task.done() and (self._task.cancelled() or self._task.exception() is not None)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the buffered events within `_REPLAY_S`, then further events as they arrive; closing ends the run.

        Raises LabError or LabUnavailable.
        """
        self._is_used = True
        try:
            batch = max(1, len(self._events) // _STEPS)
            count = 0
            while True:
                while self._events:
                    yield self._events.popleft()
                    count += 1
                    if count % batch == 0 and self._events:
                        await asyncio.sleep(_REPLAY_S / _STEPS)
                if self._task.done():
                    self._task.result()
                    return
                self._news.clear()
                await self._news.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """End the run and its lab. Never raises."""
        self._task.cancel()
        await asyncio.wait([self._task])
        _ = self.failed  # retrieves the exception, so that asyncio does not log it
