"""Runs of hand-ins made again, for `tcptutor grade --rerun` and `--audit`."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from tcptutor import units
from tcptutor.backends.ending import run_until_signal
from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.commands.bar import Bar
from tcptutor.errors import LabError, TutorError, UnitError, UsageError, quoted
from tcptutor.evidence.hand_in import opened_hand_in
from tcptutor.evidence.keys import CourseKey
from tcptutor.fleet import place, pool
from tcptutor.fleet.cache import RunCache
from tcptutor.grading import rerun
from tcptutor.grading.formats import GradedFile
from tcptutor.grading.grade import Grade
from tcptutor.grading.rerun import Repetition
from tcptutor.run import Run
from tcptutor.spec import Experiment

Choice = Callable[[Grade], list[str]]
"""The ids of the runs of a hand-in that are made again."""


def chosen(asked: str | None, audit: str | None, key: CourseKey | None) -> Choice | None:
    """What `--rerun` or `--audit` means; None where neither was asked for. Raises UsageError."""
    if asked is not None and audit is not None:
        raise UsageError("--rerun and --audit each say which runs to make again: give one of them")
    if audit is not None:
        return _audit(audit, key)
    if asked is None:
        return None
    if asked.lower() == "all":
        return rerun.wanted
    if asked.lower() == "failed":
        return _failed
    if not asked.isdecimal() or not 0 < int(asked) < 10**6:
        raise UsageError(f"--rerun {quoted(asked)}: give all, failed, or how many runs of each hand-in")
    number = int(asked)
    lot = key.lot if key else lambda _: secrets.randbelow(1 << 30)
    return lambda grade: sorted(rerun.wanted(grade), key=lot)[:number]


def _audit(audit: str, key: CourseKey | None) -> Choice:
    if key is None:
        raise UsageError("--audit draws by the course's key: give its file with --key")
    try:
        share = units.parse(audit, "ratio")
    except UnitError as error:
        raise UsageError(f"--audit: {error}") from error
    if not 0 < share <= 1:
        raise UsageError(f"--audit {quoted(audit)} is out of bounds: above 0 to 100 %")
    return lambda grade: [id for id in rerun.wanted(grade) if key.lot(id) < share]


def _failed(grade: Grade) -> list[str]:
    """Runs that gave no marks, though they are there."""
    return list(dict.fromkeys(id for mark in grade.marks if not mark.marks for id in mark.runs))


class Reruns:
    """Makes the chosen runs again, hand-in by hand-in; what was made is kept, and not made a second time."""

    def __init__(self, choice: Choice, jobs: int | None) -> None:
        """Raises LabUnavailable where there is no guest."""
        self._choice, self._jobs = choice, jobs
        self._cache = RunCache()

    def apply(self, paths: Sequence[Path], graded: Sequence[GradedFile]) -> list[GradedFile]:
        """The grades, with what was found. Raises LabError when it is stopped."""
        return [
            each if each.grade is None else each._replace(grade=self._applied(path, each.grade))
            for path, each in zip(paths, graded, strict=True)
        ]

    def _applied(self, path: Path, grade: Grade) -> Grade:
        runs = self._runs(path, self._choice(grade))
        here = {run.id: rerun.is_of_lab(run, _lab_like(run)) for run in runs}
        todo = {
            self._cache.key(each): each
            for run in runs
            for each in rerun.experiments(run, here[run.id])
            if not self._cache.has(each)
        }
        failed = self._make(path.name, todo) if todo else {}
        found = [self._compared(run, here[run.id], failed) for run in runs]
        self._cache.prune()
        return rerun.applied(grade, found)

    def _runs(self, path: Path, ids: Sequence[str]) -> list[Run]:
        found = []
        with opened_hand_in(path) as hand_in:
            for id in ids:
                try:
                    found.append(hand_in.run(id)[0])
                except TutorError:
                    continue  # it is told where it is marked
        return found

    def _compared(self, run: Run, exactly: bool, failed: dict[str, str]) -> Repetition:
        again = []
        for experiment in rerun.experiments(run, exactly):
            made = self._cache.get(experiment)
            if made is None:
                return Repetition(
                    run.id, "failed", failed.get(self._cache.key(experiment), "it is not there")
                )
            again.append(made)
        return rerun.compared(run, again, exactly)

    def _make(self, name: str, todo: dict[str, Experiment]) -> dict[str, str]:
        """Why a run could not be made, by its key."""
        experiments = list(todo.values())
        failed: dict[str, str] = {}

        async def make() -> TutorError | None:
            where = await place.find(experiments, "guest", "virtual", self._jobs)
            try:
                with Bar(name, len(experiments)) as bar:
                    async with aclosing(pool.runs(experiments, where)) as runs:
                        async for number, run in runs:
                            key = self._cache.key(experiments[number])
                            if isinstance(run, TutorError):
                                failed[key] = str(run)
                            else:
                                await asyncio.to_thread(self._cache.put, experiments[number], run)
                            bar.one_more(experiments[number].name)
            except asyncio.CancelledError:
                return LabError("stopped: the same command goes on with what was made")
            return None

        stopped = run_until_signal(make())
        if stopped is not None:
            raise stopped
        return failed


def _lab_like(run: Run) -> dict[str, str]:
    """The parts of the lab here in which such a run is made."""
    return Snapshots(memory=sizes.size(run.experiment)).composition("virtual")
