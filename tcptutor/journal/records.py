"""What the journal gives back, as frozen data."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """A locked prediction."""

    text: str
    """As the student typed it; empty when the run was started without one."""
    value: float | None
    """In the base unit; None when the run was started without one."""
    at: str

    @property
    def skipped(self) -> bool:
        return self.value is None


@dataclass(frozen=True)
class Answer:
    """One attempt at a question."""

    question: str
    answer: tuple[int, ...] | str
    """The choices' indexes, or the text as typed."""
    correct: bool
    at: str


@dataclass(frozen=True)
class Progress:
    """How far a module is."""

    done: int
    total: int


def encode(answer: tuple[int, ...] | str) -> str:
    return json.dumps(answer)


def decode(text: str) -> tuple[int, ...] | str:
    value = json.loads(text)
    return value if isinstance(value, str) else tuple(int(index) for index in value)
