"""A course as frozen data: modules of steps, each with prose and what the student does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar, overload

import msgspec

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course import personal
from tcptutor.course.activities.explore import ExploreActivity
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.activity import Activity
from tcptutor.course.claim import Claim, PageSetup
from tcptutor.course.marks import MarkScheme
from tcptutor.course.record import PageRecord
from tcptutor.spec import Experiment

A = TypeVar("A", bound=Activity)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One page: prose, and what the student does."""

    id: str
    """Unique in its module; the file's name without number and ending, such as `one-lossy-flow`."""
    title: str
    prose: str
    """Markdown."""
    activities: tuple[Activity, ...] = ()
    """In the order of the page."""
    after: str = ""
    """Markdown shown when the run is finished: what was to be seen, beside the published figure."""
    claims: tuple[Claim, ...] = ()
    """What the numbers are of that it states of runs."""
    setup: PageSetup | None = None
    """What the page runs, and what it sets for that; None for a page without a run."""
    variants: tuple[Step, ...] = ()
    """What other students of a course that grades have in its place: other settings, and what follows from them. None
    for a page on which all have the same."""
    own_as: str = ""
    """The page of the module with the same variants, drawn for both; empty for a page that is drawn by itself."""

    def own(self, module: str, identity: str) -> Step:
        """As the student of that identity has it in that module: one of its variants, a sweep with seeds of its own.
        This one for who is in no course that grades.
        """
        if not identity:
            return self
        number = personal.variant(identity, module, self.drawn_as, 1 + len(self.variants))
        step = (self, *self.variants)[number]
        if step.sweep is None:
            return step
        # The seeds of other runs follow one from the other, and are given when they are begun.
        swept = step.sweep.with_seed(personal.run_seed(identity, module, self.id))
        activities = tuple(swept if each is step.sweep else each for each in step.activities)
        return msgspec.structs.replace(step, activities=activities)

    @property
    def drawn_as(self) -> str:
        """The page by whose id its variant is drawn."""
        return self.own_as or self.id

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the student does here, by the tables of the lesson file: "predict", "experiment", "question"."""
        return tuple(dict.fromkeys(activity.table for activity in self.activities)) or ("read",)

    def of(self, kind: type[A]) -> tuple[A, ...]:
        """The activities of that kind."""
        return tuple(activity for activity in self.activities if isinstance(activity, kind))

    @property
    def experiment(self) -> RunActivity | None:
        """What is run here."""
        return next(iter(self.of(RunActivity)), None)

    @property
    def sweep(self) -> SweepActivity | None:
        """What is swept here; a page runs an experiment or sweeps one."""
        return next(iter(self.of(SweepActivity)), None)

    @property
    def explore(self) -> ExploreActivity | None:
        """The challenge that is set here."""
        return next(iter(self.of(ExploreActivity)), None)

    @property
    def shell(self) -> ShellActivity | None:
        """What is done here by hand."""
        return next(iter(self.of(ShellActivity)), None)

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """All that is run here: one, those of a sweep by the values of its axis, or none."""
        if self.sweep is not None:
            return self.sweep.experiments
        return (self.experiment.experiment,) if self.experiment else ()

    def asked_of(self, activity: Activity) -> Experiment | None:
        """What a prediction is about: of a sweep the run at the value that is asked for, else the first of all."""
        if self.sweep is not None and isinstance(activity, Predict) and activity.at in self.sweep.values:
            return self.sweep.experiments[self.sweep.values.index(activity.at)]
        return next(iter(self.experiments), None)

    def has_run(self, page: PageRecord) -> bool:
        """Whether what is run here went to its end: of a sweep all of it."""
        return self.sweep.is_done(page) if self.sweep else page.whole_runs > 0

    def is_done(self, page: PageRecord) -> bool:
        """Whether the page was on the screen and nothing is left to do of any activity."""
        return page.visited and all(activity.is_done(page) for activity in self.activities)


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson module: a folder `NN-slug`. Its steps and experiments may be read when they are first looked at."""

    id: str
    """The slug, such as `parallel-streams`."""
    number: int
    title: str
    objectives: tuple[str, ...]
    minutes: int
    sources: tuple[str, ...]
    steps: Sequence[Step]
    experiments: Mapping[str, Experiment]
    """By full name, `slug/name`, as their files have them."""
    extra: tuple[str, ...] = ()
    """Experiments that no step runs, kept for the command line; by their short names."""

    @property
    def step_ids(self) -> tuple[str, ...]:
        """Of its steps. Where these have not been read, by the names of their files, of which some may be damaged."""
        return getattr(self.steps, "ids", None) or tuple(step.id for step in self.steps)


class OwnSteps(Sequence[Step]):
    """The steps of a module as one student has them, each made when it is first asked for."""

    def __init__(self, module: Module, identity: str) -> None:
        self._module, self._identity = module, identity
        self._made: dict[int, Step] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the steps."""
        return self._module.step_ids

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Step]: ...
    def __getitem__(self, place: int | slice) -> Step | Sequence[Step]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        number = range(len(self))[place]
        if number not in self._made:
            self._made[number] = self._module.steps[number].own(self._module.id, self._identity)
        return self._made[number]

    def __len__(self) -> int:
        return len(self._module.steps)


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """All modules, in order."""

    title: str
    modules: tuple[Module, ...]
    root: Path | None = None
    """Its folder; None for a course that was not read from one."""
    marks: MarkScheme = MarkScheme()

    def own(self, identity: str) -> Course:
        """With the pages as the student of that identity has them."""
        if not identity:
            return self
        modules = tuple(
            msgspec.structs.replace(module, steps=OwnSteps(module, identity)) for module in self.modules
        )
        return msgspec.structs.replace(self, modules=modules)

    def part(self, modules: Sequence[str]) -> Course:
        """With those modules alone, by id; all of it without any. Raises UsageError for one that is not there."""
        there = [module.id for module in self.modules]
        for wanted in modules:
            if wanted not in there:
                raise UsageError(unknown("module", wanted, there))
        if not modules:
            return self
        left = tuple(each for each in self.modules if each.id in modules)
        title = self.title
        if len(left) < len(self.modules):
            title = f"{self.title}: {', '.join(each.title for each in left)}"
        return msgspec.structs.replace(self, title=title, modules=left)
