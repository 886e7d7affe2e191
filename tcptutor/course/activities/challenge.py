"""Challenge: a task to reach targets with the page's knobs, judged on the student's own runs.

[challenge]
prompt = "Fill the link without a queue."
name = "large-window"            # the experiment
set = { duration = "5 s" }       # its fixed settings, and the initial values of the knobs
par = 1                          # the fewest knobs that must change
solution = { window = "100 kB" } # not shown: tried by the linter and the tests
hints = ["…", "…"]
explanation = "…"                # shown once the targets are reached

[[challenge.knob]]
name = "window"                  # a parameter
low = "4 kB"                     # its bounds; or choices = ["reno", "bbr"]
high = "400 kB"

[[challenge.goal]]
text = "At least 95 % of the link is used"
when = { run.utilization = ">= 95 %" }  # see "Quantities of goals"
ratio_to = "start"               # values are ratios to the unchanged run

A response is stored like any other: the knobs' values as text, and as its value the number of changed knobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from tcptutor.base.errors import ContentError, UsageError
from tcptutor.base.key_names import key_name
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
    typed_text,
)
from tcptutor.course.goals.target import ParsedTarget, Target, TargetState, judge_run, read_target
from tcptutor.course.knob import Knob
from tcptutor.course.page_record import ActivityRecord, Given
from tcptutor.run import Run
from tcptutor.spec import Experiment, host_names

MAX_KNOBS, MAX_TARGETS = 5, 4
_PARTED, _SET = "; ", " = "


@dataclass(frozen=True)
class Variants:
    """Factory for the page's experiment with other settings; values in BDP follow them."""

    name: str
    settings: Mapping[str, Setting]
    make: NamedExperiment = field(compare=False)

    def __call__(self, values: Mapping[str, str]) -> Experiment:
        """Build the experiment with these settings.

        Raises:
            UsageError: The settings contradict each other.
        """
        try:
            return self.make(self.name, {**self.settings, **values})[1]
        except ContentError as error:
            # Drop file and key from the message: the settings come from the student.
            raise UsageError(str(error).rpartition(".set: ")[2]) from None


class ChallengeActivity(Activity, frozen=True, kw_only=True):
    """A challenge. A response is the knobs' values of a run, marked by that run."""

    table: ClassVar[str] = "challenge"
    stage: ClassVar[Stage] = Stage.RUN
    against_run: ClassVar[bool] = True
    compare_with: ClassVar[str] = ""
    model: ClassVar[str] = ""

    prompt: str
    name: str
    """Full name, `module/experiment`."""
    experiment: Experiment
    """With the initial values of the knobs."""
    variants: Variants
    knobs: tuple[Knob, ...]
    goals: tuple[Target, ...]
    par: int
    solution: dict[str, str]
    hints: tuple[str, ...] = ()
    explanation: str = ""

    @property
    def parsed_targets(self) -> tuple[ParsedTarget, ...]:
        """Parsed targets. A loaded page has no unreadable targets."""
        read = (read_target(goal, host_names(self.experiment.pairs)) for goal in self.goals)
        return tuple(each for each in read if isinstance(each, ParsedTarget))

    @property
    def needs_start_run(self) -> bool:
        """True if a run with the initial values is needed for comparison."""
        return any(goal.ratio_to for goal in self.goals)

    # Knobs

    @property
    def start(self) -> dict[str, str]:
        """Initial values of the knobs by name."""
        return self.values(self.experiment)

    def values(self, experiment: Experiment) -> dict[str, str]:
        """Return the knobs' values in `experiment` by name."""
        return {knob.name: knob.text(experiment) for knob in self.knobs}

    def changed_knobs(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return the `values` that differ from the initial values."""
        start = self.start
        return {name: value for name, value in values.items() if value != start.get(name, value)}

    def experiment_with(self, values: Mapping[str, str]) -> Experiment:
        """Return the experiment with these knob values.

        Raises:
            UsageError: The values contradict each other.
        """
        # Set every knob, because values in BDP would follow the others.
        return self.variants({**self.start, **values})

    def response_of(self, experiment: Experiment) -> str:
        """Return the response that a run of `experiment` represents."""
        return _PARTED.join(f"{name}{_SET}{value}" for name, value in self.values(experiment).items())

    def knobs_of(self, given: Given) -> dict[str, str]:
        """Return the knobs' values of a response; a missing knob has its initial value."""
        parts = (part.partition(_SET) for part in str(given).split(_PARTED))
        found = {name: value for name, _, value in parts}
        return {name: found.get(name, value) for name, value in self.start.items()}

    # Targets

    def judge(self, run: Run, start: Run | None = None) -> tuple[TargetState, ...]:
        """Judge each target on a complete run; causes cost as much as `analysis.report`.

        Args:
            run: Complete run with the student's knob values.
            start: The student's run with the initial values.
        """
        return tuple(judge_run(self.parsed_targets, run, start))

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        text, run = typed_text(given, self.response_of(self.experiment)), context.run
        if run is None or not run.complete:
            raise UsageError(f"a challenge is judged on a run: press {key_name('lesson.run')} to run it")
        if self.response_of(run.experiment) != text:
            raise UsageError(
                f"the latest run had other settings: press {key_name('lesson.run')} to run it with these"
            )
        if run.fidelity.status != "valid":
            why = next(iter(run.fidelity.reasons), "no reason given")
            raise UsageError(
                f"this run is {run.fidelity.status} and does not count: {why}: "
                f"press {key_name('lesson.run')} to run it again"
            )
        states = self.judge(run, context.start)
        left = sum(not state.reached for state in states)
        changes = len(self.changed_knobs(self.values(run.experiment)))
        return Mark(
            correct=not left, value=float(changes), feedback=f"{left} of {len(states)} to go." if left else ""
        )

    def describe_status(self, record: ActivityRecord) -> str:
        """Return "open", "reached with 3 changes, par is 2", or "reached at par: 2 changes"."""
        if record.right is None:
            return "open"
        changes = round(record.best if record.best is not None else record.right.value or 0)
        if changes <= self.par:
            return f"reached at par: {count_of(changes)}"
        return f"reached with {count_of(changes)}, par is {self.par}"

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        if context.run is None:
            return Reference(right=None, empty="")
        reached = all(state.reached for state in self.judge(context.run, context.start))
        return Reference(right=self.response_of(context.run.experiment) if reached else None, empty="")

    # Mistakes

    def contradiction(self) -> Problem | None:
        return next(self._contradictions(), None)

    def _contradictions(self) -> Iterator[Problem]:
        if not 1 <= len(self.knobs) <= MAX_KNOBS:
            yield "knob", f"{len(self.knobs)} knobs: a challenge has 1 to {MAX_KNOBS}"
        if not 1 <= len(self.goals) <= MAX_TARGETS:
            yield "goal", f"{len(self.goals)} goals: a challenge has 1 to {MAX_TARGETS}"
        names = [knob.name for knob in self.knobs]
        for place, knob in enumerate(self.knobs, 1):
            if names.index(knob.name) < place - 1:
                yield f"knob[{place}].name", f"duplicate knob {knob.name!r}"
            for key, reason in knob.problems(self.experiment):
                yield f"knob[{place}].{key}", reason
        for place, goal in enumerate(self.goals, 1):
            read = read_target(goal, host_names(self.experiment.pairs))
            if not isinstance(read, ParsedTarget):
                yield f"goal[{place}].{read[0]}", read[1]

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        for key, text in (("prompt", self.prompt), ("explanation", self.explanation)):
            if not is_sentence(text):
                yield key, "needs a sentence"
        for place, goal in enumerate(self.goals, 1):
            if not is_sentence(f"{goal.text.rstrip('.')}."):
                yield f"goal[{place}].text", "needs a sentence that states the target"
        yield from hint_problems(self.hints)
        yield from self._of_solution()

    def _of_solution(self) -> Iterator[Problem]:
        knobs, solved = {knob.name: knob for knob in self.knobs}, dict(self.start)
        for name, value in self.solution.items():
            if name not in knobs:
                yield f"solution.{name}", f"is not a knob here: the knobs are {', '.join(knobs)}"
                return
            try:
                solved[name] = knobs[name].read(value, self.experiment)
            except UsageError as error:
                yield f"solution.{name}", str(error)
                return
        changes = len(self.changed_knobs(solved))
        if changes != self.par or not changes:
            yield "par", f"is {self.par}, but the solution changes {count_of(changes, 'knob')}"
        try:
            self.experiment_with(solved)
        except UsageError as error:
            yield "solution", str(error)

    @property
    def solution_experiment(self) -> Experiment:
        """Experiment with the solution's knob values."""
        return self.with_solution(tuple(self.solution))

    def with_solution(self, names: tuple[str, ...]) -> Experiment:
        """Return the experiment with only these knobs set as in the solution."""
        knobs = {knob.name: knob for knob in self.knobs}
        return self.experiment_with(
            {name: knobs[name].read(self.solution[name], self.experiment) for name in names}
        )


def count_of(number: int, what: str = "change") -> str:
    """Return "1 change", "2 changes"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class ChallengeTable(ActivityTable, frozen=True, kw_only=True):
    """Front matter of a challenge: `[challenge]`."""

    table: ClassVar[str] = ChallengeActivity.table
    stage: ClassVar[Stage] = ChallengeActivity.stage

    prompt: str
    """Task, in a sentence."""
    name: str
    """Experiment of this module, or MODULE/NAME."""
    par: int
    """Fewest knobs that must change."""
    solution: dict[str, Setting]
    """Settings that reach the goals: never shown, tried by the linter."""
    knobs: tuple[Knob, ...] = msgspec.field(name="knob")
    goals: tuple[Target, ...] = msgspec.field(name="goal")
    set: dict[str, Setting] = msgspec.field(default_factory=dict)
    """Settings of this page, and first values of the knobs."""
    hints: tuple[str, ...] = ()
    """A nudge, then the method."""
    explanation: str = ""
    """Shown once the goals are reached."""

    def activity(self, experiment: NamedExperiment) -> Activity:
        name, built = experiment(self.name, self.set)
        return ChallengeActivity(
            prompt=self.prompt,
            name=name,
            experiment=built,
            variants=Variants(name, self.set, experiment),
            knobs=self.knobs,
            goals=self.goals,
            par=self.par,
            solution={key: str(value) for key, value in self.solution.items()},
            hints=self.hints,
            explanation=self.explanation,
        )


TABLES = (ChallengeTable,)
