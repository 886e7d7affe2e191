"""Replay of a session record into a goal watch, to judge the goals again when grading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tcptutor.course.goals.goal import GoalBoard, ParsedGoal
from tcptutor.course.goals.session_record import (
    Entry,
    SessionRecord,
    SessionRunEnded,
    SessionRunStarted,
    StateEntry,
)
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.run import Finished, Run
from tcptutor.wire.protocol import Failed, RunDetected, Samples

_BATCH = 0.2
"""Duration of a batch of samples in a session, s."""


def judged(
    asked: Sequence[ParsedGoal], in_order: bool, record: SessionRecord, find: Callable[[str], Run | None]
) -> GoalBoard:
    """Return the goal board at the end of `record`.

    Args:
        asked: Goals of the page.
        in_order: Whether each goal is due only after all earlier goals.
        record: Session to replay.
        find: Function from a run's id to the run, or None if it is missing.
    """
    replay = _Replay(GoalWatch(asked, in_order, explains=False), find)
    for entry in record.entries:
        replay.take(entry)
    return replay.watch.board


class _Replay:
    """Replay of a recorded session into a GoalWatch."""

    def __init__(self, watch: GoalWatch, find: Callable[[str], Run | None]) -> None:
        self.watch = watch
        self._find = find
        self._run: Run | None = None
        self._replayed = 0
        """Samples already replayed."""
        self._replayed_queue = 0

    def take(self, entry: Entry) -> None:
        self._sample(entry.sampled_until)
        match entry:
            case StateEntry(state=state):
                self.watch.take(state, self._run)
            case SessionRunStarted(run=run, experiment=experiment):
                self._run, self._replayed, self._replayed_queue = self._find(run), 0, 0
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
        """Yield the samples not replayed yet, in batches like the session's."""
        times, queue = run.samples.column("t"), run.queue.column("t")
        while self._replayed < len(times) and times[self._replayed] <= until:
            end = min(until, times[self._replayed] + _BATCH)
            first, first_queue = self._replayed, self._replayed_queue
            while self._replayed < len(times) and times[self._replayed] <= end:
                self._replayed += 1
            while self._replayed_queue < len(queue) and queue[self._replayed_queue] <= end:
                self._replayed_queue += 1
            yield Samples(
                end,
                tuple(run.samples[first : self._replayed]),
                tuple(run.queue[first_queue : self._replayed_queue]),
            )
