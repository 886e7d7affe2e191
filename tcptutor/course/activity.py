"""What every activity of a page can do, whatever kind it is; the kinds are in `course/activities/`.

An activity is frozen data from a lesson file. It says what is wrong with it, marks a response, and knows from a page's
record whether it is done. It keeps nothing: what a student did is a `PageRecord`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import ClassVar, NamedTuple, TypeAlias

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course import prose
from tcptutor.course.curve import MeasuredCurve
from tcptutor.course.draws import Draw
from tcptutor.course.record import Given, PageRecord
from tcptutor.run import Run
from tcptutor.spec import Experiment

Problem: TypeAlias = tuple[str, str]
"""Key and reason."""

Setting: TypeAlias = str | int | float | bool | list[str]
"""A parameter's value as a course file has it."""

NamedExperiment: TypeAlias = Callable[[str, Mapping[str, Setting]], tuple[str, Experiment]]
"""Takes an experiment's name, short or full, and what is set differently; gives its full name and the experiment.

Raises ContentError, which names the lesson file and the key.
"""

MIN_HINTS = 2
"""A nudge and a method at least; the last level may nearly give the answer."""


class Stage(IntEnum):
    """Where a table's activities stand on a page."""

    BEFORE_RUN = 1
    RUN = 2
    BY_HAND = 3
    AFTER_RUN = 4


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What a response is told."""

    correct: bool | None
    """None where nothing is right or wrong, as for a prediction."""
    feedback: str = ""
    value: float | None = None
    """For a prediction: the number in its base unit; None for one that was knowingly left out. For a challenge: the
    knobs that were changed."""
    measured: float | None = None
    """For a prediction that a run has answered: what was measured, in the same unit."""


class MarkContext(msgspec.Struct, frozen=True, kw_only=True):
    """What marking may need beside the response."""

    run: Run | None = None
    """The student's latest whole run of the page."""
    start: Run | None = None
    """Where knobs are turned: the student's latest whole run with none of them changed."""
    curve: MeasuredCurve | None = None
    """What the page's sweep measured, once all of it is there."""

    @property
    def measured(self) -> bool:
        """Whether the page's experiment has been done, and what was predicted can be told of."""
        return self.run is not None or self.curve is not None


NO_RUN = MarkContext()


class Reference(NamedTuple):
    """Responses whose marks are known, for the linter, for tests, and for a student who leaves something out."""

    right: Given | None
    """None where none can be told, as when there is no run to mark against."""
    empty: Given


class ActivityTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a step's front matter, as the lesson file has it. Each module of `course/activities/` lists its own
    in TABLES; kinds that share a table are tagged with the key `kind`."""

    table: ClassVar[str]
    """Its key in the front matter; also the word for it in `tcptutor list --json`."""
    many: ClassVar[bool] = False
    """Whether a page may have several, `[[question]]`."""
    stage: ClassVar[Stage]

    def activity(self, experiment: NamedExperiment) -> Activity:
        """What the student does. Raises ContentError for an experiment that is not there."""
        raise NotImplementedError

    def contradiction(self) -> Problem | None:
        """Why no response to it could be marked; None when it can. Such a page is not loaded."""
        return None


class Activity(ActivityTable, frozen=True, kw_only=True):
    """One thing that a student does on a page."""

    locked: ClassVar[bool] = False
    """Whether the first response stays, as for a prediction."""
    against_run: ClassVar[bool] = False
    """Whether it is marked against the student's own run, and another run may mark it otherwise."""

    @property
    def id(self) -> str:
        """Unique on its page, stable when the text is edited."""
        return self.table

    @property
    def hints(self) -> tuple[str, ...]:
        """In levels, from a nudge to nearly the answer."""
        return ()

    @property
    def explanation(self) -> str:
        """Why the right response is right; empty for none."""
        return ""

    @property
    def about_run(self) -> bool | None:
        """Whether it asks about the student's own run, which therefore comes first."""
        return False

    def activity(self, experiment: NamedExperiment) -> Activity:  # noqa: ARG002  # for those that name one
        return self

    def drawn(self, seed: str) -> dict[str, str]:  # noqa: ARG002  # for those that draw numbers
        """Fresh numbers to ask with, the same for the same seed; empty for an activity that is always the same."""
        return {}

    def posed(self, draw: Draw) -> Activity:  # noqa: ARG002
        """As it is asked, and marked, with these numbers. Raises UsageError where they are of another edition."""
        return self

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:  # noqa: ARG002
        """What the linter has to say of it, on a page with that experiment."""
        yield from ()

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        """A right response and an empty one."""
        raise NotImplementedError

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        """What `given` is told. Raises UsageError for what cannot be marked: that is no attempt."""
        raise NotImplementedError

    def understood(self, given: Given) -> str:  # noqa: ARG002
        """Return how a typed number was read, where it is not written in plain digits; else an empty text."""
        return ""

    def doubt(self, given: Given, experiment: Experiment | None) -> str:  # noqa: ARG002
        """Why a locked response should be asked about once more, on a page with that experiment; empty for no reason.

        Nothing in it may come from what is right. Raises UsageError for what cannot be marked.
        """
        return ""

    def is_done(self, page: PageRecord) -> bool:
        """Whether nothing is left to do of it."""
        raise NotImplementedError


class Question(Activity, frozen=True, kw_only=True):
    """Something with right responses. `[[question]]`, its kinds told apart by the key `kind`."""

    table: ClassVar[str] = "question"
    many: ClassVar[bool] = True
    stage: ClassVar[Stage] = Stage.AFTER_RUN

    id: str
    ask: str
    hints: tuple[str, ...] = ()
    explanation: str = ""
    """Shown after a right answer."""
    read: str = ""
    """The page of the module that explains it, by its id; named after a wrong answer."""
    about_run: bool | None = None
    """True: asked once the page's experiment has been run. False: it may be read before and gives nothing of it away.

    A page with an experiment says which; the linter asks for it.
    """

    @property
    def kind(self) -> str:
        """The value of the key `kind` in a lesson file."""
        return str(self.__struct_config__.tag)

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        for key in ("id", "ask", "explanation"):
            if not getattr(self, key).strip():
                yield key, "is empty"
        yield from hint_problems(self.hints)
        if self.about_run and experiment is None:
            yield "about_run", "there is no experiment on this page to ask about"
        if self.about_run is None and experiment is not None:
            reason = "say true (asked after the run) or false (it gives nothing of the run away)"
            yield "about_run", reason
        right = self.reference().right
        if right is not None and not self.mark(right).correct:
            yield "answer", "the right answer is not marked as right"

    def is_done(self, page: PageRecord) -> bool:
        return page.activity(self.id).right is not None


def hint_problems(hints: tuple[str, ...]) -> Iterator[Problem]:
    """Why `hints` are no levels to go through."""
    if len(hints) < MIN_HINTS:
        yield "hints", f"{len(hints)} of at least {MIN_HINTS} levels: a nudge, then the method"
    if len(set(hints)) < len(hints) or not all(hint.strip() for hint in hints):
        yield "hints", "a level is empty or repeats another"


def entry_problems(key: str, entries: tuple[tuple[str, str], ...]) -> Iterator[Problem]:
    """What is wrong with the texts and the feedback of a list of things to choose from or to put in order."""
    if len({text.strip().lower() for text, _ in entries}) < len(entries):
        yield f"{key}.text", f"two {key}s are the same"
    for number, (text, feedback) in enumerate(entries, 1):
        if not text.strip():
            yield f"{key}[{number}].text", "is empty"
        if not prose.is_sentence(feedback):
            yield f"{key}[{number}].feedback", "needs a sentence that says why it is right or wrong"


def chosen_indexes(given: Given, wanted: str) -> tuple[int, ...]:
    """`given` where numbers of entries are asked for. Raises UsageError for a text."""
    if isinstance(given, str):
        raise UsageError(f"this question asks for {wanted}, not a text: choose with Space or the numbers")
    return given


def typed_text(given: Given, example: str) -> str:
    """`given` where a number is typed. Raises UsageError for choices."""
    if not isinstance(given, str):
        raise UsageError(f"this question asks for a number: write it like {example!r}")
    return given
