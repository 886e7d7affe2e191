"""A page of a module as frozen data: prose and activities."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tcptutor.course import personal
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.claim import Claim, PageSetup
from tcptutor.course.page_record import PageRecord
from tcptutor.course.paths import CoursePath, PagePath, is_on
from tcptutor.figures.figure import Figure
from tcptutor.spec import Experiment

A = TypeVar("A", bound=Activity)

OTHERS = "What others measured"
"""Heading of a page's published figures."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A page: prose, and the student's activities."""

    id: str
    """File name without number and suffix, such as `one-lossy-flow`; unique in the module."""
    title: str
    """Title of the page."""
    subtitle: str = ""
    """A line below the title."""
    path: PagePath = "essential"
    """Whether the page is on the short path."""
    teaser: str = ""
    """On a deeper page, completes the line that offers it: "Deeper: why autotuning stops at half, 5 min"."""
    idea: str = ""
    """Main idea of the page, in a sentence or two of at most 160 characters; required by the linter. The notebook,
    the reference and the text mode show it once the page is finished, and a lecture ends with it."""
    formula: str = ""
    """Model of `tcptutor model` that the page covers; empty without a model."""
    prose: str
    """Markdown."""
    activities: tuple[Activity, ...] = ()
    """In page order."""
    after_run: str = ""
    """Markdown shown after the run."""
    published: str = ""
    """Markdown on published measurements, folded: after the run, or with the prose of a page without a run."""
    figures: tuple[Figure, ...] = ()
    """Figures that the texts place."""
    claims: tuple[Claim, ...] = ()
    """Checkable definitions of the measured numbers in the text."""
    setup: PageSetup | None = None
    """Experiment and settings of the page; None for a page without a run."""
    variants: tuple[Step, ...] = ()
    """Versions of the page with different settings, for students of a graded course; empty without variants."""
    same_variant_as: str = ""
    """Page of the module whose variant number this page shares; empty for a page with its own draw."""

    def for_student(self, module: str, identity: str) -> Step:
        """Return the page that the student with `identity` sees.

        In a graded course that is a variant, with the student's own seeds for a sweep. An empty identity
        returns the page unchanged.
        """
        if not identity:
            return self
        number = personal.variant(identity, module, self.variant_page, 1 + len(self.variants))
        step = (self, *self.variants)[number]
        if step.sweep is None:
            return step
        # Other runs receive consecutive seeds when they start.
        swept = step.sweep.with_seed(personal.run_seed(identity, module, self.id))
        activities = tuple(swept if each is step.sweep else each for each in step.activities)
        return msgspec.structs.replace(step, activities=activities)

    @property
    def variant_page(self) -> str:
        """Page id from which the variant is drawn."""
        return self.same_variant_as or self.id

    def is_on(self, path: CoursePath) -> bool:
        """Return True if the path includes the page."""
        return is_on(self.path, path)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of activities, by lesson-file table: "predict", "experiment", "question"."""
        return tuple(dict.fromkeys(activity.table for activity in self.activities)) or ("read",)

    def activities_of(self, kind: type[A]) -> tuple[A, ...]:
        """Return the activities of that kind."""
        return tuple(activity for activity in self.activities if isinstance(activity, kind))

    @property
    def experiment(self) -> RunActivity | None:
        """Experiment to run on this page."""
        return next(iter(self.activities_of(RunActivity)), None)

    @property
    def sweep(self) -> SweepActivity | None:
        """Sweep to run on this page; a page has either an experiment or a sweep."""
        return next(iter(self.activities_of(SweepActivity)), None)

    @property
    def challenge(self) -> ChallengeActivity | None:
        """Challenge on this page."""
        return next(iter(self.activities_of(ChallengeActivity)), None)

    @property
    def shell(self) -> ShellActivity | None:
        """Hands-on exercise on this page."""
        return next(iter(self.activities_of(ShellActivity)), None)

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """Experiments to run: none, the page's experiment, or an experiment per value of the sweep's axis."""
        if self.sweep is not None:
            return self.sweep.experiments
        return (self.experiment.experiment,) if self.experiment else ()

    @property
    def network(self) -> Experiment | None:
        """Experiment with the page's network, from its first run, challenge or shell; None if it has no network."""
        starts = [each.experiment for each in (self.challenge, self.shell) if each is not None]
        return next(iter((*self.experiments, *starts)), None)

    def predicted_experiment(self, activity: Activity) -> Experiment | None:
        """Return the experiment a prediction is about.

        On a sweep page that is the experiment at the predicted value, otherwise the first.
        """
        if self.sweep is not None and isinstance(activity, Predict) and activity.at in self.sweep.values:
            return self.sweep.experiments[self.sweep.values.index(activity.at)]
        return next(iter(self.experiments), None)

    def has_run(self, page: PageRecord) -> bool:
        """Return True if the experiment, or the complete sweep, has run to its end."""
        return self.sweep.is_done(page) if self.sweep else page.whole_runs > 0

    def is_done(self, page: PageRecord) -> bool:
        """Return True if the page was opened and every activity is done."""
        return page.visited and all(activity.is_done(page) for activity in self.activities)
