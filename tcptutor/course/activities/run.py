"""Run: an experiment in the lab, from start to end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

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
)
from tcptutor.course.page_record import Given, PageRecord
from tcptutor.spec import Experiment
from tcptutor.theory.models import ThroughputModel


class RunActivity(Activity, frozen=True, kw_only=True):
    """Experiment to run on this page."""

    table: ClassVar[str] = "experiment"
    stage: ClassVar[Stage] = Stage.RUN

    name: str
    """Full name, `module/experiment`."""
    experiment: Experiment
    """Includes the step's overrides."""
    compare_with: str = ""
    """Step of the module with the comparison run; empty for none."""
    model: str = ""
    """Model the page is about, by its name in `analysis.ThroughputModel`; it leads the others."""

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        names = [model.value for model in ThroughputModel]
        if self.model and self.model not in names:
            yield "model", f"no model {self.model!r}: choose from {', '.join(names)}"

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        return Reference(right=() if context.run else None, empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        """Mark the activity right once a complete run exists; the response itself is empty."""
        return Mark(correct=context.run is not None)

    def is_done(self, page: PageRecord) -> bool:
        return page.whole_runs > 0


class ExperimentTable(ActivityTable, frozen=True, kw_only=True):
    """Front matter of a run: `[experiment]`."""

    table: ClassVar[str] = RunActivity.table
    stage: ClassVar[Stage] = RunActivity.stage

    name: str
    set: dict[str, Setting] = msgspec.field(default_factory=dict)
    compare_with: str = ""
    model: str = ""

    def activity(self, experiment: NamedExperiment) -> Activity:
        name, built = experiment(self.name, self.set)
        return RunActivity(name=name, experiment=built, compare_with=self.compare_with, model=self.model)


TABLES = (ExperimentTable,)
