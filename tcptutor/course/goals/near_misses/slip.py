"""Interface of the near-miss rules: their input, and the form of a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tcptutor.base import sizes, units
from tcptutor.course.goals.goal import Condition, ParsedGoal
from tcptutor.course.goals.lab_view import LabRun, LabView
from tcptutor.wire.kernel_state import SessionState


class Attempt(NamedTuple):
    """A goal that is due, with everything known about the lab."""

    asked: ParsedGoal
    view: LabView
    """View by which the goal is judged."""
    earlier: tuple[SessionState, ...] = ()
    """Earlier kernel states, latest first."""
    latest: LabRun | None = None
    """The current run, or the last finished run."""

    @property
    def unmet(self) -> tuple[Condition, ...]:
        return self.asked.unmet(self.view)


class Slip(NamedTuple):
    """Rule for a kind of near miss."""

    kind: str
    explain: Callable[[Attempt], str]
    """Function that returns a line of explanation, or an empty string."""
    blocks: bool = False
    """True if the slip prevents the goal even when all its values hold."""


def rate(value: float) -> str:
    return units.rate(value)


def amount(value: float, kind: str) -> str:
    """Format `value`, in base units, for a message."""
    return sizes.rounded(value, kind, 3)


def and_list(names: list[str]) -> str:
    """Join the distinct names: "h1, h2 and h3"."""
    each = list(dict.fromkeys(names))
    return " and ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)
