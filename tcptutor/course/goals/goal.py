"""Goals as a page has them: what should be true of the lab, or of a run that was made there by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.activity import Problem, Setting
from tcptutor.course.goals.interfaces import chain, made
from tcptutor.course.goals.lab_view import LabView
from tcptutor.course.goals.quantity import GoalQuantity
from tcptutor.course.goals.terms import term
from tcptutor.course.goals.wanted import Wanted, read_wanted
from tcptutor.spec import interface_names

Conditions = dict[str, Setting | dict[str, Setting | dict[str, Setting]]]
"""Values by quantity; a quantity of several words may be tables in tables, `path.delay` and `sysctl.h1.tcp_sack`."""


class Goal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[shell.goal]]`"""

    id: str
    text: str
    """What is to be reached, a sentence."""
    when: Conditions
    """All of it has to hold: at one moment, or of one run where something of a run is asked."""
    on: str = ""
    """The interface that has to do what is asked of the path; empty for any that has that effect."""
    once: bool = False
    """Whether it stays reached when its state is left again."""


class Condition(NamedTuple):
    """A quantity, and what is asked of it."""

    term: GoalQuantity
    wanted: Wanted

    def holds(self, view: LabView) -> bool:
        """Whether that is so; of several hosts on each."""
        value = self.term.value(view)
        return all(map(self.wanted.holds, value)) if isinstance(value, tuple) else self.wanted.holds(value)


class AskedGoal(NamedTuple):
    """A goal, read."""

    goal: Goal
    conditions: tuple[Condition, ...]

    @property
    def about_run(self) -> bool:
        """Whether one run has to show all of it."""
        return any(each.term.about_run for each in self.conditions)

    @property
    def at_end(self) -> bool:
        """Whether only a run that has ended can show it."""
        return any(each.term.at_end for each in self.conditions)

    def asks(self, name: str) -> Condition | None:
        """The condition on that quantity."""
        return next((each for each in self.conditions if each.term.name == name), None)

    def of_path(self) -> Iterator[tuple[str, Condition]]:
        """Conditions on the path, by the quantities' own names: "delay"."""
        for each in self.conditions:
            area, _, name = each.term.name.partition(".")
            if area == "path":
                yield name, each

    def unmet(self, view: LabView) -> tuple[Condition, ...]:
        """Those that do not hold."""
        return tuple(each for each in self.conditions if not each.holds(view))

    def is_placed(self, view: LabView) -> bool:
        """Whether what is asked of the path is done where the goal wants it."""
        return not self.goal.on or all(
            any(map(each.wanted.holds, made(chain(view.state, self.goal.on), name)))
            for name, each in self.of_path()
            if name in PLACED and each.wanted.low > 0
        )


PLACED = ("delay", "jitter", "loss", "duplicate", "reorder", "rate", "queue")
"""Quantities of the path of which it is told which interface makes them."""


def flat(when: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Setting]]:
    """Each quantity by its whole name, with its value."""
    for key, value in when.items():
        name = f"{before}.{key}" if before else key
        if isinstance(value, dict):
            yield from flat(value, name)
        else:
            yield name, value


def read_goal(goal: Goal, hosts: tuple[str, ...]) -> AskedGoal | Problem:
    """The goal in a lab with those hosts and switches; key and reason where it cannot be judged."""
    conditions = []
    for name, value in flat(goal.when):
        try:
            known = term(name, hosts)
            conditions.append(Condition(known, read_wanted(value, known.kind, known.choices)))
        except UsageError as error:
            return f"when.{name}", str(error)
    if not conditions:
        return "when", "is empty: say what should be true"
    if goal.on:
        names = interface_names((len(hosts) - 2) // 2)
        if goal.on not in names:
            return "on", unknown("interface", goal.on, names)
        if not any(each.term.name.partition(".")[2] in PLACED for each in conditions):
            return "on", f"nothing here is asked of the path ({', '.join(PLACED)}): leave it out"
    return AskedGoal(goal, tuple(conditions))
