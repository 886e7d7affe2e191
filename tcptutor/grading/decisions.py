"""A teacher's decisions on single students, in a TOML file that `tcptutor decide` appends to and the teacher edits.

[[decision]]
student = "ada@example.edu"
page = "tcp-basics/a-larger-window"   # or a module; without page: the course
activity = "how-much"                 # without activity: every activity of the page
marks = 1.5
reason = "The lab's network was down."
by = "AB"

Each decision has exactly one of these keys:

marks      marks of the activity, or of the page or course, split among activities by their worth
excuse     true: the work leaves the student's maximum
hours      hours by which the deadline of the page or course is extended
deadline   the deadline of the page or course, such as "2027-02-07T23:59+01:00"
accept     true, with page: work counts although its evidence does not hold; without page: the remarks are settled,
           and with `file` that hand-in of the student counts
same_as    the id under which the hand-ins of `student` count
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from tcptutor.course.lesson_file import LessonFile, toml_value
from tcptutor.course.marks import MarkScheme
from tcptutor.course.page_record import moment

DecisionKind = Literal["marks", "excuse", "hours", "deadline", "accept", "same_as"]
_KINDS: tuple[DecisionKind, ...] = ("marks", "excuse", "hours", "deadline", "accept", "same_as")
_MOST = 100_000
"""Most marks, and most hours of an extension."""


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision of the teacher; student and reason are shown to the student."""

    student: str
    """The enrolled id, or the file name of a hand-in without an enrollment."""
    page: str = ""
    """MODULE/PAGE or MODULE; empty for the course."""
    activity: str = ""
    marks: float | None = None
    excuse: bool = False
    hours: float | None = None
    deadline: str = ""
    accept: bool = False
    file: str = ""
    same_as: str = ""
    reason: str
    by: str
    """Initials of the teacher."""

    @property
    def kind(self) -> DecisionKind:
        """The first kind with a value."""
        return next(iter(self._kinds()), "accept")

    @property
    def is_extension(self) -> bool:
        return self.kind in ("hours", "deadline")

    @property
    def place(self) -> str:
        """Page and activity as reports name them; empty for the course."""
        return f"{self.page} {self.activity}".strip()

    @property
    def grounds(self) -> str:
        """The reason, with initials."""
        return f"{self.reason.strip().rstrip('.')} ({self.by.strip()})"

    def __str__(self) -> str:
        match self.kind:
            case "marks":
                said = f"{self.marks:g} {'mark' if self.marks == 1 else 'marks'}" + (
                    f" for {self.place}" if self.place else " in all"
                )
            case "excuse":
                said = f"excused from {self.place or 'the course'}"
            case "hours":
                said = f"{self.hours:g} more hours" + (f" for {self.place}" if self.place else "")
            case "deadline":
                said = f"deadline {self.deadline}" + (f" for {self.place}" if self.place else "")
            case "accept":
                said = f"accepted {self.place or self.file or 'as handed in'}"
            case "same_as":
                said = f"{self.student} is the same student as {self.same_as}"
        return f"{said}: {self.grounds}"

    def concerns(self, module: str, page: str, activity: str = "") -> bool:
        """Return whether the decision applies to an activity, or to the page if `activity` is empty."""
        return (
            not self.page
            or self.page == module
            or (self.page == f"{module}/{page}" and self.activity in ("", activity))
        )

    def contradiction(self) -> tuple[str, str] | None:
        """Return key and reason of a value that cannot be used, or None."""
        return next(self._contradictions(), None)

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        yield from (
            (key, "is empty") for key in ("student", "reason", "by") if not getattr(self, key).strip()
        )
        kinds = [*self._kinds()]
        if len(kinds) != 1:
            which = f"has {' and '.join(kinds)}" if kinds else "decides nothing"
            yield "", f"{which}: give one of {', '.join(_KINDS)}"
        for key in ("marks", "hours"):
            value = getattr(self, key)
            if value is not None and not 0 <= value <= _MOST:
                yield key, f"{value:g} is out of bounds: 0 to {_MOST}"
        if self.deadline and moment(self.deadline) is None:
            reason = f"{self.deadline!r} is not a time with a zone: write it like 2027-02-07T23:59+01:00"
            yield "deadline", reason
        if self.activity and "/" not in self.page:
            yield "page", f"is missing: {self.activity!r} is an activity of a page"
        if self.activity and self.is_extension:
            yield "activity", "has no deadline of its own: give the page alone"
        if self.page and self.same_as:
            yield "page", "is not needed: an id is the same on all pages"
        if self.file and (self.page or not self.accept):
            yield "file", "goes with accept alone: the hand-in that counts"

    def _kinds(self) -> Iterator[DecisionKind]:
        return (key for key in _KINDS if _is_given(getattr(self, key)))


class _DecisionFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    decision: tuple[Decision, ...] = ()


def read_decisions(path: Path) -> tuple[Decision, ...]:
    """Read a file of decisions. Raises ContentError with a single-line message for any other file."""
    absolute = path.absolute()
    file = LessonFile(absolute, absolute.parent)
    tables = file.tables(file.text())
    for table in tables["decision"] if isinstance(tables.get("decision"), list) else ():
        if isinstance(table, dict) and isinstance(time := table.get("deadline"), datetime):
            table["deadline"] = time.isoformat()  # a time of TOML, without quotes
    found = file.convert_table(tables, _DecisionFile).decision
    for number, each in enumerate(found, 1):
        if wrong := each.contradiction():
            key, reason = wrong
            raise file.problem(reason, f"decision {number}{f', {key}' if key else ''}")
    return found


class DecisionsByStudent:
    """Finds the decisions on a student by any of the student's ids."""

    def __init__(self, decisions: Iterable[Decision], roster: Iterable[Collection[str]] = ()) -> None:
        """Index the decisions.

        Args:
            decisions: The decisions in their order.
            roster: The ids of each student.
        """
        self._decisions = tuple(decisions)
        self._numbers: dict[str, list[int]] = {}
        for number, each in enumerate(self._decisions):
            self._numbers.setdefault(fold_id(each.student), []).append(number)
        self._same: dict[str, set[str]] = {}
        for ids in roster:
            self._join({id for id in map(fold_id, ids) if id not in self._same})
        for each in self._decisions:
            if each.same_as:
                self._join({fold_id(each.student), fold_id(each.same_as)})

    def __bool__(self) -> bool:
        return bool(self._decisions)

    def of(self, student: str, file: str) -> tuple[Decision, ...]:
        """Return the decisions on the student of a hand-in, who is known by the file name if not enrolled."""
        named = (student,) if student else (Path(file).name, Path(file).stem)
        ids = set[str]().union(*(self._same.get(id, {id}) for id in map(fold_id, named)))
        numbers = sorted(number for id in ids for number in self._numbers.get(id, ()))
        return tuple(self._decisions[number] for number in numbers)

    def _join(self, ids: set[str]) -> None:
        joined = ids.union(*(self._same.get(id, ()) for id in ids))
        self._same |= dict.fromkeys(joined, joined)


@lru_cache(maxsize=4096)
def fold_id(id: str) -> str:
    """Return a student's id without case and invisible characters."""
    plain = unicodedata.normalize("NFKC", id)
    return "".join(each for each in plain if unicodedata.category(each) not in ("Cf", "Zs")).casefold()


def decision_table(decision: Decision) -> str:
    """Return the lines of a decision for its file."""
    fields = {key: value for key in Decision.__struct_fields__ if _is_given(value := getattr(decision, key))}
    return "\n".join(["[[decision]]", *(f"{key} = {toml_value(value)}" for key, value in fields.items()), ""])


def extended_scheme(scheme: MarkScheme, decisions: Sequence[Decision], module: str, page: str) -> MarkScheme:
    """Return the scheme with the student's deadline for a page; of several extensions the last counts."""
    for each in reversed(decisions):
        if not each.is_extension or not each.concerns(module, page):
            continue
        if each.deadline:
            return msgspec.structs.replace(scheme, deadline=each.deadline)
        if deadline := moment(scheme.deadline):
            later = deadline + timedelta(hours=each.hours or 0.0)
            return msgspec.structs.replace(scheme, deadline=later.isoformat())
    return scheme


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != ""
