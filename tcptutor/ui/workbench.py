"""The student's own bench: an experiment's knobs, as they were left, and what is compared on it. Knows no widgets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tcptutor.base.errors import ParameterError, TutorError, UsageError
from tcptutor.course.experiments import Catalogue
from tcptutor.course.overrides import rebuilt, same_settings
from tcptutor.course.personal import SEEDS
from tcptutor.journal.benches import SavedBench
from tcptutor.spec import ALGORITHMS, PARAMETERS, Experiment
from tcptutor.spec.parameters import read, read_sysctl, sysctl_name
from tcptutor.spec.parts import bdp
from tcptutor.ui.knobs import GROUPS, SEED, SYSCTL, can_turn, turned
from tcptutor.ui.live import ComparisonRun, Live

PLACE = ("bench", "")
"""What stands for module and step in the journal of a run that was made here: no page has an empty name."""

MAX_COMPARISONS = 5
"""Earlier runs that are shown beside at most."""

_USUAL = "parallel-streams/random-loss"
_SYSCTL = re.compile(r"\s*(\S+?)\s*(?:=|\s)\s*(.+?)\s*")


@dataclass(frozen=True)
class Problem:
    """Why the settings are none of an experiment."""

    knob: str
    """Where it is told."""
    reason: str


class Workbench:
    """Settings over one of the course's experiments. What cannot be run is kept as it was typed, with its `problem`."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.settings: dict[str, str] = {}
        """What is set here, as it is typed; the rest is as in the experiment's file."""
        self.selected = next(iter(GROUPS["path"]))
        """The knob in hand."""
        self.problem: Problem | None = None
        self.invalid: frozenset[str] = frozenset()
        """The knobs whose values are to be corrected: that of `problem`, and others that say nothing by themselves."""
        self.saved_as = ""
        """The name that these settings were kept under, or come from; empty for none."""
        self.live: Live | None = None
        """The run that was made here last."""
        self.comparisons: tuple[ComparisonRun, ...] = ()
        """Earlier runs that are shown beside, at most MAX_COMPARISONS."""
        self._original: Experiment | None = None
        self._valid: Experiment | None = None
        self._started_from: Experiment | None = None

    # What it stands on

    @property
    def ready(self) -> bool:
        """Whether there is an experiment on it."""
        return self._valid is not None

    @property
    def original(self) -> Experiment:
        """The experiment as its file has it."""
        assert self._original is not None
        return self._original

    @property
    def experiment(self) -> Experiment:
        """What would be run; while there is a problem, what could be run last."""
        assert self._valid is not None
        return self._valid

    def begin(self) -> None:
        """With a path with random loss, or else the first experiment that there is. Raises UsageError without any."""
        try:
            self._load(_USUAL, {}, None, "bench")
        except TutorError:
            names = self._catalogue.names
            if not names:
                raise UsageError(
                    "no experiment of the course can be read: `tcptutor lint` says why"
                ) from None
            self._load(names[0], {}, None, "bench")

    def start_from(self, experiment: Experiment) -> None:
        """Begin with the settings of `experiment`, say of a run; where it did so last, the knobs stay as they are.

        Raises UsageError for one that the course cannot make again.
        """
        if self._started_from is not None and same_settings(self._started_from, experiment):
            return
        given = rebuilt(experiment, self._catalogue)
        if given is None:
            known = experiment.name in self._catalogue.names
            reason = f"the course's {experiment.name} has changed since" if known else "it was set up by hand"
            here = f"; the bench keeps {self.original.name}" if self.ready else ""
            raise UsageError(f"This network can't be taken to the bench: {reason}{here}.")
        self._load(experiment.name, given, experiment.seed, experiment.scale)
        self._started_from = experiment

    def recall(self, bench: SavedBench) -> None:
        """Begin with what was kept. Raises TutorError where the course has no such experiment or setting any more."""
        self._load(bench.experiment, dict(bench.settings), bench.seed, bench.scale)
        self.saved_as = bench.name

    def experiment_titles(self) -> list[tuple[str, str]]:
        """Full name and title of each experiment that it may begin from; reads them all."""
        return [(name, self._catalogue.build(name).title) for name in self._catalogue.names]

    def use_experiment(self, name: str) -> None:
        """Begin with the experiment of that name as its file has it. Raises TutorError."""
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
        """Those of a group; of the kernel's also each sysctl that is set."""
        names = GROUPS[group]
        if SYSCTL not in names:
            return names
        here = {**self.original.hosts.sysctls, **self.experiment.hosts.sysctls}
        return (*here, *(name for name in self.settings if sysctl_name(name) and name not in here), *names)

    @property
    def group(self) -> str:
        """The one that the knob in hand stands in."""
        return next((group for group in GROUPS if self.selected in self.knobs(group)), next(iter(GROUPS)))

    def move(self, by: int) -> None:
        """To the knob so many further on, over the ends of groups."""
        all_of_them = [name for group in GROUPS for name in self.knobs(group)]
        at = all_of_them.index(self.selected) if self.selected in all_of_them else 0
        self.selected = all_of_them[(at + by) % len(all_of_them)]

    def move_group(self, by: int) -> None:
        """To the first knob of the group so many further on."""
        groups = list(GROUPS)
        self.selected = self.knobs(groups[(groups.index(self.group) + by) % len(groups)])[0]

    def text(self, knob: str) -> str:
        """Its value as it is typed."""
        if knob == SYSCTL:
            return ""
        if knob in self.settings:
            return self.settings[knob]
        return _text(self.experiment, knob)

    def original_text(self, knob: str) -> str:
        """Its value in the experiment's file."""
        return _text(self.original, knob) or "as the kernel has it"

    def is_changed(self, knob: str) -> bool:
        """Whether it is set here, and no longer follows the experiment's file."""
        return knob in self.settings

    def set(self, knob: str, text: str) -> None:
        """To what was typed; `problem` says why that is not to be run."""
        text = text.strip()
        if knob == SYSCTL:
            self._set_sysctl(text)
        elif not text:
            self.reset(knob)
        else:
            self._try({**self.settings, knob: text}, knob)

    def turn(self, knob: str, by: int, algorithms: tuple[str, ...] = ()) -> bool:
        """One step on or back from what could be run last; False where it has no step there."""
        if knob == SEED:
            self._try({**self.settings, SEED: str((self.experiment.seed + by) % SEEDS)}, knob)
            self._reset_if_unchanged(knob)
            return True
        known = PARAMETERS.get(knob)
        if known is None or not can_turn(known):
            return False
        value = known.of(self.experiment)
        names = tuple(name for name in ALGORITHMS if name in algorithms) or ALGORITHMS
        there = turned(known, value, by, names)
        wrong = self.problem is not None and knob in self.settings
        if there == value and not wrong:
            return False
        self._try({**self.settings, knob: known.text(there)}, knob)
        self._reset_if_unchanged(knob)
        return True

    def reset(self, knob: str) -> None:
        """As the experiment's file has it."""
        self._try({name: text for name, text in self.settings.items() if name != knob}, knob)

    def reset_all(self) -> None:
        """Every knob as the experiment's file has it."""
        self._try({}, self.selected)

    def _reset_if_unchanged(self, knob: str) -> None:
        """No longer set it where that changes nothing."""
        if self.problem is None:
            there, with_it = dict(self.settings), self.experiment
            self.reset(knob)
            if self.experiment != with_it:
                self._try(there, knob)

    def _set_sysctl(self, text: str) -> None:
        match = _SYSCTL.fullmatch(text)
        name = sysctl_name(match[1]) if match else None
        if not text:
            self._try(self.settings, SYSCTL)
        elif match is None or name is None:
            self.problem = Problem(SYSCTL, f"{text!r} is no sysctl and value: write one like tcp_sack=0")
            self.invalid = frozenset({SYSCTL})
        else:
            self._try({**self.settings, name: match[2]}, name)
            self.selected = name

    def _try(self, settings: dict[str, str], knob: str) -> None:
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
        """Those of the settings whose text alone is none of their kind, or out of bounds."""
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

    # As a command, and kept

    @property
    def command(self) -> str:
        """The line that runs the same without the app; of settings with a problem, it says the same of them."""
        given = [
            f"{name}={_without_blanks(name, text)}" for name, text in self.settings.items() if name != SEED
        ]
        words = ["tcptutor", "run", self.original.name]
        words += ["--scale", self.original.scale] if self.original.scale != "bench" else []
        words += [word for each in given for word in ("--set", each)]
        return shlex.join([*words, "--seed", str(self.experiment.seed)])

    def keep(self, name: str) -> SavedBench:
        """These settings under a name, with the run that was made of them.

        Raises UsageError while there is a problem.
        """
        if self.problem is not None:
            raise UsageError(f"nothing is kept: {self.problem.reason}")
        own_run = self.live is not None and same_settings(self.live.run.experiment, self.experiment)
        return SavedBench(
            name=name.strip(),
            experiment=self.original.name,
            settings={each: text for each, text in self.settings.items() if each != SEED},
            seed=self.experiment.seed,
            scale=self.original.scale,
            run=self.live.run.id if own_run and self.live else "",
        )

    # Earlier runs beside it

    def add_comparison(self, run: ComparisonRun) -> bool:
        """Show it beside; False where MAX_COMPARISONS are there already."""
        if len(self.comparisons) >= MAX_COMPARISONS:
            return False
        self.comparisons = (*self.comparisons, run)
        return True

    def is_compared(self, id: str) -> bool:
        """Whether the run of that id is shown beside."""
        return any(run.id == id for run in self.comparisons)

    def remove_comparison(self, id: str) -> None:
        """Show it no longer."""
        self.comparisons = tuple(run for run in self.comparisons if run.id != id)


def _text(experiment: Experiment, knob: str) -> str:
    if knob == SEED:
        return str(experiment.seed)
    known = PARAMETERS.get(knob)
    return known.text(known.of(experiment)) if known else experiment.hosts.sysctls.get(knob, "")


def _without_blanks(name: str, text: str) -> str:
    """Without blanks where they say nothing, so that a shell needs no quotes."""
    known = PARAMETERS.get(name)
    return text if known is None or known.kind == "changes" else text.replace(" ", "")


def _knob_named_in(reason: str, knob: str) -> str:
    """The knob that an error names first, else the one that was turned."""
    first = reason.partition(":")[0]
    return first if first in PARAMETERS or first == SEED else knob
