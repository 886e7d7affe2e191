"""Goals of a page: required states of the lab, or required results of a run made by hand.

A goal board is a frozen snapshot of the goals' states, for display and storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.activity import Problem, Setting
from tcptutor.course.goals.lab_view import GoalQuantity, LabView
from tcptutor.course.goals.requirement import Wanted, read_wanted
from tcptutor.course.goals.terms import term
from tcptutor.spec import interface_names


class NearMiss(msgspec.Struct, frozen=True):
    """Student's action that is almost right."""

    kind: str
    """Name of the slip, such as `acks-way`."""
    text: str
    """Effect of the action and how to correct it: a sentence or two, in one line."""


class GoalState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a goal."""

    id: str
    text: str
    ticked: bool = False
    due: bool = True
    """False while an ordered page still waits for earlier goals."""
    near: NearMiss | None = None
    """Near miss of a goal that is due and not ticked."""


class GoalBoard(msgspec.Struct, frozen=True, kw_only=True):
    """States of all goals of a page, in page order."""

    goals: tuple[GoalState, ...]
    printed: NearMiss | None = None
    """Explanation of the last error message a command printed; None once a later command succeeded."""

    @property
    def reached(self) -> tuple[int, ...]:
        """Indexes of the ticked goals."""
        return tuple(place for place, goal in enumerate(self.goals) if goal.ticked)

    @property
    def done(self) -> bool:
        """True if all goals are ticked."""
        return all(goal.ticked for goal in self.goals)


Conditions = dict[str, Setting | dict[str, Setting | dict[str, Setting]]]
"""Values by quantity; a dotted quantity may be nested tables, `path.delay` and `sysctl.h1.tcp_sack`."""


class Goal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Goal of a page: `[[shell.goal]]`."""

    id: str
    text: str
    """Sentence with the state or result to reach."""
    when: Conditions
    """Conditions that must hold at the same moment, or for the same run if any is about a run."""
    interface: str = ""
    """Interface that must cause the effect on the path; empty for any."""
    stays_ticked: bool = False
    """True if it stays ticked after the state changes."""


class Condition(NamedTuple):
    """Quantity and its required values."""

    term: GoalQuantity
    requirement: Wanted

    def holds(self, view: LabView) -> bool:
        """Return True if the condition holds; for several hosts, on each."""
        value = self.term.value(view)
        return (
            all(map(self.requirement.holds, value))
            if isinstance(value, tuple)
            else self.requirement.holds(value)
        )


class AskedGoal(NamedTuple):
    """Parsed goal."""

    goal: Goal
    conditions: tuple[Condition, ...]

    @property
    def about_run(self) -> bool:
        """True if the same run must satisfy every condition."""
        return any(each.term.about_run for each in self.conditions)

    @property
    def at_end(self) -> bool:
        """True if only a finished run can satisfy it."""
        return any(each.term.at_end for each in self.conditions)

    def condition_on(self, name: str) -> Condition | None:
        """Return the condition on that quantity, or None."""
        return next((each for each in self.conditions if each.term.name == name), None)

    def path_conditions(self) -> Iterator[tuple[str, Condition]]:
        """Yield the conditions on the path, by the quantity's own name: "delay"."""
        for each in self.conditions:
            area, _, name = each.term.name.partition(".")
            if area == "path":
                yield name, each

    def unmet(self, view: LabView) -> tuple[Condition, ...]:
        """Return the conditions that do not hold."""
        return tuple(each for each in self.conditions if not each.holds(view))


PLACED = ("delay", "jitter", "loss", "duplicate", "reorder", "rate", "queue")
"""Path quantities with a known interface."""


def flat(when: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield each quantity by its dotted name, with its value."""
    for key, value in when.items():
        name = f"{before}.{key}" if before else key
        if isinstance(value, dict):
            yield from flat(value, name)
        else:
            yield name, value


def read_goal(goal: Goal, hosts: tuple[str, ...]) -> AskedGoal | Problem:
    """Parse a goal for a lab with these hosts and switches; return key and reason if it is invalid."""
    conditions = []
    for name, value in flat(goal.when):
        try:
            known = term(name, hosts)
            conditions.append(Condition(known, read_wanted(value, known.kind, known.choices)))
        except UsageError as error:
            return f"when.{name}", str(error)
    if not conditions:
        return "when", "is empty: add a condition"
    if goal.interface:
        names = interface_names((len(hosts) - 2) // 2)
        if goal.interface not in names:
            return "interface", unknown("interface", goal.interface, names)
        if not any(each.term.name.partition(".")[2] in PLACED for each in conditions):
            return (
                "interface",
                f"has no effect without a condition on the path ({', '.join(PLACED)}): remove it",
            )
    return AskedGoal(goal, tuple(conditions))
