"""A student with some evenings of work behind them: right answers, near predictions, and the bundled recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

from tcptutor.backends import replay
from tcptutor.course.activities.example import Example
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Given
from tcptutor.journal import Journal
from tcptutor.run import Run, load
from tcptutor.spec import Experiment
from tcptutor.study.study import Study
from tests.grading.evidence.doer import Doer

_BETWEEN_EVENTS = timedelta(seconds=50)


@contextmanager
def student(
    course: Course, folder: Path, days: list[list[str]], predictions: Mapping[str, str]
) -> Iterator[Journal]:
    """Yield the journal of a student.

    Args:
        course: The course.
        folder: Where to keep the journal.
        days: MODULE/PAGE of each day's pages, the last day today; the last page is open, and not begun.
        predictions: Predictions that aren't right, by MODULE/PAGE.
    """

    def answer(activity: Activity, study: Study) -> Given | None:
        if isinstance(activity, Predict):
            own = predictions.get(f"{study.module.id}/{study.step.id}")
            return own or activity.reference(study.context).right
        return activity.reference(study.context).right

    doer = Doer(course, folder, answer, recorded)
    noon = datetime.now().astimezone().replace(hour=12, minute=0, second=0, microsecond=0)
    with (
        mock.patch("tcptutor.journal.journal._now") as now,
        mock.patch("tests.grading.evidence.doer.datetime") as runs_begin,
    ):
        runs_begin.now.side_effect = lambda _: datetime.fromisoformat(now())
        for ago, pages in zip(range(len(days) - 1, -1, -1), days, strict=True):
            day = noon - timedelta(days=ago)
            now.side_effect = (
                (day + n * _BETWEEN_EVENTS).isoformat(timespec="milliseconds") for n in range(10_000)
            )
            for at, page in enumerate(pages):
                doer.journal.visit(*page.split("/"))
                if ago or at < len(pages) - 1:
                    doer.does(page)
                    _complete(course, page, doer.journal)
        now.side_effect = None
        now.return_value = (noon + timedelta(hours=5)).isoformat(timespec="milliseconds")
        try:
            yield doer.journal
        finally:
            doer.journal.close()


def _complete(course: Course, page: str, journal: Journal) -> None:
    """Do what the screen does after a run, and the examples."""
    module = next(module for module in course.modules if page.startswith(f"{module.id}/"))
    step = next(step for step in module.steps if page == f"{module.id}/{step.id}")
    study = Study(module, step, journal)
    file = next(study.run_files(), None)
    study.run = load(Path(file)) if file and not step.sweep else None
    for activity in step.activities:
        if isinstance(activity, Predict):
            study.record_measured(activity)
        elif isinstance(activity, Example):
            posed = study.posed(activity)
            solved = posed.reference().right
            assert solved is not None
            study.respond(posed, solved)


def recorded(experiment: Experiment) -> Run | None:
    """Return the recording of an experiment; None if there is none."""
    module = experiment.name.partition("/")[0]
    for path in sorted((replay.recordings_folder() / module).glob("**/*.tcprun")):
        run = load(path)
        if replay.same_experiment(run.experiment, experiment):
            return run
    return None
