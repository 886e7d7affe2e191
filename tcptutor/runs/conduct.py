"""One run, or one session, from the lab to the run files: whoever shows it iterates over its events.

    async with ConductedRun(lab, experiment, store) as conducted:
        async for event in conducted:
            ...                             # conducted.run has grown by it, and so has its part in the store
    conducted.file, conducted.unsaved

However the block is left, the run ends in order: the lab stops it, it is marked as cut short if it was, and its file is
written, off the event loop. Only then does what ended the block go on: LabError, LabUnavailable or CancelledError.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from tcptutor.base.errors import JournalError, TutorError
from tcptutor.run import Environment, Run
from tcptutor.run.ended import Finished
from tcptutor.runs.recording import Recording
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event, Failed, RunDetected

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab

STOPPED = "stopped before the end"
"""Why a run that was cancelled is cut short, where nothing else is said."""
_UNKNOWN = Environment(backend="", clock="", kernel="")


class GrowingRun:
    """A run while events arrive, in memory and in a store. Owns the Run until it has ended."""

    def __init__(self, experiment: Experiment, environment: Environment, store: RunStore) -> None:
        self._recording = Recording(experiment, environment)
        self._store = store
        self._began = False
        self.run: Run = self._recording.run
        self.file: Path | None = None
        """Where the run is kept; None before its end, and when nothing is kept of it."""
        self.unsaved = ""
        """Why it could not be kept, one line; empty otherwise."""
        self.packets_unsaved = ""
        """Why its packets could not be kept, one line; empty otherwise."""

    def take(self, event: Event) -> None:
        """Add what has arrived; it is in the store when this returns."""
        self._recording.take(event)
        if not self._began:
            # Not before: only the lab's first word says where it runs.
            self._began = True
            self._store.begin(self.run)
        self._store.take(self.run, event)

    async def end(self, cut: str = "") -> None:
        """Write the run's file. `cut` says why the run ended before its time, if it did.

        A cancellation meanwhile waits until the file is written.
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


class KeptFiles(NamedTuple):
    """What became of a run's files."""

    file: Path | None
    unsaved: str = ""
    """Why the run could not be kept; empty otherwise."""
    packets_unsaved: str = ""
    """Why its packets could not be kept; empty otherwise."""


def finish(run: Run, store: RunStore) -> KeptFiles:
    """Write the files of a run that has ended."""
    try:
        name = store.finish(run)
    except JournalError as error:
        return KeptFiles(None, str(error))
    file = Path(name) if name else None
    try:
        store.finish_packets(run)
    except JournalError as error:
        return KeptFiles(file, "", str(error))
    return KeptFiles(file)


class ConductedRun(GrowingRun):
    """One run of an experiment in a lab; kept nowhere without a store.

    The run's time counts from here on: a lab that is not up yet is better brought up before.
    """

    def __init__(
        self, lab: Lab, experiment: Experiment, store: RunStore | None = None, stopped: str = STOPPED
    ) -> None:
        super().__init__(experiment, lab.environment or _UNKNOWN, store or RunStore(None))
        self._events = lab.run(experiment)
        self.stopped = stopped
        """Why the run is cut short if it is cancelled; the run's note then."""

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
            await self.end(self._why(error))

    def _why(self, error: BaseException | None) -> str:
        match error:
            case None:
                return ""
            case TutorError():
                return str(error)
            case asyncio.CancelledError():
                return self.stopped
            case _:
                return f"{type(error).__name__}: {error}"


async def run_whole(lab: Lab, experiment: Experiment) -> Run:
    """A run from its beginning to its end, kept nowhere. Raises LabError or LabUnavailable."""
    async with ConductedRun(lab, experiment) as conducted:
        async for _ in conducted:
            pass
    return conducted.run


class ConductedSession:
    """The runs that come of what somebody does in a lab: one from each RunDetected to its Finished, each in a file."""

    def __init__(self, session: AsyncIterable[Event], environment: Environment, store: RunStore) -> None:
        self._events = aiter(session)
        self._environment, self._store = environment, store
        self.growing: GrowingRun | None = None
        """The run that goes on."""
        self.ended: list[GrowingRun] = []
        """Those before it, in the order of their ends."""

    @property
    def run(self) -> Run | None:
        """The run that the last event was of: the one that goes on, else the last that ended; None before any."""
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
