"""Shell: hands-on work on the page's network, with goals ticked by the state of the kernel.

[shell]
name = "random-loss"             # the experiment that sets up the network; by default an unshaped one
set = { loss = "0 %" }           # overrides
pairs = 1                        # host pairs of a network without an experiment
hosts = ["h1", "h2", "s1"]       # hosts with a terminal, the first is open; by default all
order = "any"                    # or "sequence": each goal is due once its predecessors are ticked
fault = "small-bucket"           # the fault built in from the start, as on our pages
hints = ["…", "…"]

[[shell.command]]                # shown, to be typed by a key or copied
host = "s1"
run = "sudo tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms"

[[shell.goal]]
id = "delay"
text = "The path delays data by 20 ms"
# See "Quantities of goals"; their values are like "20 ms", ">= 5 MB" or "8 ms to 9 ms".
when = { path.delay = "20 ms" }
interface = "s1-eth2"            # the interface that must cause it
stays_ticked = true              # it stays ticked after the state changes
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import ClassVar, Literal

import msgspec

from tcptutor import spec
from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.activity import (
    NO_RUN,
    Activity,
    ActivityTable,
    Mark,
    MarkContext,
    NamedExperiment,
    Problem,
    Reference,
    Setting,
    Stage,
    hint_problems,
    is_sentence,
)
from tcptutor.course.goals.goal import Goal, ParsedGoal, read_goal
from tcptutor.course.goals.lab_view import ALGORITHM, LabView
from tcptutor.course.page_record import Given
from tcptutor.spec import Experiment, host_names
from tcptutor.wire.kernel_state import HostState, SessionState

MAX_GOALS = 8
_MOST_PAIRS = 4
_NARROW = 1.05
"""Ratio of bounds below which a measured figure meets them only by chance."""
_RATE, _DELAY = 1e8, 0.02
"""Typical rate (bit/s) and delay (s) students set on an unshaped path."""


class ShownCommand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Suggested command: `[[shell.command]]`."""

    host: str
    """Host to type it on."""
    run: str
    """Command line without a newline."""


class ShellActivity(Activity, frozen=True, kw_only=True):
    """Network to work on by hand. A response is the ids of all goals, reached at the same time.

    `course.goals.watch.GoalWatch` creates the response once all goals are ticked; students cannot type it.
    """

    table: ClassVar[str] = "shell"
    stage: ClassVar[Stage] = Stage.BY_HAND
    entry_name: ClassVar[str] = "goal"

    name: str
    """Full name, `module/experiment`; empty for an unshaped network."""
    experiment: Experiment
    """Initial setup of the lab."""
    hosts: tuple[str, ...]
    """Hosts with a terminal; the first is open."""
    goals: tuple[Goal, ...]
    commands: tuple[ShownCommand, ...] = ()
    in_order: bool = False
    """True if each goal is due only once all earlier goals are ticked."""
    hints: tuple[str, ...] = ()
    fault: str = ""
    """Fault for the student to find, a name of `TELLTALES`; empty for none. It is not part of `experiment`,
    which describes the intended network, nor of anything shown."""

    @property
    def listed(self) -> tuple[str, ...]:
        return tuple(goal.text for goal in self.goals)

    @property
    def entry_ids(self) -> tuple[str, ...]:
        return tuple(goal.id for goal in self.goals)

    @property
    def parsed_goals(self) -> tuple[ParsedGoal, ...]:
        """Parsed goals, for a `GoalWatch`. A loaded page has no unreadable goals."""
        read = (read_goal(goal, host_names(self.experiment.pairs)) for goal in self.goals)
        return tuple(goal for goal in read if isinstance(goal, ParsedGoal))

    @property
    def kernel_requirements(self) -> Experiment:
        """Experiment with the kernel requirements of this page: netem, tbf, fq, and the goals' values."""
        path, hosts = self.experiment.path, self.experiment.hosts
        asked = [each for goal in self.parsed_goals for each in goal.conditions]

        def most(name: str, own: float | None, usual: float) -> float:
            wanted = [each.requirement.low for each in asked if each.term.name == name]
            return max([own or usual, *(low for low in wanted if math.isfinite(low))])

        words = [word for each in asked if each.term.sysctl == ALGORITHM for word in each.requirement.words]
        return msgspec.structs.replace(
            self.experiment,
            path=msgspec.structs.replace(
                path, rate=most("path.rate", path.rate, _RATE), delay=most("path.delay", path.delay, _DELAY)
            ),
            hosts=msgspec.structs.replace(
                hosts,
                algorithms=tuple(dict.fromkeys([*self.experiment.congestion_controls, *words])),
                maxrate=hosts.maxrate or _RATE,
            ),
        )

    def contradiction(self) -> Problem | None:
        return next(self._contradictions(), None)

    def _contradictions(self) -> Iterator[Problem]:
        there = host_names(self.experiment.pairs)
        for place, host in enumerate(self.hosts, 1):
            if host not in there:
                yield _key("hosts", place, self.hosts), unknown("host", host, there)
        if self.fault and self.fault not in TELLTALES:
            yield "fault", unknown("trap", self.fault, TELLTALES)
        if not self.hosts:
            yield "hosts", "is empty: remove it to offer every host"
        for place, command in enumerate(self.commands, 1):
            key = _key("command", place, self.commands)
            if command.host not in self.hosts:
                yield f"{key}.host", unknown("host offered here", command.host, self.hosts)
            if not command.run.strip() or len(command.run.splitlines()) > 1:
                yield f"{key}.run", "must be a single command line"
        if not 1 <= len(self.goals) <= MAX_GOALS:
            yield "goal", f"{len(self.goals)} goals: a page has 1 to {MAX_GOALS}"
        ids = [goal.id for goal in self.goals]
        for place, goal in enumerate(self.goals, 1):
            key = _key("goal", place, self.goals)
            if not goal.id.strip() or ids.index(goal.id) < place - 1:
                yield f"{key}.id", f"{goal.id!r} is empty, or the id of another goal"
            read = read_goal(goal, there)
            if not isinstance(read, ParsedGoal):
                yield f"{key}.{read[0]}", read[1]

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if self.hints:
            yield from hint_problems(self.hints)
        for place, goal in enumerate(self.goals, 1):
            if not is_sentence(f"{goal.text.rstrip('.')}."):
                yield (
                    f"{_key('goal', place, self.goals)}.text",
                    "needs a sentence that states the goal",
                )
        yield from self._never_together()
        yield from self._too_easy_or_never()

    def _too_easy_or_never(self) -> Iterator[Problem]:
        """Yield the goals ticked from the start, and goals that only chance can tick."""
        # The defaults of the lab's kernel.
        usual = tuple(HostState(host, {ALGORITHM: "cubic"}) for host in host_names(self.experiment.pairs))
        first = SessionState(self.experiment, hosts=usual)
        # The effect of a fault is known only in the lab: tests/backends/test_traps.py checks it there.
        for place, asked in enumerate(self.parsed_goals, 1):
            key = f"{_key('goal', place, self.goals)}.when"
            if (
                not self.fault
                and not asked.about_run
                and not asked.unmet(LabView(first, first))
                and (place == 1 or not self.in_order)
            ):
                yield key, "already holds at the start: require a change"
            for each in asked.conditions:
                measured = each.term.about_run and each.term.kind in (
                    "rate",
                    "time",
                    "ratio",
                    "size",
                    "number",
                )
                if measured and each.requirement.high <= _NARROW * each.requirement.low:
                    name = f"{key}.{each.term.name}"
                    yield (
                        name,
                        f"{each.requirement.text} is almost never measured exactly: give a bound, or a range",
                    )

    def _never_together(self) -> Iterator[Problem]:
        """Yield the pairs of goals that exclude each other, so that the page can never be done."""
        for (_, one), (place, other) in combinations(enumerate(self.parsed_goals, 1), 2):
            if (
                one.goal.stays_ticked
                or (other.goal.stays_ticked and not self.in_order)
                or one.about_run != other.about_run
            ):
                continue
            for each in other.conditions:
                before = one.condition_on(each.term.name)
                if before and before.requirement.excludes(each.requirement):
                    reason = f"{each.term.name} contradicts the goal {one.goal.id!r}: set stays_ticked = true there"
                    yield f"{_key('goal', place, self.goals)}.when", reason

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=self.entry_ids, empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        if isinstance(given, str):
            raise UsageError("a goal cannot be typed: work on the lab's hosts to tick it")
        reached = set(self.entry_indexes(given, "goals"))
        if not reached:
            raise UsageError("no goal is reached yet: open the terminal and work on the network")
        left = len(self.goals) - len(reached)
        return Mark(correct=not left, feedback=f"{left} still to go." if left else "")


def _key(name: str, place: int, entries: tuple[object, ...]) -> str:
    return f"{name}[{place}]" if len(entries) > 1 else name


class ShellTable(ActivityTable, frozen=True, kw_only=True):
    """Front matter of hands-on work: `[shell]`."""

    table: ClassVar[str] = ShellActivity.table
    stage: ClassVar[Stage] = ShellActivity.stage

    goals: tuple[Goal, ...] = msgspec.field(name="goal")
    name: str = ""
    """Experiment that sets up the network; a network without limits by default."""
    set: dict[str, Setting] = msgspec.field(default_factory=dict)
    """Settings of this page only."""
    pairs: int = 1
    """Host pairs of a network without an experiment."""
    hosts: tuple[str, ...] | None = None
    """Hosts with a terminal; all by default."""
    commands: tuple[ShownCommand, ...] = msgspec.field(default=(), name="command")
    order: Literal["any", "sequence"] = "any"
    """Whether each goal waits for its predecessors."""
    hints: tuple[str, ...] = ()
    """A nudge, then the method."""
    fault: str = ""
    """Fault built into the network, for pages on finding it."""

    def activity(self, experiment: NamedExperiment) -> Activity:
        if self.name:
            name, built = experiment(self.name, self.set)
        else:
            name, built = (
                "",
                spec.build("by-hand", {"title": "by hand", "parameters": {}, "pairs": self._pairs}),
            )
        return ShellActivity(
            name=name,
            experiment=built,
            hosts=host_names(built.pairs) if self.hosts is None else self.hosts,
            goals=self.goals,
            commands=self.commands,
            in_order=self.order == "sequence",
            hints=self.hints,
            fault=self.fault,
        )

    @property
    def _pairs(self) -> int:
        return min(max(self.pairs, 1), _MOST_PAIRS)

    def contradiction(self) -> Problem | None:
        if self.set and not self.name:
            return "set", "needs an experiment: set name"
        if self.pairs != self._pairs:
            return "pairs", f"{self.pairs} is out of bounds: 1 to {_MOST_PAIRS}"
        if self.name and self.pairs != 1:
            return "pairs", "is fixed by the experiment: remove it"
        return None


TABLES = (ShellTable,)


TELLTALES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "capped-send-buffer": r"wmem|send(er's|ing)? buffer|\bcap(ped)?\b",
        "no-window-scaling": r"window.scal|wscale|scaling",
        "fixed-receive-buffer": r"rcvbuf|rmem|receive buffer|auto-?tun",
        "late-acks": r"way back|s2-eth1|\backs?\b|acknowledg|one side|revers",
        "lost-acks": r"way back|s2-eth1|\backs?\b|acknowledg|one side|revers",
        "small-bucket": r"bucket|burst",
        "short-buffer": r"\blimit|overflow|too (short|small)|no room",
        "narrow-hop": r"\bmtu\b|frame size|1400|black hole",
        "super-packets": r"offload|super-?packet|\b[tg]so\b|\bgro\b|64 KB",
        "netem-limit": r"\blimit|overflow|too (short|small)|no room|1000 packets",
        "cached-metrics": r"metrics|cache|remember|ssthresh|threshold|flush",
        "duplicate-address": r"duplicate|address|\barp\b|twice|neighbou?r",
    }.items()
}
"""Patterns by name of `agent.traps.TRAPS`; a test keeps the two in step, because the agent is not imported.
"""


def telltale(trap: str, text: str) -> str:
    """Return the first word in `text` that reveals `trap`, or an empty string."""
    found = TELLTALES[trap].search(text) if trap in TELLTALES else None
    return found[0] if found else ""
