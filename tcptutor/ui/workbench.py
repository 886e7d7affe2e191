"""State of the student's bench: knobs and compared runs. Knows no widgets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tcptutor.base.errors import ParameterError, TutorError, UsageError
from tcptutor.course.experiments import Catalogue, rebuilt, same_settings
from tcptutor.course.personal import SEEDS
from tcptutor.journal.saved import SavedBench
from tcptutor.spec import ALGORITHMS, PARAMETERS, Experiment
from tcptutor.spec.frame_sizes import bdp
from tcptutor.spec.parameters import read, read_sysctl, sysctl_name
from tcptutor.study.live import ComparisonRun, Live
from tcptutor.ui.knobs import GROUPS, SEED, SYSCTL, can_turn, turn_value

PLACE = ("bench", "")
"""Module and step in the journal for runs from the bench. No page has an empty name."""

MAX_COMPARISONS = 5
"""Maximum number of comparison runs."""

_DEFAULT_EXPERIMENT = "parallel-streams/random-loss"
_SYSCTL = re.compile(r"\s*(\S+?)\s*(?:=|\s)\s*(.+?)\s*")


@dataclass(frozen=True)
class Problem:
    """Reason why the current settings cannot be run."""

    knob: str
    """The knob that shows the reason."""
    reason: str


class Workbench:
    """Settings on top of an experiment of the course. Invalid input stays as typed and sets `problem`."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.settings: dict[str, str] = {}
        """Changed settings as typed; all others come from the experiment's file."""
        self.selected = next(iter(GROUPS["path"]))
        self.problem: Problem | None = None
        self.invalid: frozenset[str] = frozenset()
        """Knobs with invalid values: that of `problem` and any other that cannot be read."""
        self.saved_as = ""
        """Name under which the settings are saved; empty if they are not."""
        self.live: Live | None = None
        self.comparisons: tuple[ComparisonRun, ...] = ()
        """Earlier runs to draw for comparison, at most MAX_COMPARISONS."""
        self._original: Experiment | None = None
        self._valid: Experiment | None = None
        self._started_from: Experiment | None = None

    # Experiment

    @property
    def ready(self) -> bool:
        """True once an experiment is loaded."""
        return self._valid is not None

    @property
    def original(self) -> Experiment:
        """The experiment as in its file."""
        assert self._original is not None
        return self._original

    @property
    def experiment(self) -> Experiment:
        """The current experiment; if the settings are invalid, the last valid experiment."""
        assert self._valid is not None
        return self._valid

    def begin(self) -> None:
        """Load a path with random loss, or the first experiment available.

        Raises:
            UsageError: if the course has no readable experiment.
        """
        try:
            self._load(_DEFAULT_EXPERIMENT, {}, None, "bench")
        except TutorError:
            names = self._catalogue.names
            if not names:
                raise UsageError(
                    "no experiment of the course can be read: `tcptutor lint` shows the errors"
                ) from None
            self._load(names[0], {}, None, "bench")

    def start_from(self, experiment: Experiment) -> None:
        """Load the settings of `experiment`, such as a run's, unless it was the last experiment loaded.

        Raises:
            UsageError: if the course cannot rebuild the experiment.
        """
        if self._started_from is not None and same_settings(self._started_from, experiment):
            return
        given = rebuilt(experiment, self._catalogue)
        if given is None:
            known = experiment.name in self._catalogue.names
            reason = f"the course's {experiment.name} has changed since" if known else "it was set up by hand"
            here = f"; the bench still has {self.original.name}" if self.ready else ""
            raise UsageError(f"This network can't be opened on the bench: {reason}{here}.")
        self._load(experiment.name, given, experiment.seed, experiment.scale)
        self._started_from = experiment

    def recall(self, bench: SavedBench) -> None:
        """Load saved settings.

        Raises:
            TutorError: if the course no longer has the experiment or a setting.
        """
        self._load(bench.experiment, dict(bench.settings), bench.seed, bench.scale)
        self.saved_as = bench.name

    def experiment_titles(self) -> list[tuple[str, str]]:
        """Return (name, title) of every experiment of the course. Reads all of them."""
        return [(name, self._catalogue.build(name).title) for name in self._catalogue.names]

    def use_experiment(self, name: str) -> None:
        """Load an experiment as in its file.

        Raises:
            TutorError: if it cannot be read.
        """
        self._load(name, {}, None, "bench")

    def _load(self, name: str, settings: dict[str, str], seed: int | None, scale: str) -> None:
        own = self._catalogue.build(name, scale=scale)
        made = self._catalogue.build(name, settings, seed, scale)
        if made.seed != own.seed:
            settings = {**settings, SEED: str(made.seed)}
        self._original, self._valid, self.settings = own, made, settings
        self.problem, self.invalid, self.saved_as, self._started_from = None, frozenset(), "", None

    # Knobs

    def knobs(self, group: str) -> tuple[str, ...]:
        """Return the knobs of a group; the kernel's group includes each sysctl that is set."""
        names = GROUPS[group]
        if SYSCTL not in names:
            return names
        here = {**self.original.hosts.sysctls, **self.experiment.hosts.sysctls}
        return (*here, *(name for name in self.settings if sysctl_name(name) and name not in here), *names)

    @property
    def group(self) -> str:
        """The group of the selected knob."""
        return next((group for group in GROUPS if self.selected in self.knobs(group)), next(iter(GROUPS)))

    def move(self, by: int) -> None:
        """Move the selection by `by` knobs, across groups."""
        all_of_them = [name for group in GROUPS for name in self.knobs(group)]
        at = all_of_them.index(self.selected) if self.selected in all_of_them else 0
        self.selected = all_of_them[(at + by) % len(all_of_them)]

    def move_group(self, by: int) -> None:
        """Select the first knob of the group `by` groups away."""
        groups = list(GROUPS)
        self.selected = self.knobs(groups[(groups.index(self.group) + by) % len(groups)])[0]

    def text(self, knob: str) -> str:
        """Return the value of a knob as typed."""
        if knob == SYSCTL:
            return ""
        if knob in self.settings:
            return self.settings[knob]
        return _value_text(self.experiment, knob)

    def original_text(self, knob: str) -> str:
        """Return the value of a knob in the experiment's file."""
        return _value_text(self.original, knob) or "as the kernel has it"

    def is_changed(self, knob: str) -> bool:
        """Return True if the knob is set here."""
        return knob in self.settings

    def set(self, knob: str, text: str) -> None:
        """Set a knob to typed text. Invalid text sets `problem`."""
        text = text.strip()
        if knob == SYSCTL:
            self._set_sysctl(text)
        elif not text:
            self.reset(knob)
        else:
            self._apply({**self.settings, knob: text}, knob)

    def turn(self, knob: str, by: int, algorithms: tuple[str, ...] = ()) -> bool:
        """Turn a knob a step from its last valid value; return False at the end of its range."""
        if knob == SEED:
            self._apply({**self.settings, SEED: str((self.experiment.seed + by) % SEEDS)}, knob)
            self._reset_if_unchanged(knob)
            return True
        known = PARAMETERS.get(knob)
        if known is None or not can_turn(known):
            return False
        value = known.of(self.experiment)
        names = tuple(name for name in ALGORITHMS if name in algorithms) or ALGORITHMS
        there = turn_value(known, value, by, names)
        wrong = self.problem is not None and knob in self.settings
        if there == value and not wrong:
            return False
        self._apply({**self.settings, knob: known.text(there)}, knob)
        self._reset_if_unchanged(knob)
        return True

    def reset(self, knob: str) -> None:
        """Reset a knob to the experiment's file."""
        self._apply({name: text for name, text in self.settings.items() if name != knob}, knob)

    def reset_all(self) -> None:
        """Reset every knob to the experiment's file."""
        self._apply({}, self.selected)

    def _reset_if_unchanged(self, knob: str) -> None:
        if self.problem is None:
            there, with_it = dict(self.settings), self.experiment
            self.reset(knob)
            if self.experiment != with_it:
                self._apply(there, knob)

    def _set_sysctl(self, text: str) -> None:
        match = _SYSCTL.fullmatch(text)
        name = sysctl_name(match[1]) if match else None
        if not text:
            self._apply(self.settings, SYSCTL)
        elif match is None or name is None:
            self.problem = Problem(SYSCTL, f"{text!r} is no sysctl and value: write one like tcp_sack=0")
            self.invalid = frozenset({SYSCTL})
        else:
            self._apply({**self.settings, name: match[2]}, name)
            self.selected = name

    def _apply(self, settings: dict[str, str], knob: str) -> None:
        self.settings = settings
        self.saved_as = ""
        try:
            seed = self._seed(settings)
            given = {name: text for name, text in settings.items() if name != SEED}
            self._valid = self._catalogue.build(self.original.name, given, seed, self.original.scale)
        except TutorError as error:
            self.problem = Problem(_knob_named_in(str(error), knob), str(error))
            self.invalid = frozenset({self.problem.knob, *self._invalid_knobs(settings)})
            return
        self.problem, self.invalid = None, frozenset()

    def _invalid_knobs(self, settings: dict[str, str]) -> Iterator[str]:
        """Yield the settings that cannot be read on their own."""
        path = self.experiment.path
        for name, text in settings.items():
            try:
                if name == SEED:
                    self._seed(settings)
                elif sysctl_name(name):
                    read_sysctl(name, text)
                else:
                    read(name, text, bdp(path.rate, path.delay))
            except TutorError:
                yield name

    def _seed(self, settings: dict[str, str]) -> int | None:
        text = settings.get(SEED)
        if text is None:
            return self.original.seed
        if not text.isdecimal() or int(text) >= SEEDS:
            raise ParameterError(f"seed: {text!r} is out of bounds: a whole number from 0 to {SEEDS - 1}")
        return int(text)

    # Command and saving

    @property
    def command(self) -> str:
        """The equivalent command. With invalid settings, it fails with the same error."""
        given = [
            f"{name}={_without_blanks(name, text)}" for name, text in self.settings.items() if name != SEED
        ]
        words = ["tcptutor", "run", self.original.name]
        words += ["--scale", self.original.scale] if self.original.scale != "bench" else []
        words += [word for each in given for word in ("--set", each)]
        return shlex.join([*words, "--seed", str(self.experiment.seed)])

    def saved_bench(self, name: str) -> SavedBench:
        """Return the settings under a name, with the run made from them.

        Raises:
            UsageError: if the settings are invalid.
        """
        if self.problem is not None:
            raise UsageError(f"not saved: {self.problem.reason}")
        own_run = self.live is not None and same_settings(self.live.run.experiment, self.experiment)
        return SavedBench(
            name=name.strip(),
            experiment=self.original.name,
            settings={each: text for each, text in self.settings.items() if each != SEED},
            seed=self.experiment.seed,
            scale=self.original.scale,
            run=self.live.run.id if own_run and self.live else "",
        )

    # Comparison runs

    def add_comparison(self, run: ComparisonRun) -> bool:
        """Add a run; return False beyond MAX_COMPARISONS."""
        if len(self.comparisons) >= MAX_COMPARISONS:
            return False
        self.comparisons = (*self.comparisons, run)
        return True

    def is_compared(self, id: str) -> bool:
        """Return True if the run is drawn for comparison."""
        return any(run.id == id for run in self.comparisons)

    def remove_comparison(self, id: str) -> None:
        """Remove a run from the comparison."""
        self.comparisons = tuple(run for run in self.comparisons if run.id != id)


def _value_text(experiment: Experiment, knob: str) -> str:
    if knob == SEED:
        return str(experiment.seed)
    known = PARAMETERS.get(knob)
    return known.text(known.of(experiment)) if known else experiment.hosts.sysctls.get(knob, "")


def _without_blanks(name: str, text: str) -> str:
    """Remove blanks, so that a shell needs no quotes."""
    known = PARAMETERS.get(name)
    return text if known is None or known.kind in ("changes", "trace") else text.replace(" ", "")


def _knob_named_in(reason: str, knob: str) -> str:
    first = reason.partition(":")[0]
    return first if first in PARAMETERS or first == SEED else knob
