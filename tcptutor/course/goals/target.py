"""What a run should reach, in the quantities that goals are written in; judged when the run has ended.

A target may be relative to another run of the same student: that of the page as it was at first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Problem
from tcptutor.course.goals.goal import Condition, Conditions, flat
from tcptutor.course.goals.lab_run import LabRun
from tcptutor.course.goals.lab_view import LabView
from tcptutor.course.goals.terms import term
from tcptutor.course.goals.wanted import read_wanted
from tcptutor.run import Run

NUMBERS = ("rate", "time", "ratio", "size", "count", "number")


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[explore.goal]]`"""

    text: str
    """What is to be reached, a sentence."""
    when: Conditions
    """All of it has to hold of one run."""
    per: Literal["", "start"] = ""
    """`start`: each value is a plain number, the ratio to the same of the run with nothing changed."""


class TargetState(msgspec.Struct, frozen=True):
    """One target, and what a run has of it."""

    text: str
    reached: bool = False
    found: str = ""
    """What was measured, with units; empty before any run."""


class AskedTarget(NamedTuple):
    """A target, read."""

    target: Target
    conditions: tuple[Condition, ...]

    def state(self, run: LabView, start: LabView | None) -> TargetState:
        """What those runs have of it."""
        if self.target.per and start is None:
            return TargetState(self.target.text, found="run it as it was at first, to compare with")
        told, reached = [], True
        for each in self.conditions:
            value = each.term.value(run)
            if self.target.per and start is not None:
                value = _ratio(value, each.term.value(start))
            reached = reached and value is not None and each._replace(term=_given(each, value)).holds(run)
            told.append(_told(value, each.wanted.kind))
        return TargetState(self.target.text, reached, ", ".join(told))


def read_target(target: Target, hosts: tuple[str, ...]) -> AskedTarget | Problem:
    """The target, on a page whose lab has those hosts and switches; key and reason where no run can be judged by it."""
    conditions = []
    for name, value in flat(target.when):
        try:
            known = term(name, hosts)
            kind = "number" if target.per else known.kind
            if target.per and known.kind not in NUMBERS:
                return f"when.{name}", "is no number: nothing is relative to it"
            conditions.append(Condition(known, read_wanted(value, kind, known.choices)))
        except UsageError as error:
            return f"when.{name}", str(error)
    if not any(each.term.about_run for each in conditions):
        return "when", "asks nothing of the run: say what it should reach, such as run.throughput"
    return AskedTarget(target, tuple(conditions))


def view_of(run: Run) -> LabView:
    """A whole run, as goals look at it."""
    seen = LabRun.of(run)
    return LabView(seen.state, seen.state, run=seen)


def judge_run(targets: tuple[AskedTarget, ...], run: Run, start: Run | None) -> Iterator[TargetState]:
    """How each of them stands. `start` is the run with nothing changed, where one is there."""
    view = view_of(run)
    needed = start is not None and any(each.target.per for each in targets)
    first = view_of(start) if needed and start is not None else None
    yield from (each.state(view, first) for each in targets)


def _given(condition: Condition, value: Any) -> Any:
    """Its quantity with that value, whatever it is asked of."""
    return condition.term._replace(value=lambda _: value)


def _ratio(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other else None


def _told(value: Any, kind: str) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, tuple):
        return ", ".join(dict.fromkeys(str(each) for each in value))
    return units.rounded(value, kind) if kind in NUMBERS else str(value)
