"""What a near miss is recognised from, and what each rule says."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.course.goals.goal import AskedGoal, Condition
from tcptutor.course.goals.lab_run import LabRun
from tcptutor.course.goals.lab_view import LabView
from tcptutor.wire.kernel_state import SessionState


class Attempt(NamedTuple):
    """A goal that is due, and all that is known."""

    asked: AskedGoal
    view: LabView
    """What it is judged by."""
    earlier: tuple[SessionState, ...] = ()
    """What the kernel held before, the latest first."""
    latest: LabRun | None = None
    """The run that goes on, else the last one."""

    @property
    def unmet(self) -> tuple[Condition, ...]:
        return self.asked.unmet(self.view)


class Slip(NamedTuple):
    """A rule for one kind of near miss."""

    kind: str
    says: Callable[[Attempt], str]
    """One line; empty where it is not that."""
    blocks: bool = False
    """Whether the goal is not reached with it, though each of its values is there."""


def rate(value: float) -> str:
    return units.rate(value)


def amount(value: float, kind: str) -> str:
    """`value` in base units as a message has it."""
    return units.rounded(value, kind, 3)


def and_list(names: list[str]) -> str:
    """ "h1, h2 and h3", each once."""
    each = list(dict.fromkeys(names))
    return " and ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)
