"""The file of a student's report on a page: the line, and the state in which the page was."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tcptutor import __version__
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.course.activity import Activity
from tcptutor.course.lesson_file import PRETEST_FILE, files_by_step, module_folders
from tcptutor.course.outline import Module
from tcptutor.course.page_record import PageRecord, Response
from tcptutor.course.page_references import without_links
from tcptutor.course.paths import PRETEST
from tcptutor.course.step import Step
from tcptutor.run.files import load, text_digest


class PageReport(NamedTuple):
    """A student's report on a page, with its context."""

    text: str
    at: datetime
    module: Module
    step: Step
    """The page as this student sees it."""
    name: str
    """Number and title of the page."""
    lessons: Path
    """Folder of the course's lessons."""
    record: PageRecord
    run_file: Path | None
    """File of the page's latest run; None without a run."""
    lab: str
    """State of the lab, in a sentence."""
    terminal: tuple[int, int]
    """Columns and lines."""


def write_report(report: PageReport) -> Path:
    """Write the report into the student's data folder, and return the file; reads the run. Raises TutorError."""
    stamp = f"{report.at:%Y%m%d-%H%M%S}"
    path = places.state() / "reports" / f"{report.module.id}-{report.step.id}-{stamp}.md"
    with files.atomic(path, places.STATE_ELSEWHERE, private=True) as temporary:
        temporary.write_text("\n".join([*_lines(report), ""]), encoding="utf-8")
    return path


def below_home(file: Path) -> str:
    """Return the path with ~ for the home, for the screen."""
    with contextlib.suppress(ValueError, RuntimeError):
        return f"~/{file.relative_to(Path.home())}"
    return str(file)


def _lines(report: PageReport) -> Iterator[str]:
    columns, rows = report.terminal
    lesson, digest = _lesson_file(report)
    yield from (f"# Report on {report.name}", "", f"> {report.text}", "")
    yield f"- page: {report.module.id}/{report.step.id}"
    yield f"- lesson file: {lesson}, SHA-256 {digest or 'unknown'}"
    yield f"- tcptutor {__version__}, Python {platform.python_version()}"
    yield f"- reported: {report.at.isoformat(timespec='seconds')}"
    yield f"- system: {platform.system()} {platform.release()}, {platform.machine()}"
    yield f"- terminal: {columns}x{rows}, TERM={os.environ.get('TERM', '')}"
    yield f"- lab: {report.lab}"
    yield from ("", "## Latest run", "")
    yield from _run_lines(report.run_file) if report.run_file else ["none"]
    yield from ("", "## Latest answers", "")
    answers = [*_answer_lines(report.step, report.record)]
    yield from answers or ["none"]


def _lesson_file(report: PageReport) -> tuple[str, str]:
    """Return the name of the page's file below the lessons, and the SHA-256 of its content."""
    folder = module_folders(report.lessons).get(report.module.id)
    if folder is None:
        return "unknown", ""
    is_pretest = report.step.id == PRETEST
    file = folder / PRETEST_FILE if is_pretest else files_by_step(folder).get(report.step.id)
    if file is None:
        return "unknown", ""
    with contextlib.suppress(OSError):
        return f"{folder.name}/{file.name}", hashlib.sha256(file.read_bytes()).hexdigest()
    return f"{folder.name}/{file.name}", ""


def _run_lines(file: Path) -> Iterator[str]:
    from tcptutor.analysis import report  # noqa: PLC0415  # loading it takes longer than the first frame may

    yield f"- file: {file}, SHA-256 of its text {text_digest(file) or 'unknown'}"
    try:
        run = load(file)
    except TutorError as error:
        yield f"- {error}"
        return
    environment, fidelity = run.environment, run.fidelity
    yield f"- id: {run.id}, of {run.started}"
    yield f"- experiment: {run.experiment.name}, seed {run.experiment.seed}"
    yield f"- environment: {environment.backend}, {environment.clock} clock, {environment.system}"
    yield f"- verdict: {report(run).verdict.sentence}"
    yield f"- fidelity: {': '.join([fidelity.status, '; '.join(fidelity.reasons)]).rstrip(': ')}"


def _answer_lines(step: Step, record: PageRecord) -> Iterator[str]:
    for activity in step.activities:
        response = record.activity(activity.id).latest
        if response is not None:
            yield f"- {activity.id} ({activity.table}), {_marked(response)}: {_in_words(activity, response)}"
            if prompt := _prompt(activity, response):
                yield f"  asked: {prompt}"
            if response.draw:
                yield f"  numbers: {', '.join(f'{name} {value}' for name, value in response.draw.items())}"


def _marked(response: Response) -> str:
    return {True: "right", False: "wrong", None: "no mark"}[response.correct]


def _posed(activity: Activity, response: Response) -> Activity:
    """Return the activity with the numbers of the response; unchanged if the lesson was edited since."""
    with contextlib.suppress(UsageError):
        return activity.with_numbers(response.draw)
    return activity


def _in_words(activity: Activity, response: Response) -> str:
    return " ".join(_posed(activity, response).in_words(response.answer).split()) or "skipped"


def _prompt(activity: Activity, response: Response) -> str:
    return " ".join(without_links(getattr(_posed(activity, response), "prompt", "")).split())
