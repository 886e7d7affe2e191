"""A student who knows every answer and types it as a line, and a lab that plays recordings as if they were made now."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from tcptutor.backends.lab import Lab
from tcptutor.backends.replay import playback, recordings_folder, same_experiment
from tcptutor.base.errors import LabUnavailable
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.choice import ChoiceQuestion, Order
from tcptutor.course.activities.example import Example
from tcptutor.course.activities.predict import ShapePrediction
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.outline import Course
from tcptutor.journal import Journal
from tcptutor.plain.console import Console, EndOfInput
from tcptutor.plain.front import Front
from tcptutor.plain.page import PageDialogue
from tcptutor.plain.runs import Runs
from tcptutor.plain.sitting import Sitting
from tcptutor.run import Environment, Run, load
from tcptutor.spec import Experiment
from tcptutor.study.own_course import OwnCourse, enrolment_in
from tcptutor.study.study import Study
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Ready

FORBIDDEN = re.compile("[\u2500-\u28ff\x1b]")
"""What the dialogue never prints: drawings, and what moves the cursor or colors."""

_PATIENCE = 12
"""Equal lines after which the student would go in circles."""

Answer = Callable[[Activity, Study], object]


@cache
def _recorded(module: str) -> list[tuple[Experiment, Path]]:
    """The experiments that are recorded for a module, with their files."""
    return [
        (load(path).experiment, path) for path in sorted((recordings_folder() / module).glob("**/*.tcprun"))
    ]


def recording(experiment: Experiment) -> Run | None:
    """Return the recording of an experiment with any seed; None if there is none."""
    for recorded, path in _recorded(experiment.name.partition("/")[0]):
        if same_experiment(msgspec.structs.replace(recorded, seed=experiment.seed), experiment):
            return load(path)
    return None


class RecordedLab(Lab):
    """Plays recordings at once, in the environment that they were made in, and with the seed that is wanted."""

    def __init__(self, find: Callable[[Experiment], Run | None] = recording) -> None:
        super().__init__()
        self._find = find

    async def warm(self, experiment: Experiment | None = None) -> Environment:
        self.environment = Environment(backend="guest", clock="virtual", kernel="recorded", versions={})
        return self.environment

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        recorded = self._find(experiment)
        if recorded is None:
            raise LabUnavailable("there is no such recording")
        yield Ready(protocol.VERSION, recorded.environment)
        for event in playback(recorded):
            yield event

    def second_lab(self) -> None:
        return None


class Typist:
    """Does pages, MODULE/PAGE, one after the other, and leaves; `printed` is all that it was shown."""

    echoes = False
    is_closed = False

    def __init__(self, pages: Sequence[str], answer: Answer) -> None:
        self._pages, self._answer = [*pages], answer
        self._pending: list[str] = []
        self._tried: set[str] = set()
        self.front: Front | None = None
        self.printed = ""
        self.typed: list[str] = []

    def write(self, text: str) -> None:
        self.printed += text

    async def read_line(self) -> str:
        if not self._pending:
            self._pending += self._lines()
        line = self._pending.pop(0)
        self.typed.append(line)
        assert len(set(self.typed[-_PATIENCE:])) > 1 or len(self.typed) < _PATIENCE, self.printed[-3000:]
        self.printed += f"[{line}]"
        return line

    def _lines(self) -> Iterator[str]:
        assert self.front is not None
        page = self.front.page
        activity = page.activity if page is not None else None
        if page is not None and activity is not None:
            yield from self._for_activity(page, activity)
        elif self._pages:
            self._tried.clear()
            yield f"go {self._pages.pop(0)}"
        else:
            yield "quit"

    def _for_activity(self, page: PageDialogue, activity: Activity) -> Iterator[str]:
        is_first = activity.id not in self._tried
        self._tried.add(activity.id)
        if isinstance(activity, RunActivity | SweepActivity):
            yield "run" if is_first else "next"
        elif isinstance(activity, ChallengeActivity):
            yield from self._for_challenge(activity) if is_first else ("next",)
        elif isinstance(activity, ShellActivity):
            yield "next"
        elif isinstance(activity, Example) and activity.gap is None:
            yield ""
        else:
            given = self._answer(activity, page.study)
            line = line_of(activity, page.study.shown_order(activity), given)
            # What looks like a slip of the unit is typed again.
            yield from (
                ("next",) if not line and not is_first else (line, line) if activity.locked else (line,)
            )

    def _for_challenge(self, challenge: ChallengeActivity) -> Iterator[str]:
        yield "run"
        solved = challenge.values(challenge.solution_experiment)
        yield from (f"{name} = {solved[name]}" for name in challenge.solution)
        yield "run"


def line_of(activity: Activity, order: Sequence[int], given: object) -> str:
    """Return what is typed for a response."""
    if isinstance(activity, ChoiceQuestion | Order | ShapePrediction) and isinstance(given, tuple):
        shown = [activity.entry_ids[index] for index in order]
        return " ".join(str(shown.index(id) + 1) for id in given) or "next"
    return given if isinstance(given, str) else "" if given is not None else "next"


async def do_pages(
    course: Course, journal: Journal, pages: Sequence[str], answer: Answer, lab: Lab | None = None
) -> Typist:
    """Do the pages in the dialogue as the student of the journal, and return the typist."""
    typist = Typist(pages, answer)
    console = Console(typist, typist)
    runs = Runs(lab or RecordedLab(), journal, console)
    sitting = Sitting(OwnCourse(course, journal, enrolment_in(journal)), journal, console, runs)
    typist.front = Front(sitting, iter(["tcptutor as plain text"]))
    try:
        await typist.front.hold()
    except EndOfInput:
        pass
    finally:
        await runs.close()
    return typist


def drawn(text: str) -> list[str]:
    """Return the lines with a character that the dialogue must not print."""
    return [line for line in text.split("\n") if FORBIDDEN.search(line)]


def all_pages(course: Course) -> list[str]:
    """Return every page, pre-tests first in their modules."""
    return [
        name
        for module in course.modules
        for name in (
            *([f"{module.number}.0"] if module.pretest else []),
            *(f"{module.id}/{step.id}" for step in module.steps),
        )
    ]
