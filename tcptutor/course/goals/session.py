"""A session as evidence: what the kernel held and what was typed until all goals of its page were reached, and the
runs that came of it; and its goals judged by that once more.

log = SessionLog()
log.take(event, run, digest)                  # each event of the session, with the run that it is of
record = log.reached(board.reached)           # kept in the journal
board = judged(asked, in_order, record, find) # by whoever grades
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tcptutor.course.goals.board import GoalBoard
from tcptutor.course.goals.goal import AskedGoal
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.run import Run
from tcptutor.run.ended import Finished
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import CommandEnded, Event, Failed, RunDetected, Samples

MOST_BYTES = 400 << 10
"""Of a record as JSON: some two hundred changes of the network. A longer one says that it was cut."""
_LONGEST_COMMAND = 2000
_BATCH = 0.2
"""Seconds of samples that a session tells at once."""


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """Something that the session told."""

    t: float
    """s since the session began, by the wall clock."""
    sampled: float = 0.0
    """Lab time of the latest sample of the run that goes on, s; 0 where none does."""


class StateEntry(SessionEntry, frozen=True, kw_only=True, tag="state"):
    """What the kernel held from then on."""

    state: SessionState


class CommandTyped(SessionEntry, frozen=True, kw_only=True, tag="typed"):
    """A line was typed and came to its end. It explains, and proves nothing."""

    host: str
    command: str
    status: int
    """Its exit code."""


class SessionRunBegun(SessionEntry, frozen=True, kw_only=True, tag="begun"):
    """Flows began."""

    run: str
    """The run's id."""
    experiment: Experiment
    """What it was taken for at first."""


class SessionRunEnded(SessionEntry, frozen=True, kw_only=True, tag="ended"):
    """They ended."""

    run: str
    digest: str = ""
    """SHA-256 of the run file's text, in hexadecimal; empty where there is none."""


class GoalsReached(SessionEntry, frozen=True, kw_only=True, tag="reached"):
    """All goals were ticked together."""

    goals: tuple[int, ...]


Entry = StateEntry | CommandTyped | SessionRunBegun | SessionRunEnded | GoalsReached


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of it, in order."""

    entries: tuple[Entry, ...]
    cut: bool = False
    """Whether it was so long that some of it was left out."""

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of the runs that came of it, in their order."""
        return tuple(each.run for each in self.entries if isinstance(each, SessionRunBegun))

    @property
    def digests(self) -> dict[str, str]:
        """Of their files, by id."""
        return {each.run: each.digest for each in self.entries if isinstance(each, SessionRunEnded)}

    @property
    def typed(self) -> tuple[CommandTyped, ...]:
        """Lines that were typed."""
        return tuple(each for each in self.entries if isinstance(each, CommandTyped))


class SessionLog:
    """Owns what a session has told so far, after what earlier ones have."""

    def __init__(self, earlier: SessionRecord | None = None) -> None:
        self._entries: list[Entry] = list(earlier.entries) if earlier is not None else []
        self._began = time.monotonic() - (self._entries[-1].t if self._entries else 0.0)
        self._state: SessionState | None = None
        self._sampled = 0.0
        self._bytes = sum(len(msgspec.json.encode(entry)) for entry in self._entries)
        self._cut = earlier is not None and earlier.cut

    def take(self, event: Event, run: Run | None = None, digest: str = "") -> None:
        """What has just been told; `run`: the one that it is of. digest: of its file, at its end."""
        match event:
            case SessionState() if (settled := _settled(event)) != self._state:
                self._state = settled
                self._add(StateEntry(t=self._now, sampled=self._sampled, state=event))
            case Samples():
                self._sampled = event.t
            case CommandEnded(host=host, command=command, status=status):
                text = command[:_LONGEST_COMMAND]
                self._add(
                    CommandTyped(t=self._now, sampled=self._sampled, host=host, command=text, status=status)
                )
            case RunDetected(experiment=experiment) if run is not None:
                self._sampled = 0.0
                self._add(SessionRunBegun(t=self._now, run=run.id, experiment=experiment))
            case Finished() | Failed() if run is not None:
                self._sampled = 0.0
                self._add(SessionRunEnded(t=self._now, run=run.id, digest=digest))

    def reached(self, goals: tuple[int, ...]) -> SessionRecord:
        """The record up to now, where all of these were ticked together."""
        last = GoalsReached(t=self._now, sampled=self._sampled, goals=goals)
        return SessionRecord(entries=(*self._entries, last), cut=self._cut)

    @property
    def record(self) -> SessionRecord:
        """The record up to now."""
        return SessionRecord(entries=tuple(self._entries), cut=self._cut)

    @property
    def _now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _add(self, entry: Entry) -> None:
        size = len(msgspec.json.encode(entry))
        if self._bytes + size > MOST_BYTES:
            self._cut = True
            return
        self._bytes += size
        self._entries.append(entry)


def _settled(state: SessionState) -> SessionState:
    """Return `state` without how long its run has gone on, which changes with each look and which the samples tell."""
    flows = msgspec.structs.replace(state.experiment.flows, duration=0.0, warmup=0.0)
    return msgspec.structs.replace(state, experiment=msgspec.structs.replace(state.experiment, flows=flows))


def judged(
    asked: Sequence[AskedGoal], in_order: bool, record: SessionRecord, find: Callable[[str], Run | None]
) -> GoalBoard:
    """How the goals stand at the end of `record`; `find` gives a run by its id, None for one that is not there."""
    replay = _Replay(GoalWatch(asked, in_order, explains=False), find)
    for entry in record.entries:
        replay.take(entry)
    return replay.watch.board


class _Replay:
    """Tells a watch what a session told."""

    def __init__(self, watch: GoalWatch, find: Callable[[str], Run | None]) -> None:
        self.watch = watch
        self._find = find
        self._run: Run | None = None
        self._told = 0
        """Samples of it that the watch has."""
        self._told_queue = 0

    def take(self, entry: Entry) -> None:
        self._sample(entry.sampled)
        match entry:
            case StateEntry(state=state):
                self.watch.take(state, self._run)
            case SessionRunBegun(run=run, experiment=experiment):
                self._run, self._told, self._told_queue = self._find(run), 0, 0
                self.watch.take(RunDetected(experiment), self._run)
            case SessionRunEnded():
                self._ends()

    def _ends(self) -> None:
        run, self._run = self._run, None
        if run is None:
            self.watch.take(Failed("its run is not there"))
            return
        for samples in self._batches(run, run.sampled_until):
            self.watch.take(samples, run)
        self.watch.take(
            Finished(tuple(run.flows), run.fidelity, run.experiment_s, run.complete, tuple(run.udp)), run
        )

    def _sample(self, until: float) -> None:
        if self._run is not None and until:
            for samples in self._batches(self._run, until):
                self.watch.take(samples, self._run)

    def _batches(self, run: Run, until: float) -> Iterator[Samples]:
        """What was sampled and not told yet, as the session told it."""
        times, queue = run.samples.column("t"), run.queue.column("t")
        while self._told < len(times) and times[self._told] <= until:
            end = min(until, times[self._told] + _BATCH)
            first, first_queue = self._told, self._told_queue
            while self._told < len(times) and times[self._told] <= end:
                self._told += 1
            while self._told_queue < len(queue) and queue[self._told_queue] <= end:
                self._told_queue += 1
            yield Samples(
                end,
                tuple(run.samples[first : self._told]),
                tuple(run.queue[first_queue : self._told_queue]),
            )
