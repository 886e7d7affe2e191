"""Common interface of the activities on a page; each kind has a module in `course/activities/`.

An activity is frozen data from a lesson file. It reports its own mistakes, marks a response, and decides from
a page's record whether it is done. It stores no progress: `PageRecord` holds the student's work.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import ClassVar, NamedTuple, TypeAlias

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.course.draws import Draw
from tcptutor.course.measures import MeasuredCurve
from tcptutor.course.page_record import Given, PageRecord
from tcptutor.run import Run
from tcptutor.spec import Experiment

Problem: TypeAlias = tuple[str, str]
"""Key in the lesson file, and the reason it is wrong."""

Setting: TypeAlias = str | int | float | bool | list[str]
"""Parameter value as written in a course file."""

NamedExperiment: TypeAlias = Callable[[str, Mapping[str, Setting]], tuple[str, Experiment]]
"""Function from an experiment's name (short or full) and its overrides to its full name and the experiment.

Raises ContentError, which names the lesson file and the key.
"""

MIN_HINTS = 2
"""At least a nudge and a method; the last level may almost give the answer."""


class Stage(IntEnum):
    """Position of a table's activities on the page."""

    EXAMPLE = 0
    BEFORE_RUN = 1
    RUN = 2
    BY_HAND = 3
    OBSERVE = 4
    AFTER_RUN = 5


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Correctness of a response, and the feedback to show."""

    correct: bool | None
    """None for a response that cannot be right or wrong, such as a prediction."""
    feedback: str = ""
    evidence: str = ""
    """Figures of the student's own run that decided, in a sentence."""
    detail: str = ""
    """Further explanation of a wrong response, for a student who was sure of it."""
    value: float | None = None
    """Prediction: the number in its base unit, None if it was skipped. Challenge: the number of changed
    knobs."""
    measured: float | None = None
    """Prediction, after the run: the measured value in the same unit."""


class MarkContext(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements that marking may need in addition to the response."""

    run: Run | None = None
    """The student's latest complete run of the page."""
    start: Run | None = None
    """For challenges: the student's latest complete run with every knob at its initial value."""
    curve: MeasuredCurve | None = None
    """Measured curve of the page's sweep, once every run is done."""

    @property
    def measured(self) -> bool:
        """True if the page's experiment has finished, so that predictions can be compared with it."""
        return self.run is not None or self.curve is not None


NO_RUN = MarkContext()


class Reference(NamedTuple):
    """Responses with known marks, for the linter, for tests, and for skipped predictions."""

    right: Given | None
    """None if no right response is known, for example without a run to mark against."""
    empty: Given


ENTRY_REMOVED = "the page no longer has this"
"""Begin of the reason for a response that cannot be marked."""


class EntryRemoved(UsageError):
    """A response names an entry that the page no longer has."""


class ActivityTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Table of a page's front matter, as written in the lesson file.

    Each module of `course/activities/` lists its own tables in TABLES; kinds that share a table are tagged
    with the key `kind`.
    """

    table: ClassVar[str]
    """Key in the front matter, also used in `tcptutor list --json`."""
    many: ClassVar[bool] = False
    """True if a page may have several, as with `[[question]]`."""
    stage: ClassVar[Stage]

    def activity(self, experiment: NamedExperiment) -> Activity:
        """Build the activity from the table.

        Raises:
            ContentError: The table names an unknown experiment.
        """
        raise NotImplementedError

    def contradiction(self) -> Problem | None:
        """Return the reason no response could be marked, or None.

        A page with a contradiction is not loaded.
        """
        return None


class Activity(ActivityTable, frozen=True, kw_only=True):
    """Task for the student on a page."""

    locked: ClassVar[bool] = False
    """True if only the first response counts, as for a prediction."""
    entry_name: ClassVar[str] = "choice"
    """Word for a listed entry."""
    against_run: ClassVar[bool] = False
    """True if it is marked against the student's own run, so that a later run may change the mark."""

    @property
    def id(self) -> str:
        """Identifier, unique on the page and stable when the text is edited."""
        return self.table

    @property
    def hints(self) -> tuple[str, ...]:
        """Hints by level, from a nudge to almost the answer."""
        return ()

    @property
    def explanation(self) -> str:
        """Reason the right response is right; may be empty."""
        return ""

    @property
    def about_run(self) -> bool | None:
        """True if it asks about the student's own run, which has to come first."""
        return False

    def activity(self, experiment: NamedExperiment) -> Activity:  # noqa: ARG002  # for tables that name an experiment
        return self

    @property
    def listed(self) -> tuple[str, ...]:
        """Texts of the entries that a response lists, such as choices or events, in the order of the lesson file."""
        return ()

    @property
    def entry_ids(self) -> tuple[str, ...]:
        """Ids of the listed entries, by which a response names them; digests of their texts unless they have ids."""
        return tuple(map(text_id, self.listed))

    def entry_indexes(self, given: Given, wanted: str) -> tuple[int, ...]:
        """Return the places of a response's entries in the lesson file, from 0.

        Args:
            given: The response.
            wanted: Expected kind of response, for the message about a typed text.

        Raises:
            EntryRemoved: The page no longer has some entry of the response.
            UsageError: The response is a text.
        """
        if isinstance(given, str):
            raise UsageError(f"this question asks for {wanted}: choose with Space or the number keys")
        places = {id: index for index, id in enumerate(self.entry_ids)}
        if not places.keys() >= set(given):
            raise EntryRemoved(f"{ENTRY_REMOVED} {self.entry_name}")
        return tuple(places[id] for id in given)

    def in_words(self, given: Given) -> str:
        """Return a response in words: the typed text, or the listed texts."""
        if isinstance(given, str):
            return given
        texts = dict(zip(self.entry_ids, self.listed, strict=True))
        return "; ".join(texts.get(id, f"(a {self.entry_name} that the page no longer has)") for id in given)

    def draw_numbers(self, seed: str) -> dict[str, str]:  # noqa: ARG002  # for questions with draws
        """Draw numbers for a question; the same seed gives the same numbers.

        Returns:
            Values by name; empty for an activity that never changes.
        """
        return {}

    def with_numbers(self, draw: Draw) -> Activity:  # noqa: ARG002
        """Return the activity with these numbers filled in.

        Raises:
            UsageError: The numbers belong to a different edition of the lesson.
        """
        return self

    def shown_order(self, seed: str) -> tuple[int, ...]:  # noqa: ARG002  # for activities with a list
        """Return the indexes of the listed choices or events in the order a student sees.

        Args:
            seed: The student's, from `course.personal.order_seed`.
        """
        return ()

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:  # noqa: ARG002
        """Yield the linter's findings about the activity on a page with `experiment`."""
        yield from ()

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        """Return a right response and an empty response."""
        raise NotImplementedError

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        """Mark a response.

        Raises:
            UsageError: The response cannot be marked, and does not count as an attempt.
        """
        raise NotImplementedError

    def interpret(self, given: Given) -> str:  # noqa: ARG002
        """Return how a typed number was interpreted, or an empty string if it is written in plain digits."""
        return ""

    def doubt(self, given: Given, experiment: Experiment | None) -> str:  # noqa: ARG002
        """Return a reason to ask for confirmation before the response is locked, or an empty string.

        The reason must not depend on the right answer.

        Raises:
            UsageError: The response cannot be marked.
        """
        return ""

    def is_done(self, page: PageRecord) -> bool:
        """Return True if the student has completed the activity: answered it right, or answered it if it is locked."""
        record = page.activity(self.id)
        return (record.first if self.locked else record.right) is not None


class Question(Activity, frozen=True, kw_only=True):
    """Activity with right responses: `[[question]]`, of a kind named by the key `kind`."""

    table: ClassVar[str] = "question"
    many: ClassVar[bool] = True
    stage: ClassVar[Stage] = Stage.AFTER_RUN

    id: str
    """Name of the question on its page: marks and stored answers use it."""
    prompt: str
    """The question."""
    hints: tuple[str, ...] = ()
    """A nudge, then the method."""
    explanation: str = ""
    """Shown after a right answer."""
    page: str = ""
    """Id of the page in this module that explains the topic; named after a wrong answer."""
    recall: str = ""
    """MODULE/PAGE that a question about earlier material is from; named only after an answer."""
    skips: tuple[str, ...] = ()
    """In a pre-test: ids of the pages of this module that a right answer proposes to skip."""
    about_run: bool | None = None
    """True: asked after the page's experiment has run. False: shown before the run, and independent of it.

    Required by the linter on a page with an experiment.
    """
    bank: bool = True
    """False if it makes no sense outside its page: question banks leave it out."""

    @property
    def kind(self) -> str:
        """Value of the key `kind` in a lesson file."""
        return str(self.__struct_config__.tag)

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        for key in ("id", "prompt", "explanation"):
            if not getattr(self, key).strip():
                yield key, "is empty"
        if self.hints or not self.skips:
            yield from hint_problems(self.hints)
        if self.about_run and experiment is None:
            yield "about_run", "needs an experiment on this page"
        if self.about_run is None and experiment is not None:
            reason = "is missing: set true (asked after the run) or false (independent of the run)"
            yield "about_run", reason
        right = self.reference().right
        if right is not None and not self.mark(right).correct:
            yield "answer", "the right answer is not marked as right"


def hint_problems(hints: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the reasons `hints` do not form a sequence of levels."""
    if len(hints) < MIN_HINTS:
        yield "hints", f"{len(hints)} of at least {MIN_HINTS} levels: a nudge, then the method"
    if len(set(hints)) < len(hints) or not all(hint.strip() for hint in hints):
        yield "hints", "a level is empty or repeats another"


def entry_problems(key: str, entries: tuple[tuple[str, str], ...]) -> Iterator[Problem]:
    """Yield mistakes in the texts and feedback of a list of choices or events."""
    if len({text.strip().lower() for text, _ in entries}) < len(entries):
        yield f"{key}.text", f"two {key}s are the same"
    for number, (text, feedback) in enumerate(entries, 1):
        if not text.strip():
            yield f"{key}[{number}].text", "is empty"
        if not is_sentence(feedback):
            yield f"{key}[{number}].feedback", "needs a sentence on why it is right or wrong"


def text_id(text: str) -> str:
    """Return the id of an entry without an explicit id: a digest of its text that ignores white space."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]


def typed_text(given: Given, example: str) -> str:
    """Return the text of a response.

    Raises:
        UsageError: The response is a list of choices.
    """
    if not isinstance(given, str):
        raise UsageError(f"this question asks for a number: write {example!r}")
    return given


def interpret_number(given: Given, kind: str, plain: str) -> str:
    """Return how a typed quantity of `kind` was interpreted, or an empty string if it is written in plain digits.

    Args:
        given: The response.
        kind: Kind of the quantity, as in `base.units`.
        plain: Unit assumed for a number without a unit.
    """
    with contextlib.suppress(UnitError):  # an edited lesson may now ask for another unit
        return units.plain_reading(given, kind, plain) if isinstance(given, str) else ""
    return ""


def is_sentence(text: str) -> bool:
    """Return True if `text` contains at least a short sentence."""
    return len(text.split()) >= 3 and text.rstrip()[-1:] in {".", "!", "?", ")", "”", '"'}
