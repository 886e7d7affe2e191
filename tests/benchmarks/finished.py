"""A student who finished the course: a run on each page from the recordings, and right answers to all questions."""

from __future__ import annotations

import tempfile
import time
import uuid
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from tcptutor.base import places
from tcptutor.course import Course, load
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import MarkContext, Question
from tcptutor.course.page_record import Response
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.notebook.content import NotebookSource, collect_notebook
from tcptutor.notebook.writer import write_notebook
from tcptutor.run import Run
from tcptutor.run import load as load_run
from tests.journal.made import fill, many

RUNS, EVENTS = 1_000, 10_000


def finish_course(journal: Journal, course: Course) -> int:
    """Work on all pages; return the number of runs."""
    runs = 0
    for module in course.modules:
        for step in module.steps:
            journal.visit(module.id, step.id)
            latest = None
            for recorded in _recorded(module.id, step.id):
                latest = replace(recorded, id=uuid.uuid4().hex[:12])
                journal.begin_run(latest, module.id, step.id)
                journal.finish_run(latest, Path(journal.runs.finish(latest)))
                runs += 1
            _answer(journal, module.id, step, MarkContext(run=latest))
            journal.note(module.id, step.id, "What I keep of *this* page: " + 20 * "a few words, ")
    return runs


def _recorded(module: str, step: str) -> list[Run]:
    """Recorded runs of a page; several of a sweep."""
    folder = places.assets() / "recorded" / module
    files = (*folder.glob(f"{step}.tcprun*"), *sorted(folder.glob(f"{step}/*.tcprun*")))
    return [load_run(file) for file in files]


def _answer(journal: Journal, module: str, step: Step, context: MarkContext) -> None:
    for each in step.activities:
        if isinstance(each, Predict):
            journal.respond(module, step.id, each.id, Response("10", None, value=10.0))
        elif isinstance(each, Question):
            draw = each.draw_numbers("a student")
            asked = each.with_numbers(draw)
            right = asked.reference(context).right
            if right is not None:
                is_right = asked.mark(right, context).correct
                journal.respond(
                    module, step.id, each.id, Response(right, is_right, draw=draw, sureness="sure")
                )


class WrittenNotebook(NamedTuple):
    """The notebook of a finished course."""

    runs: int
    charts: int
    processor_s: float
    """Processor seconds to collect and write it."""
    size: int
    """Bytes."""


def measure() -> WrittenNotebook:
    """Finish the course and write its notebook."""
    course = load()
    with tempfile.TemporaryDirectory() as folder:
        journal, target = Journal.open(Path(folder) / "journal.db"), Path(folder) / "notebook.html"
        runs = finish_course(journal, course)
        began = time.process_time()
        source = NotebookSource.of(course, journal)
        write_notebook(collect_notebook(course, source, "2026-01-01T12:00:00+00:00"), target)
        took = time.process_time() - began
        journal.close()
        return WrittenNotebook(runs, target.read_text().count("<svg"), took, target.stat().st_size)


def fill_journal(folder: Path) -> None:
    """Make a journal of 10,000 events in the folder, and store 1,000 runs."""
    folder.mkdir(parents=True)
    fill(folder / "journal.db", many(EVENTS - 2 * RUNS))
    journal = Journal.open(folder / "journal.db")
    (recorded,) = _recorded("parallel-streams", "one-small-window")
    for number in range(RUNS):
        run = replace(recorded, id=f"20260101-120000-{number:04}")
        journal.begin_run(run, "parallel-streams", "one-small-window")
        journal.finish_run(run, Path(journal.runs.finish(run)))
    journal.close()
