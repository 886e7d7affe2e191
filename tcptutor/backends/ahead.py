"""A run that was begun before anybody asked for it, so that who asks has it at once.

On the guest's virtual clock a run is the same whenever it is made. It goes on in a lab of its own, beside the one that
waits ready, and is given up as soon as something else is wanted of this machine.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Protocol

from tcptutor.backends.guest import sizes
from tcptutor.base.errors import LabError
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event

_MOST_FLOW_SECONDS = 1000.0
"""Seconds of all flows together whose samples are held for nobody: some 10 MB."""
_SHOWN_IN, _STEPS = 2.0, 50
"""Seconds in which what was there already is given, in so many steps: a chart that grows tells more than one that is
there."""
_SPARE = 200
"""MiB: with less of the machine's memory left, what nobody asked for yet is given up."""
_LOOK = 1.0
"""Seconds between two looks at it."""
_POWER = Path("/sys/class/power_supply")


class Runner(Protocol):
    """A lab of its own."""

    def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        """The events of one run. Raises LabError or LabUnavailable."""
        ...

    async def close(self) -> None:
        """End it. Never raises."""
        ...


def worthwhile(experiment: Experiment) -> bool:
    """Whether this machine has power and cores to spare for it, and its samples can be held."""
    return (
        experiment.total_streams * experiment.seconds <= _MOST_FLOW_SECONDS
        and not (experiment.flows.acks or experiment.flows.capture)
        and os.getloadavg()[0] < len(os.sched_getaffinity(0))
        and not on_battery()
    )


def on_battery(folder: Path = _POWER) -> bool:
    """Whether this machine lives on one now."""
    for state in folder.glob("*/status"):
        with suppress(OSError):
            if state.read_text().strip() == "Discharging":
                return True
    return False


class AheadRun:
    """One run in `lab`, which it owns, from now on."""

    def __init__(self, lab: Runner, experiment: Experiment) -> None:
        self.experiment = experiment
        self._lab = lab
        self._events = deque[Event]()
        self._news = asyncio.Event()
        self._asked = False
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        looked = time.monotonic()
        try:
            async with aclosing(self._lab.run(self.experiment)) as events:
                async for event in events:
                    self._events.append(event)
                    self._news.set()
                    if not self._asked and time.monotonic() > looked + _LOOK:
                        looked = time.monotonic()
                        if (left := sizes.available()) is not None and left < _SPARE:
                            raise LabError("given up: this machine has little memory left")
        finally:
            self._news.set()
            await self._lab.close()

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than it should: the run is better made anew."""
        return self._task.done() and (self._task.cancelled() or self._task.exception() is not None)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Those that came until now, in `_SHOWN_IN` seconds, and the others as they come. Closing it ends the run.

        Raises LabError or LabUnavailable.
        """
        self._asked = True
        try:
            at_once = max(1, len(self._events) // _STEPS)
            given = 0
            while True:
                while self._events:
                    yield self._events.popleft()
                    given += 1
                    if given % at_once == 0 and self._events:
                        await asyncio.sleep(_SHOWN_IN / _STEPS)
                if self._task.done():
                    self._task.result()
                    return
                self._news.clear()
                await self._news.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """End it; leaves nothing behind. Never raises."""
        self._task.cancel()
        await asyncio.wait([self._task])
        _ = self.failed  # asked for, so that nothing complains about it
