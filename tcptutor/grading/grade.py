"""What a hand-in is worth, and why."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

Outcome = Literal["full", "part", "none", "missing", "refused", "inconclusive"]
"""none: done, and not right. missing: not done. refused: done, and its evidence does not hold. inconclusive: the lab
does not stand for the run; it costs nothing."""


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One response to an activity, as it is marked now."""

    at: str
    """Wall-clock time, ISO 8601 with zone, as the student's computer had it."""
    text: str
    """What was chosen, in the lesson's words, or what was typed."""
    correct: bool | None
    """None where nothing is right or wrong, and for what does not count."""
    feedback: str = ""
    """What the page tells of it when it is wrong."""
    value: float | None = None
    """Of a prediction, in its base unit."""
    drawn: bool = False
    """Whether it was asked with numbers of the student's own."""


class ActivityMark(msgspec.Struct, frozen=True, kw_only=True):
    """Of one activity of one page."""

    module: str
    page: str
    title: str
    """Of the page."""
    activity: str
    """Its id."""
    kind: str
    """The table of the lesson file that it is: question, predict, experiment ..."""
    marks: float
    of: float
    outcome: Outcome
    reason: str = ""
    """One sentence; empty for full marks."""
    events: tuple[int, ...] = ()
    """Serials of the journal's events that it was given by."""
    runs: tuple[str, ...] = ()
    """Ids of the runs that it was given by."""
    answers: tuple[GivenAnswer, ...] = ()
    """In their order, of a question or a prediction."""
    measured: float | None = None
    """What was predicted, as the first run after it measured it, in the base unit."""


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """Of a whole hand-in."""

    student: str
    """As the course names its students; empty for who was not enrolled."""
    course: str
    title: str
    made: str
    marks: tuple[ActivityMark, ...]
    remarks: tuple[str, ...] = ()
    """What whoever grades should know, a sentence each."""
    refused: str = ""
    """Why none of it counts; empty when it does."""
    samples: dict[str, str] = {}
    """By the id of each run with a seed of the student's own, a digest of its samples: equal for equal runs, whoever
    made them."""

    @property
    def total(self) -> float:
        """Marks that were reached."""
        return 0.0 if self.refused else sum(mark.marks for mark in self.marks)

    @property
    def of(self) -> float:
        """Marks that could be reached: what is inconclusive costs nothing."""
        return sum(mark.of for mark in self.marks if mark.outcome != "inconclusive")

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.total / self.of if self.of else 0.0


class GradedFile(NamedTuple):
    """A hand-in that was graded, or that could not be."""

    file: str
    """Its name, without its folder."""
    grade: Grade | None
    problem: str = ""
    """Why there is no grade, one line."""
    instead: str = ""
    """Which hand-in of the same student counts in its place; empty where it counts itself."""
