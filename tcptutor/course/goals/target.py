"""Targets of a challenge, in the quantities of goals, judged after a run.

A target may be relative to the student's run with the page's initial settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from tcptutor.base import sizes
from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Problem
from tcptutor.course.goals.goal import Condition, Conditions, flat, read_requirement
from tcptutor.course.goals.lab_view import LabRun, LabView
from tcptutor.course.goals.terms import term
from tcptutor.run import Run

NUMBERS = ("rate", "time", "ratio", "size", "count", "number")


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Target of a challenge: `[[challenge.goal]]`."""

    text: str
    """Sentence with the result to reach."""
    when: Conditions
    """Conditions that the same run must satisfy."""
    ratio_to: Literal["", "start"] = ""
    """With `start`, values are ratios to the run with the initial settings."""


class TargetState(msgspec.Struct, frozen=True):
    """A target, judged on a run."""

    text: str
    reached: bool = False
    found: str = ""
    """Measured values with units; empty before any run."""


class ParsedTarget(NamedTuple):
    """Parsed target."""

    target: Target
    conditions: tuple[Condition, ...]

    def state(self, run: LabView, start: LabView | None) -> TargetState:
        """Judge the target on a run, and on the run with the initial settings."""
        if self.target.ratio_to and start is None:
            return TargetState(self.target.text, found="needs a run with nothing changed to compare with")
        values, reached = [], True
        for each in self.conditions:
            value = each.term.value(run)
            if self.target.ratio_to and start is not None:
                value = _ratio(value, each.term.value(start))
            reached = (
                reached and value is not None and each._replace(term=_with_value(each, value)).holds(run)
            )
            values.append(_written(value, each.requirement.kind))
        return TargetState(self.target.text, reached, ", ".join(values))


def read_target(target: Target, hosts: tuple[str, ...]) -> ParsedTarget | Problem:
    """Parse a target for a lab with these hosts and switches; return key and reason if it is invalid."""
    conditions = []
    for name, value in flat(target.when):
        try:
            known = term(name, hosts)
            kind = "number" if target.ratio_to else known.kind
            if target.ratio_to and known.kind not in NUMBERS:
                return f"when.{name}", "is not a number, so it cannot be a ratio"
            conditions.append(Condition(known, read_requirement(value, kind, known.choices)))
        except UsageError as error:
            return f"when.{name}", str(error)
    if not any(each.term.about_run for each in conditions):
        return "when", "has no condition on the run: add one, such as run.throughput"
    return ParsedTarget(target, tuple(conditions))


def view_of(run: Run) -> LabView:
    """Return a complete run as goals see it."""
    seen = LabRun.from_run(run)
    return LabView(seen.state, seen.state, run=seen)


def judge_run(targets: tuple[ParsedTarget, ...], run: Run, start: Run | None) -> Iterator[TargetState]:
    """Judge each target on `run`, and on the `start` run with the initial settings if available."""
    view = view_of(run)
    needed = start is not None and any(each.target.ratio_to for each in targets)
    first = view_of(start) if needed and start is not None else None
    yield from (each.state(view, first) for each in targets)


def _with_value(condition: Condition, value: Any) -> Any:
    """Return the condition's quantity with a fixed value."""
    return condition.term._replace(value=lambda _: value)


def _ratio(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other else None


def _written(value: Any, kind: str) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, tuple):
        return ", ".join(dict.fromkeys(str(each) for each in value))
    return sizes.rounded(value, kind) if kind in NUMBERS else str(value)
