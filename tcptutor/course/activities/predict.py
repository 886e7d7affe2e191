"""Predict: a number that the student commits to before the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tcptutor import units
from tcptutor.course.activity import (
    NO_RUN,
    Activity,
    Mark,
    MarkContext,
    Problem,
    Reference,
    Stage,
    hint_problems,
    typed_text,
)
from tcptutor.course.record import Given, PageRecord
from tcptutor.spec import Experiment


class Predict(Activity, frozen=True, kw_only=True):
    """`[predict]`. The empty response is a run that was knowingly started without a prediction."""

    table: ClassVar[str] = "predict"
    stage: ClassVar[Stage] = Stage.BEFORE_RUN
    locked: ClassVar[bool] = True

    ask: str
    unit: Literal["rate", "time", "ratio", "size"] = "rate"
    """The kind of quantity; a rate is compared with the measured aggregate throughput."""
    hints: tuple[str, ...] = ()

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        if experiment is None:
            yield "", "there is no experiment on this page, so it is never used"
        yield from hint_problems(self.hints)

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=units.EXAMPLES[self.unit], empty="")

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        text = typed_text(given, units.EXAMPLES[self.unit])
        return Mark(correct=None, value=units.parse(text, self.unit) if text else None)

    def is_done(self, page: PageRecord) -> bool:
        return page.activity(self.id).first is not None


TABLES = (Predict,)
