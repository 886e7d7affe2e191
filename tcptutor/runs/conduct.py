"""Conduct a run, or a session, in the lab and save it to run files while its events are shown.

    async with ConductedRun(lab, experiment, store) as conducted:
        async for event in conducted:
            ...                             # conducted.run and its part in the store include the event
    conducted.file, conducted.unsaved

However the block ends, the run ends in order: the lab stops it, it is marked if it was cut short, and its
file is written off the event loop. Only then does the error that ended the block propagate: LabError,
LabUnavailable or CancelledError.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from tcptutor.backends.events import UNKNOWN, Recording
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.run import Environment, Finished, Run
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event, Failed, RunDetected

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab

STOPPED = "stopped before the end"
"""Default note of a run that was canceled."""


class GrowingRun:
    """A run while its events arrive, in memory and in a store. Owns the Run until it has ended."""

    def __init__(self, experiment: Experiment, environment: Environment, store: RunStore) -> None:
        self._recording = Recording(experiment, environment)
        self._store = store
        self._began = False
        self.run: Run = self._recording.run
        self.file: Path | None = None
        """Path of the saved run; None before its end, and when it was not saved."""
        self.unsaved = ""
        """Error message if the run could not be saved, otherwise empty."""
        self.packets_unsaved = ""
        """Error message if the packets could not be saved, otherwise empty."""

    def take(self, event: Event) -> None:
        """Add an event to the run; it is in the store when this returns."""
        self._recording.take(event)
        if not self._began:
            # Only the lab's first event says in which environment it runs.
            self._began = True
            self._store.begin(self.run)
        self._store.take(self.run, event)

    async def end(self, cut: str = "") -> None:
        """Write the run's file. A cancellation waits until the file is written.

        Args:
            cut: Why the run ended early; empty if it did not.
        """
        if cut:
            self._recording.cut(cut)
        if not self._began:
            return
        cancelled: asyncio.CancelledError | None = None
        saving = asyncio.get_running_loop().run_in_executor(None, finish, self.run, self._store)
        while not saving.done():
            try:
                await asyncio.shield(saving)
            except asyncio.CancelledError as error:
                cancelled = error
        self.file, self.unsaved, self.packets_unsaved = saving.result()
        if cancelled is not None:
            raise cancelled


class SavedFiles(NamedTuple):
    """Result of writing a run's files."""

    file: Path | None
    unsaved: str = ""
    """Error message if the run could not be saved, otherwise empty."""
    packets_unsaved: str = ""
    """Error message if the packets could not be saved, otherwise empty."""


def finish(run: Run, store: RunStore) -> SavedFiles:
    """Write the files of a run that has ended."""
    try:
        name = store.finish(run)
    except JournalError as error:
        return SavedFiles(None, str(error))
    file = Path(name) if name else None
    try:
        store.finish_packets(run)
    except JournalError as error:
        return SavedFiles(file, "", str(error))
    return SavedFiles(file)


class ConductedRun(GrowingRun):
    """A run of an experiment in a lab; without a store it is not saved.

    The run's time counts from the construction: start the lab before.
    """

    def __init__(
        self, lab: Lab, experiment: Experiment, store: RunStore | None = None, stopped: str = STOPPED
    ) -> None:
        super().__init__(experiment, lab.environment or UNKNOWN, store or RunStore(None))
        self._events = lab.run(experiment)
        self.stopped = stopped
        """Note of the run if it is canceled."""

    async def __aenter__(self) -> ConductedRun:
        return self

    def __aiter__(self) -> ConductedRun:
        return self

    async def __anext__(self) -> Event:
        event = await anext(self._events)
        self.take(event)
        return event

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._events.aclose()
        finally:
            await self.end(self._cut_reason(error))

    def _cut_reason(self, error: BaseException | None) -> str:
        match error:
            case None:
                return ""
            case TutorError():
                return str(error)
            case asyncio.CancelledError():
                return self.stopped
            case _:
                return f"{type(error).__name__}: {error}"


class ConductedSession:
    """The runs of an interactive session, from each RunDetected to its Finished, each saved to a file."""

    def __init__(self, session: AsyncIterable[Event], environment: Environment, store: RunStore) -> None:
        self._events = aiter(session)
        self._environment, self._store = environment, store
        self.growing: GrowingRun | None = None
        """The run in progress."""
        self.ended: list[GrowingRun] = []
        """Earlier runs, in the order of their ends."""

    @property
    def run(self) -> Run | None:
        """The run of the last event: the run in progress, or the last ended run; None before the first."""
        latest = self.growing or next(reversed(self.ended), None)
        return latest.run if latest is not None else None

    async def __aenter__(self) -> ConductedSession:
        return self

    def __aiter__(self) -> ConductedSession:
        return self

    async def __anext__(self) -> Event:
        event = await anext(self._events)
        if isinstance(event, RunDetected):
            await self._end("another run began")
            self.growing = GrowingRun(event.experiment, self._environment, self._store)
        if self.growing is not None:
            self.growing.take(event)
        if isinstance(event, Finished):
            await self._end("the session ended during it")
        elif isinstance(event, Failed):
            await self._end(event.reason)
        return event

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end("the lab ended during it")

    async def _end(self, cut: str) -> None:
        if self.growing is not None:
            growing, self.growing = self.growing, None
            self.ended.append(growing)
            await growing.end(cut)
