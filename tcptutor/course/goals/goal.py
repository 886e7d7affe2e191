"""Goals of a page: required states of the lab, or required results of a run made by hand.

A goal board is a frozen snapshot of the goals' states, for display and storage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address
from typing import Any, NamedTuple

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError, UsageError, unknown
from tcptutor.course.activity import Problem, Setting
from tcptutor.course.goals.lab_view import GoalQuantity, LabView
from tcptutor.course.goals.terms import term
from tcptutor.spec import ALGORITHMS, interface_names
from tcptutor.spec.parameters import read_sysctl

_RELATIVE = 0.01
"""Relative tolerance of an exact value: the kernel rounds, and typos are larger."""
_LEAST = {"time": 1e-6, "rate": 1.0, "size": 0.5, "ratio": 1e-7}
"""Absolute tolerance around zero, in base units."""
_COMPARED = re.compile(r"(?P<how>>=|<=|>|<)\s*(?P<value>.+)")
_BETWEEN = re.compile(r"\sto\s")
NONE = "none"
"""Word for a quantity that must be absent, such as a rate."""


class Requirement(NamedTuple):
    """Required value, range, or set of words, built by `read_requirement`."""

    text: str
    """As in the lesson file."""
    kind: str
    low: float = -math.inf
    high: float = math.inf
    """Both bounds are included."""
    words: tuple[str, ...] = ()
    """Accepted names; `none` accepts an absent quantity."""

    @property
    def is_named(self) -> bool:
        """True if names are required."""
        return bool(self.words) and self.words != (NONE,)

    def holds(self, value: Any) -> bool:
        """Return True if `value`, in base units or a word, satisfies it; None is an absent quantity."""
        if value is None:
            return NONE in self.words
        if isinstance(value, str):
            return value in self.words
        return not self.words and self.low <= value <= self.high

    def excludes(self, other: Requirement) -> bool:
        """Return True if no value satisfies both."""
        if self.words or other.words:
            return not set(self.words) & set(other.words)
        return self.high < other.low or other.high < self.low


def read_requirement(value: object, kind: str, choices: tuple[str, ...] = ()) -> Requirement:
    """Parse the required value of a quantity of `kind`.

    Args:
        value: Value from the lesson file.
        kind: units.Kind, `algorithm`, `sysctl` or `address`.
        choices: Allowed names of a `name`.

    Raises:
        UsageError: The value is invalid.
    """
    if isinstance(value, list):
        if kind not in ("algorithm", "name") or not value:
            raise UsageError("must be one value, not a list: only names may be a list")
        words = tuple(word for each in value for word in read_requirement(each, kind, choices).words)
        return Requirement(" or ".join(words), kind, words=words)
    text = ("on" if value else "off") if isinstance(value, bool) else str(value).strip()
    if kind in ("sysctl", "algorithm", "name", "address"):
        return Requirement(text, kind, words=(_word(text, kind, choices),))
    return _bounds(text, kind)


def _word(text: str, kind: str, choices: tuple[str, ...]) -> str:
    if kind == "sysctl":
        try:
            return read_sysctl("it", text)
        except ParameterError as error:
            raise UsageError(str(error).removeprefix("it: ")) from None
    if kind == "address":
        try:
            return " ".join(str(IPv4Address(each)) for each in text.split())
        except ValueError:
            raise UsageError(
                f"{text!r} is not an address: write 10.0.0.2, and separate several with spaces"
            ) from None
    known, what = (ALGORITHMS, "congestion control") if kind == "algorithm" else (choices, "such value")
    if text not in known:
        raise UsageError(unknown(what, text, known))
    return text


def _bounds(text: str, kind: str) -> Requirement:
    if text == NONE:
        return Requirement(text, kind, words=(NONE,))
    if found := _COMPARED.fullmatch(text):
        bound, how = _number(found["value"], kind), found["how"]
        if how.startswith(">"):
            return Requirement(text, kind, low=bound if how == ">=" else math.nextafter(bound, math.inf))
        return Requirement(text, kind, high=bound if how == "<=" else math.nextafter(bound, -math.inf))
    if len(both := _BETWEEN.split(text, maxsplit=1)) == 2:
        low, high = (_number(each.strip(), kind) for each in both)
        if low >= high:
            raise UsageError(f"{text!r} is an empty range: write the lower bound first")
        return Requirement(text, kind, low, high)
    exact = _number(text, kind)
    slack = 0.0 if kind == "count" else max(abs(exact) * _RELATIVE, _LEAST.get(kind, 0.0))
    return Requirement(text, kind, exact - slack, exact + slack)


def _number(text: str, kind: str) -> float:
    try:
        return units.parse(text, kind)
    except UnitError as error:
        raise UsageError(f"{error}; a range is written '8 ms to 12 ms', a bound '>= 8 ms'") from None


class NearMiss(msgspec.Struct, frozen=True):
    """Student's action that is almost right."""

    kind: str
    """Name of the slip, such as `acks-way`."""
    text: str
    """Effect of the action and how to correct it: a sentence or two, without line breaks."""


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
    def reached_ids(self) -> tuple[str, ...]:
        """Ids of the ticked goals."""
        return tuple(goal.id for goal in self.goals if goal.ticked)

    @property
    def done(self) -> bool:
        """True if all goals are ticked."""
        return all(goal.ticked for goal in self.goals)


Conditions = dict[str, Setting | dict[str, Setting | dict[str, Setting]]]
"""Values by quantity; a dotted quantity may be nested tables, `path.delay` and `sysctl.h1.tcp_sack`."""


class Goal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Goal of a page: `[[shell.goal]]`."""

    id: str
    """Name of the goal on its page: stored work uses it."""
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
    requirement: Requirement

    def holds(self, view: LabView) -> bool:
        """Return True if the condition holds; for several hosts, on each."""
        value = self.term.value(view)
        return (
            all(map(self.requirement.holds, value))
            if isinstance(value, tuple)
            else self.requirement.holds(value)
        )


class ParsedGoal(NamedTuple):
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


def read_goal(goal: Goal, hosts: tuple[str, ...]) -> ParsedGoal | Problem:
    """Parse a goal for a lab with these hosts and switches; return key and reason if it is invalid."""
    conditions = []
    for name, value in flat(goal.when):
        try:
            known = term(name, hosts)
            conditions.append(Condition(known, read_requirement(value, known.kind, known.choices)))
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
    return ParsedGoal(goal, tuple(conditions))
