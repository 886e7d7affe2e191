"""A student's work in a module, for its end: predictions with their errors, answers, runs. Pure."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from tcptutor.base import ratios, sizes
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Question
from tcptutor.course.outline import Module
from tcptutor.course.page_record import ActivityRecord
from tcptutor.course.step import Step
from tcptutor.journal.fold import FEW, JournalRecord


class MadePrediction(NamedTuple):
    """A prediction that a run has answered."""

    page: str
    """Title of its page."""
    said: str
    measured: str
    ratio: float
    """Prediction over measurement."""
    at: str
    """Time of the prediction, ISO 8601."""

    @property
    def factor(self) -> float:
        """The ratio, or its inverse below 1."""
        return max(self.ratio, 1 / self.ratio)

    @property
    def error(self) -> str:
        """Error in words: "33 % too high"."""
        return ratios.too_high_or_low(self.ratio)


class Trend(NamedTuple):
    """Median factors of the first and of the second half of the predictions."""

    before: float
    after: float


class ModuleSummary(NamedTuple):
    """A student's work in a module."""

    predictions: tuple[MadePrediction, ...]
    """In the order in which they were made."""
    answers: int
    """Questions with a right answer."""
    first_tries: int
    """Questions that were right at the first try."""
    runs: int
    """Complete runs."""

    @property
    def best(self) -> MadePrediction | None:
        """Prediction with the smallest error; None without predictions."""
        return min(self.predictions, key=lambda each: each.factor, default=None)

    @property
    def worst(self) -> MadePrediction | None:
        """Prediction with the largest error; None for fewer than two predictions."""
        if len(self.predictions) < 2:
            return None
        return max(self.predictions, key=lambda each: each.factor)

    @property
    def trend(self) -> Trend | None:
        """Development of the error; None for few predictions."""
        if len(self.predictions) < 2 * FEW:
            return None
        half = len(self.predictions) // 2
        factors = [each.factor for each in self.predictions]
        return Trend(median(factors[:half]), median(factors[half:]))


def summarize(record: JournalRecord, module: Module) -> ModuleSummary:
    """Return the student's work on the pages of a module."""
    predictions, answers, first_tries, runs = [], 0, 0, 0
    for step in module.steps:
        page = record.page(module.id, step.id)
        runs += page.whole_runs
        for activity in step.activities:
            work = page.activity(activity.id)
            if isinstance(activity, Predict) and (made := _prediction(step, activity, work)):
                predictions.append(made)
            if isinstance(activity, Question) and work.right:
                answers += 1
                first_tries += work.first == work.right
    predictions.sort(key=lambda each: each.at)
    return ModuleSummary(tuple(predictions), answers, first_tries, runs)


def _prediction(step: Step, activity: Predict, work: ActivityRecord) -> MadePrediction | None:
    value = work.first.value if work.first else None
    if work.first is None or value is None or work.measured is None or not work.ratio:
        return None
    return MadePrediction(
        step.title,
        sizes.rounded(value, activity.unit),
        sizes.rounded(work.measured, activity.unit),
        work.ratio,
        work.first.at,
    )
