"""Remarks on a hand-in: questions that wait for the teacher's decision, and mere notes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A remark on a hand-in; no mark depends on it."""

    text: str
    """A sentence for the teacher; it may name other students."""
    level: Literal["note", "decide"]
    """decide: the grade is not final before the teacher has looked at the hand-in."""
    for_student: str = ""
    """Sentence shown to the student, which names no other student; empty to show no remark."""

    @property
    def line(self) -> str:
        """The text, marked if it waits for the teacher's decision."""
        return f"to decide: {self.text}" if self.level == "decide" else self.text

    def __str__(self) -> str:
        return self.text


def note(text: str, *, shown: bool = False, for_student: str = "") -> Remark:
    """Return a note; the student reads `for_student`, or the same text if `shown`."""
    return Remark(text=text, level="note", for_student=text if shown else for_student)


def decide(text: str, *, shown: bool = False, for_student: str = "") -> Remark:
    """Return a remark that needs the teacher's decision; the student reads it as in `note`."""
    return Remark(text=text, level="decide", for_student=text if shown else for_student)


def to_decide(remarks: Iterable[Remark]) -> tuple[str, ...]:
    """Return the remarks that need the teacher's decision."""
    return tuple(remark.text for remark in remarks if remark.level == "decide")


def shown_to_student(remarks: Iterable[Remark]) -> tuple[str, ...]:
    """Return the sentences that the student may read."""
    return tuple(remark.for_student for remark in remarks if remark.for_student)
