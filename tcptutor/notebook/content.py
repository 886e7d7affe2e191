"""Content of a notebook: the student's work page by page, ready to be written in any format."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tcptutor.analysis import Report, report
from tcptutor.base import units
from tcptutor.base.chart import COLORS, MARKERS, Chart, ChartAxis, ChartPanel, ChartSeries
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.activity import Activity, Question
from tcptutor.course.draws import left_open
from tcptutor.course.measures import MEASURES, MeasuredCurve
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import PageRecord, Response, Sureness
from tcptutor.course.page_references import without_links
from tcptutor.course.page_sweep import curve_of
from tcptutor.course.step import Step
from tcptutor.exchange.run_chart import run_chart
from tcptutor.journal import Journal
from tcptutor.journal.fold import JournalRecord, progress
from tcptutor.run import Run, files
from tcptutor.spec import shown_settings


class NotebookPrediction(NamedTuple):
    """Prediction with its measurement."""

    prompt: str
    said: str
    measured: str
    """Empty before the run, and for a drawing."""
    ratio: float | None
    """Prediction over measurement; None without both."""


class ModelRow(NamedTuple):
    """A model's prediction of a run."""

    name: str
    throughput: str
    ratio: str
    """Measurement over prediction: "0.97"."""
    formula: str
    """Formula with the numbers of the experiment."""


class NotebookRun(NamedTuple):
    """A run with its verdict."""

    title: str
    at: str
    """Start, ISO 8601."""
    settings: str
    verdict: str
    models: tuple[ModelRow, ...]
    chart: Chart | None
    """None for a run without samples."""
    origin: str
    """Backend and clock, or the recording it replays."""
    doubt: str
    """Why its fidelity is not valid; empty if it is."""


class NotebookAnswer(NamedTuple):
    """A question with the answer that counts."""

    prompt: str
    answer: str
    is_right: bool | None
    attempts: int
    hints: int
    sureness: Sureness | None
    explanation: str
    """Empty until the answer was right."""


class NotebookComment(NamedTuple):
    """A teacher's comment."""

    prompt: str
    """Question or prediction that it is about; empty for the whole page."""
    text: str
    by: str
    """Name of the teacher, if given."""


class NotebookPage(NamedTuple):
    """A page with the student's work."""

    number: str
    """ "1.9" """
    title: str
    idea: str
    """Empty until the page is finished."""
    predictions: tuple[NotebookPrediction, ...]
    run: NotebookRun | None
    sweep: Chart | None
    """Values that the page's sweep measured."""
    answers: tuple[NotebookAnswer, ...]
    note: str
    comments: tuple[NotebookComment, ...] = ()
    problem: str = ""
    """Reason for a missing run; empty if the run was read, or never made."""


class NotebookModule(NamedTuple):
    """A module with the pages that the student worked on."""

    title: str
    done: int
    """Pages that are finished, of `total`."""
    total: int
    pages: tuple[NotebookPage, ...]


class Notebook(NamedTuple):
    """All of a student's work."""

    title: str
    student: str
    """Name in a graded course; empty outside of graded courses."""
    at: str
    """Time of collection, ISO 8601."""
    modules: tuple[NotebookModule, ...]

    @property
    def pages(self) -> int:
        return sum(len(module.pages) for module in self.modules)


class NotebookSource(NamedTuple):
    """Input of a notebook; unlike a journal, any thread may read it."""

    record: JournalRecord
    identity: str
    """Key from which the student's numbers are drawn."""
    run_files: dict[tuple[str, str], tuple[str, ...]]
    """Files of a page's runs by module and page, the latest first."""

    @classmethod
    def of(cls, course: Course, journal: Journal, only: tuple[str, str] | None = None) -> NotebookSource:
        """Read the journal; with `only`, only the runs of that page. Raises JournalError."""
        record = journal.record
        with_runs = [
            (module.id, step.id)
            for module in course.modules
            if record.has_visited(module.id)
            for step in module.steps
            if record.page(module.id, step.id).whole_runs and only in (None, (module.id, step.id))
        ]
        files_of = {page: tuple(journal.run_files(*page)) for page in with_runs}
        return cls(record, journal.identity if record.enrolment else "", files_of)


def collect_notebook(course: Course, source: NotebookSource, at: str) -> Notebook:
    """Return the student's work so far, with a line for each unreadable run file.

    Args:
        course: The course.
        source: The student's work.
        at: The present time, ISO 8601.
    """
    record = source.record
    done = progress(record, course)
    modules = tuple(
        NotebookModule(
            f"{module.number} {module.title}",
            done[module.id].done,
            done[module.id].total,
            tuple(_pages(module, source)),
        )
        for module in course.modules
        if record.has_visited(module.id)
    )
    student = record.enrolment.student if record.enrolment else ""
    return Notebook(course.title, student, at, tuple(module for module in modules if module.pages))


def _pages(module: Module, source: NotebookSource) -> Iterator[NotebookPage]:
    for number, step in enumerate(module.steps, 1):
        work = source.record.page(module.id, step.id)
        if work.activities or work.whole_runs or work.note or work.comments:
            yield notebook_page(module, number, source)


def notebook_page(module: Module, number: int, source: NotebookSource) -> NotebookPage:
    """Return the student's work on page `number` (from 1) of a module."""
    shared = module.steps[number - 1]
    work = source.record.page(module.id, shared.id)
    step = shared.for_student(module.id, source.identity)
    runs, problem = _runs(source.run_files.get((module.id, step.id), ()), step.sweep is None)
    return NotebookPage(
        f"{module.number}.{number}",
        step.title,
        step.idea if step.is_done(work) else "",
        tuple(_predictions(step, work)),
        _run(runs[0]) if runs and step.sweep is None else None,
        _sweep_chart(step.sweep, curve_of(step.sweep, runs)) if step.sweep is not None else None,
        tuple(_answers(step, work)),
        work.note,
        tuple(_comments(step, work)),
        problem,
    )


def _runs(names: Sequence[str], only_latest: bool) -> tuple[list[Run], str]:
    """Return the complete runs in the files, or only the latest; and the reason if none was found."""
    found: list[Run] = []
    problem = ""
    for name in names:
        try:
            run = files.load(Path(name))
        except TutorError as error:
            problem = problem or str(error)
            continue
        if run.complete:
            found.append(run)
            if only_latest:
                break
    return found, "" if found else problem


def _predictions(step: Step, work: PageRecord) -> Iterator[NotebookPrediction]:
    for activity in step.activities:
        if not isinstance(activity, Predict | ShapePrediction):
            continue
        record = work.activity(activity.id)
        said = activity.in_words(record.first.answer) if record.first else ""
        if not said:
            continue
        measured, ratio = "", None
        if isinstance(activity, Predict) and record.first is not None and record.first.value is not None:
            said = units.rounded(record.first.value, activity.unit)
            if record.measured is not None:
                measured, ratio = units.rounded(record.measured, activity.unit), record.ratio
        yield NotebookPrediction(without_links(activity.prompt), said, measured, ratio)


def _answers(step: Step, work: PageRecord) -> Iterator[NotebookAnswer]:
    for activity in step.activities_of(Question):
        record = work.activity(activity.id)
        response = record.right or record.latest
        if response is None or response.answer in ("", ()):
            continue
        posed = _as_posed(activity, response)
        yield NotebookAnswer(
            without_links(posed.prompt),
            posed.in_words(response.answer),
            response.correct,
            record.attempts,
            record.hints,
            response.sureness,
            without_links(posed.explanation) if response.correct else "",
        )


def _comments(step: Step, work: PageRecord) -> Iterator[NotebookComment]:
    activities = {each.id: each for each in step.activities}
    for comment in work.comments:
        match activities.get(comment.activity):
            case Question() as question:
                record = work.activity(question.id)
                answered = record.right or record.latest
                prompt = _as_posed(question, answered).prompt if answered else left_open(question.prompt)
            case Predict(prompt=prompt) | ShapePrediction(prompt=prompt):
                pass
            case _:
                prompt = ""
        yield NotebookComment(without_links(prompt), comment.text, comment.by)


def _as_posed(question: Question, response: Response) -> Question:
    """Return the question with the numbers of the response; unchanged if the lesson was edited since."""
    with contextlib.suppress(UsageError):
        posed: Activity = question.with_numbers(response.draw)
        if isinstance(posed, Question):
            return posed
    return question


def _run(run: Run) -> NotebookRun:
    found = report(run)
    chosen = ", ".join(f"{name} {text}" for name, text in shown_settings(run.experiment).items())
    environment = run.environment
    recorded = environment.versions.get("recorded", "") if environment.backend == "replay" else ""
    origin = f"a recording ({recorded})" if recorded else f"{environment.backend}, {environment.clock} clock"
    chart = None
    with contextlib.suppress(TutorError):  # a run without samples has nothing to draw
        chart = replace(run_chart([run]), title=())  # the notebook says it in text
    return NotebookRun(
        f"{run.experiment.name}: {run.experiment.title}",
        run.started,
        f"{chosen}, seed {run.experiment.seed}",
        _sentence(found.verdict.sentence),
        tuple(_models(found)),
        chart,
        origin,
        "" if run.fidelity.status == "valid" else "; ".join(run.fidelity.reasons) or run.fidelity.status,
    )


def _sentence(clause: str) -> str:
    is_name = clause.startswith("fq ")  # names of programs keep their case
    return f"{clause if is_name else clause[:1].upper() + clause[1:]}."


def _models(found: Report) -> Iterator[ModelRow]:
    for each in found.comparisons:
        prediction = each.prediction
        yield ModelRow(
            prediction.label, units.rate(prediction.throughput_bps), f"{each.ratio:.2f}", prediction.formula
        )


def _sweep_chart(sweep: SweepActivity, curve: MeasuredCurve | None) -> Chart | None:
    """Return the measured values with their models over the axis; None without any."""
    if curve is None:
        return None
    measure = MEASURES[curve.measure]
    scale, unit = units.axis_unit(max([*curve.means, *curve.expected], default=0.0), measure.kind)
    series = [
        ChartSeries(
            points=[(x, value / scale) for x, value in zip(curve.xs, curve.means, strict=True)],
            label="measured",
            color=COLORS[0],
            marker=MARKERS[0],
            is_connected=False,
        )
    ]
    if curve.expected:
        points = [(x, value / scale) for x, value in zip(curve.xs, curve.expected, strict=True)]
        series.insert(0, ChartSeries(points=points, label="model", color=COLORS[2]))
    highest = max(value for each in series for _, value in each.points)
    heading = f"{measure.label}, {unit}" if unit else measure.label
    x = ChartAxis(
        low=min(curve.xs),
        high=max(curve.xs),
        label=sweep.axis.replace("_", " "),
        is_log=sweep.spacing == "log",
        ticks=tuple(zip(curve.xs, curve.values, strict=True)),
    )
    panel = ChartPanel(heading=heading, series=series, y=ChartAxis(high=1.06 * highest or 1.0))
    return Chart(title=[sweep.title], panels=[panel], x=x)
