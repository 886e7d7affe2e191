"""A student's notebook and certificate: what they say of the work, and that they hold nothing that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.course import Course, load
from tcptutor.course.activity import MarkContext
from tcptutor.course.page_record import PREDICT, Response, TeacherComment
from tcptutor.journal import Journal
from tcptutor.notebook.certificate import certify, write_certificate
from tcptutor.notebook.content import Notebook, NotebookSource, collect_notebook
from tcptutor.notebook.html import as_html
from tcptutor.notebook.markdown import as_markdown
from tcptutor.notebook.writer import write_notebook
from tcptutor.run import Run
from tcptutor.run import load as load_run

PAGE = "tcp-basics", "two-segments-at-a-time"
AT = "2026-03-01T12:00:00+01:00"


@pytest.fixture
def course() -> Course:
    return load()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.open(tmp_path / "journal.db")
    yield journal
    journal.close()


@pytest.fixture
def worked(journal: Journal, course: Course) -> Journal:
    """A journal with a page: prediction, run, a right answer to each question, and a note."""
    journal.visit(*PAGE)
    journal.respond(*PAGE, PREDICT, Response("250 kbit/s", None, value=250e3))
    keep(journal, recorded())
    journal.record_measurement(*PAGE, PREDICT, 232e3)
    (step,) = [step for step in course.modules[0].steps if step.id == PAGE[1]]
    for each in step.activities:
        right = each.reference(MarkContext(run=recorded())).right
        if each.table == "question" and right is not None:
            journal.respond(*PAGE, each.id, Response(right, True))
    journal.note(*PAGE, "Two *segments*.\n\n<script>alert(1)</script> | ![x](http://example.org/x.png)")
    return journal


def recorded() -> Run:
    return load_run(places.assets() / "recorded" / PAGE[0] / f"{PAGE[1]}.tcprun")


def keep(journal: Journal, run: Run) -> Path:
    journal.begin_run(run, *PAGE)
    file = Path(str(journal.runs.finish(run)))
    journal.finish_run(run, file)
    return file


def notebook(course: Course, journal: Journal) -> Notebook:
    return collect_notebook(course, NotebookSource.of(course, journal), AT)


def test_a_page_holds_prediction_run_answers_and_note(course: Course, worked: Journal) -> None:
    ((page,),) = [module.pages for module in notebook(course, worked).modules]
    (prediction,) = page.predictions
    assert (prediction.said, prediction.measured) == ("250 kbit/s", "232 kbit/s")
    assert page.run is not None and page.run.chart is not None
    assert "window" in page.run.verdict
    assert page.run.models[0].ratio == "1.00"
    assert page.answers and all(answer.is_right for answer in page.answers)
    assert page.note.startswith("Two *segments*.")


def test_comments_of_the_teacher_are_in_every_format(course: Course, worked: Journal) -> None:
    question = next(each for each in course.modules[0].steps[1].activities if each.table == "question")
    worked.comment(*PAGE, TeacherComment("Well <b>done</b>.", by="Dr. Who"))
    worked.comment(*PAGE, TeacherComment("Try again.", question.id))
    made = notebook(course, worked)
    ((page,),) = [module.pages for module in made.modules]
    assert [comment.by for comment in page.comments] == ["Dr. Who", ""]
    assert [bool(comment.prompt) for comment in page.comments] == [False, True]
    for text in (as_markdown(made), as_html(made)):
        assert "My teacher, Dr. Who, on this page:" in text and "Try again." in text
    assert "<b>" not in as_html(made)


def test_markdown_has_all_of_it_in_lines(course: Course, worked: Journal) -> None:
    text = as_markdown(notebook(course, worked))
    assert "I said: 250 kbit/s. Measured: 232 kbit/s (8 % too high)." in text
    assert "Congestion window, segments" in text and "\x1b" not in text
    assert "> Two *segments*." in text


def test_html_draws_every_chart_and_runs_nothing(course: Course, worked: Journal) -> None:
    page = as_html(notebook(course, worked))
    (drawing,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    lines = ElementTree.fromstring(drawing).findall("polyline")
    assert len(lines) >= 3
    places = [pair.split(",") for line in lines for pair in (line.get("points") or "").split()]
    assert all(0 <= float(x) <= 760 and float(y) >= 0 for x, y in places)
    assert "<em>segments</em>" in page
    assert "<script" not in page and "<img" not in page


def test_a_missing_or_damaged_run_costs_its_page_a_line(course: Course, worked: Journal) -> None:
    (file,) = worked.run_files(*PAGE)
    Path(file).write_bytes(b"no run")
    ((page,),) = [module.pages for module in notebook(course, worked).modules]
    assert page.run is None and str(file) in page.problem
    assert "No run is shown" in as_html(notebook(course, worked))
    assert page.answers


def test_pages_without_work_are_left_out(course: Course, journal: Journal) -> None:
    journal.visit(*PAGE)
    assert notebook(course, journal).pages == 0


def test_only_known_endings_are_written(tmp_path: Path, course: Course, worked: Journal) -> None:
    made = notebook(course, worked)
    for name in ("n.html", "n.MD"):
        write_notebook(made, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(UsageError, match=r"\.html or \.md"):
        write_notebook(made, tmp_path / "n.pdf")


def test_a_certificate_needs_a_finished_module(course: Course, worked: Journal, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="isn't finished"):
        certify(course, course.modules[0], worked, "Ada")
    (step,) = [step for step in course.modules[0].steps if step.id == PAGE[1]]
    module = msgspec.structs.replace(course.modules[0], steps=(step,))
    made = certify(course, module, worked, "Ada <b>")
    events = list(worked.events())
    assert (made.pages, made.events, made.hash) == (1, len(events), events[-1].hash.hex())
    (run,) = made.runs
    assert run.page == step.title and len(run.digest) == 64
    write_certificate(made, tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text()
    with pytest.raises(UsageError, match=r"\.html"):
        write_certificate(made, tmp_path / "c.pdf")
    assert "Ada &lt;b&gt;" in page and run.digest[:16] in page
