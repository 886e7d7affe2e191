"""Check of a lecture before it begins: make and store its runs, and find problems on this machine."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import os
import shutil
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.lab import Lab
from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable, TutorError
from tcptutor.course.outline import Course
from tcptutor.fleet import pool
from tcptutor.fleet.pool import Place
from tcptutor.install.doctor import check_terminal
from tcptutor.install.findings import Finding, Status, fail, ok, warn
from tcptutor.room.deck import step_of
from tcptutor.room.prepared import PreparedRuns
from tcptutor.room.slide_runs import curve_runs, lecture_runs
from tcptutor.room.slides import Ask, FlowsShown, Lecture, OwnText, Slide
from tcptutor.room.web.addresses import DEFAULT_PORT
from tcptutor.run import Run, lab_parts
from tcptutor.spec import Experiment

_SMALLEST, _COMFORTABLE = (80, 24), (120, 36)
"""Columns and lines of a terminal: minimum size of the stage, and the size from which labels are large."""
_HEADLINE_LINES, _MARGIN = 8, 8
_LONG_RUN_S = 60.0
"""Longest acceptable wait for a live run, s."""


class LectureCheck:
    """A check of a lecture in the lab of this machine."""

    def __init__(
        self,
        course: Course,
        lecture: Lecture,
        *,
        has_votes: bool = True,
        is_reachable: bool = True,
        prepared: PreparedRuns | None = None,
    ) -> None:
        """Check `lecture`.

        Args:
            course: The course with the pages of the lecture.
            lecture: The lecture.
            has_votes: Whether students vote from their devices.
            is_reachable: Whether these devices can reach the page for votes.
            prepared: Store of the runs.
        """
        self._course, self._lecture = course, lecture
        self._has_votes, self._is_reachable = has_votes, is_reachable
        self._prepared = prepared or PreparedRuns()
        self._runs: dict[int, list[Experiment]] = {}
        """Experiments by index of the slide."""
        self._removed_runs: set[int] = set()
        """Indexes of slides with a run that the course no longer has."""
        for number, experiment in lecture_runs(course, lecture):
            if experiment is None:
                self._removed_runs.add(number)
            else:
                self._runs.setdefault(number, []).append(experiment)
        shown = (each for of_slide in self._runs.values() for each in of_slide)
        points = (point for slide in lecture.slides for point in self._missing_points(slide))
        self.experiments = [*{self._prepared.key(each): each for each in (*shown, *points)}.values()]
        """Experiments of all runs that the lecture shows, and of curve points without any prepared run."""
        self._problems: dict[str, str] = {}
        """Reasons for failed runs, by key of the experiment."""
        self._seconds: dict[str, float] = {}
        """Durations of live runs in seconds, by key of the experiment."""
        self._no_lab = ""
        self.made = 0
        """Number of runs that this check has made."""

    async def prepare(
        self, backend: str = "auto", clock: str = "auto"
    ) -> AsyncGenerator[tuple[str, bool], None]:
        """Make the runs that are missing, or were made by a different lab.

        Yields the name of each run, and True if this check made it.

        Closing the generator, or cancelling the task, ends every lab. Raises TutorError if a run cannot be written.
        """
        if not self.experiments:
            return
        try:
            place = await pool.find_place(self.experiments, backend, clock, None)
        except LabUnavailable as error:
            self._no_lab = str(error)
            return
        if place.backend == "replay":
            return
        missing = await asyncio.to_thread(self._missing, place)
        for each in self.experiments:
            if each not in missing:
                yield each.name, False
        labs = [Lab(place.backend, place.clock) for _ in range(min(place.at_once, len(missing)))]
        try:
            async with aclosing(self._make_runs(labs, missing)) as made:
                async for name in made:
                    yield name, True
        finally:
            await asyncio.gather(*(lab.close() for lab in labs))
        await asyncio.to_thread(self._prepared.prune)

    async def _make_runs(self, labs: list[Lab], missing: list[Experiment]) -> AsyncGenerator[str, None]:
        async def conduct(lab: Lab, number: int) -> Run:
            await lab.warm(missing[number])
            began = time.monotonic()
            run = await lab.run_whole(missing[number])
            self._seconds[self._prepared.key(missing[number])] = time.monotonic() - began
            return run

        async with aclosing(pool.side_by_side(labs, len(missing), conduct)) as results:
            async for number, run in results:
                key = self._prepared.key(missing[number])
                if isinstance(run, TutorError):
                    self._problems[key] = str(run)
                elif not run.complete:
                    self._problems[key] = run.note or "the run was cut short"
                else:
                    await asyncio.to_thread(self._prepared.keep, run)
                    self.made += 1
                yield missing[number].name

    def _missing(self, place: Place) -> list[Experiment]:
        return [each for each in self.experiments if not _is_of(self._prepared.kept(each), place)]

    # Findings

    def findings(self) -> list[Finding]:
        """Return all findings: on the machine, then on each slide, then on the time."""
        return [
            _terminal(),
            *check_terminal()[1:],
            *self._lab(),
            *self._votes(),
            *self._slides(),
            self._time(),
        ]

    def _lab(self) -> Iterator[Finding]:
        if self._no_lab:
            remedy = "run `tcptutor setup`; or present recorded runs, with --backend replay"
            yield fail("lab", self._no_lab, remedy)

    def _votes(self) -> Iterator[Finding]:
        asks = sum(isinstance(step, Ask) for slide in self._lecture.slides for step in slide.steps)
        flows = any(isinstance(step, FlowsShown) for slide in self._lecture.slides for step in slide.steps)
        if not self._has_votes or not (asks or flows):
            return
        absent = [name for name in ("aiohttp", "segno") if importlib.util.find_spec(name) is None]
        if absent:
            text = f"nobody can vote without {' and '.join(absent)}"
            yield fail("votes", text, places.pip_install(*places.SERVE))
        elif not self._is_reachable:
            remedy = f"present with --listen 0.0.0.0:{DEFAULT_PORT}, or with --no-votes"
            yield warn("votes", "only this machine reaches the page where students vote", remedy)
        else:
            yield ok("votes", f"{_count(asks, 'question')} for the room")

    def _slides(self) -> Iterator[Finding]:
        for number, slide in enumerate(self._lecture.slides):
            found = [*self._slide_problems(number, slide)] or [*self._ready_runs(number)]
            for status, text in found:
                yield Finding(f"slide {number + 1}", status, f"{slide.headline}: {text}")

    def _ready_runs(self, number: int) -> Iterator[tuple[Status, str]]:
        if runs := self._runs.get(number, ()):
            made_here = all(self._prepared.kept(each) for each in runs)
            yield "ok", f"{_count(len(runs), 'run')} {'prepared' if made_here else 'recorded elsewhere'}"

    def _slide_problems(self, number: int, slide: Slide) -> Iterator[tuple[Status, str]]:
        if slide.page and step_of(self._course, slide) is None:
            yield "fail", "the course no longer has this page"
        elif number in self._removed_runs:
            yield "fail", "the page no longer has this run"
        for experiment in self._runs.get(number, ()):
            yield from self._run_problems(experiment)
        if not self._has_votes and any(isinstance(step, FlowsShown) for step in slide.steps):
            yield "warn", "students pick their flow by a vote, and votes are off"
        if points := len(self._missing_points(slide)):
            yield "warn", f"{_count(points, 'point')} of its curve could not be measured"
        lines = sum(_text_lines(step.markdown) for step in slide.steps if isinstance(step, OwnText))
        if lines > (room := _terminal_size()[1] - _HEADLINE_LINES):
            yield "warn", f"its text has {lines} lines, and there is room for {room}: split it"

    def _missing_points(self, slide: Slide) -> list[Experiment]:
        return [each for each in curve_runs(self._course, slide) if self._prepared.find(each) is None]

    def _run_problems(self, experiment: Experiment) -> Iterator[tuple[Status, str]]:
        key, kept = self._prepared.key(experiment), self._prepared.kept(experiment)
        prepared = kept or self._prepared.recorded(experiment)
        if problem := self._problems.get(key, ""):
            instead = "R shows the prepared run" if prepared else "there is no prepared run"
            yield "fail", f"its live run failed: {problem}: {instead}"
        elif prepared is None:
            yield "fail", "there is neither a lab for its run nor a recording"
        elif kept is not None and kept.fidelity.status != "valid":
            reason = next(iter(kept.fidelity.reasons), "no reason given")
            yield "warn", f"its run is {kept.fidelity.status} here: {reason}"
        if (seconds := self._seconds.get(key, 0.0)) > _LONG_RUN_S:
            yield "warn", f"its live run takes {seconds:.0f} s here: R shows the prepared run"

    def _time(self) -> Finding:
        needed, planned = sum(slide.minutes for slide in self._lecture.slides), self._lecture.planned_minutes
        if planned and needed > planned:
            text = f"the slides take {needed:g} min, and there are {planned:g}"
            return warn("time", text, "hide pages, or give slides less time with `minutes`")
        return ok(
            "time",
            f"{len(self._lecture.slides)} slides, {needed:g} min" + (f" of {planned:g}" if planned else ""),
        )


def _is_of(run: Run | None, place: Place) -> bool:
    """Return True if the lab at `place` would make the same run."""
    if run is None or (run.environment.backend, run.environment.clock) != (place.backend, place.clock):
        return False
    if place.backend == "host":
        return run.environment.kernel == os.uname().release
    if place.clock != "virtual":
        return True
    lab = Snapshots(memory=sizes.size(run.experiment)).composition(place.clock)
    return run.environment.snapshot == lab_parts.fingerprint(lab)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _terminal() -> Finding:
    """Return a finding on the terminal, stricter than `tcptutor doctor`: the room reads from afar."""
    found = check_terminal()[0]
    if found.text == "none":
        return warn(
            "terminal", "none, so its size and colors are not checked", "check in the terminal of the lecture"
        )
    columns, lines = _terminal_size()
    if found.status != "ok" and os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return fail("terminal", found.text, found.remedy)
    if columns < _SMALLEST[0] or lines < _SMALLEST[1]:
        return fail("terminal", found.text, f"make it larger: {_SMALLEST[0]} x {_SMALLEST[1]} at least")
    if found.status == "ok" and (columns < _COMFORTABLE[0] or lines < _COMFORTABLE[1]):
        wanted = f"{_COMFORTABLE[0]} x {_COMFORTABLE[1]}"
        return warn("terminal", f"{found.text}: labels are small", f"make it larger: {wanted} or more")
    return found


def _terminal_size() -> tuple[int, int]:
    """Return columns and lines; a comfortable size without a terminal."""
    size = shutil.get_terminal_size(_COMFORTABLE)
    return size.columns, size.lines


def _text_lines(markdown: str) -> int:
    """Return the height of a text block in lines, with the empty line below."""
    columns = _terminal_size()[0] - _MARGIN
    return 1 + sum(math.ceil(max(1, len(line)) / columns) for line in markdown.splitlines())
