"""The course done in the dialogue, line by line, earns what the app's student earns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.course import load as load_course
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given
from tcptutor.journal import Journal
from tcptutor.study.study import Study
from tests.grading.evidence.doer import Doer, right
from tests.plain.marks import Marks, marks_of, marks_of_journal
from tests.plain.typist import all_pages, do_pages, drawn, recording

COURSE = load_course(None)
SOME = [
    "1.0",
    "tcp-basics/two-segments-at-a-time",
    "tcp-basics/full-and-no-wait",
    "parallel-streams/up-to-the-knee",
    "broken-labs/how-to-look",
]


def answer(activity: Activity, study: Study) -> Given | None:
    """Answer as the reference has it; tests/plain/test_shell.py works by hand, on a real network."""
    if isinstance(activity, ShellActivity):
        return None
    # What is counted is predicted as 1: a Jain index cannot be more.
    return "1" if isinstance(activity, Predict) and activity.unit == "number" else right(activity, study)


async def done_in_dialogue(folder: Path, pages: list[str]) -> tuple[Marks, str]:
    """The marks of the dialogue's student, and all that was printed."""
    journal = Journal.open(folder / "dialogue.db")
    typist = await do_pages(COURSE, journal, pages, answer)
    marks = marks_of_journal(COURSE, journal, folder)
    journal.close()
    return marks, typist.printed


def done_in_app(folder: Path, pages: list[str]) -> Marks:
    """The marks of a student who works with the app's own study of each page."""
    doer = Doer(COURSE, folder, answer, recording)
    doer.does(*pages)
    file = doer.hands_in()
    doer.journal.close()
    return marks_of(COURSE, file)


@pytest.mark.parametrize("pages", [SOME, all_pages(COURSE)], ids=["some-pages", "whole-course"])
async def test_the_dialogue_earns_the_marks_of_the_app(tmp_path: Path, pages: list[str]) -> None:
    marks, printed = await done_in_dialogue(tmp_path, pages)
    assert drawn(printed) == []
    expected = done_in_app(tmp_path / "app", [page for page in pages if "/" in page])
    assert sum(mark for mark, _ in marks.values()) > len(pages)
    assert marks == expected
