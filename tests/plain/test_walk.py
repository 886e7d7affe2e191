"""The course done in the dialogue, line by line, earns what the app's student earns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.course import load as load_course
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Given
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.grading.marking import grade_hand_in
from tcptutor.journal import Journal
from tcptutor.study.study import Study
from tests.grading.evidence.doer import Doer, right
from tests.plain.typist import all_pages, do_pages, drawn, recording

Marks = dict[tuple[str, str, str], tuple[float, str]]
"""Marks and outcome by module, page and activity."""
COURSE = load_course(None)
SOME = [
    "1.0",
    "tcp-basics/two-segments-at-a-time",
    "tcp-basics/no-room-to-wait",
    "parallel-streams/up-to-the-knee",
    "broken-labs/how-to-look",
]


def answer(activity: Activity, study: Study) -> Given | None:
    """Answer as the reference has it, and predict 1 for what is counted: a Jain index cannot be more."""
    return "1" if isinstance(activity, Predict) and activity.unit == "number" else right(activity, study)


def grade(course: Course, file: Path) -> Marks:
    with open_hand_in(file) as hand_in:
        found = grade_hand_in(hand_in, course)
    return {(mark.module, mark.page, mark.activity): (mark.marks, mark.outcome) for mark in found.marks}


async def grade_of_dialogue(course: Course, folder: Path, pages: list[str]) -> tuple[Marks, str]:
    """The grade of the dialogue's student, and all that was printed."""
    journal = Journal.open(folder / "dialogue.db")
    typist = await do_pages(course, journal, pages, answer)
    collected = collect(journal, course)
    file = folder / "dialogue.tcphandin"
    write_hand_in(file, collected.manifest, collected.events, collected.runs)
    journal.close()
    return grade(course, file), typist.printed


def grade_of_app(course: Course, folder: Path, pages: list[str]) -> Marks:
    doer = Doer(course, folder, answer, recording)
    doer.does(*pages)
    file = doer.hands_in()
    doer.journal.close()
    return grade(course, file)


@pytest.mark.parametrize("pages", [SOME, all_pages(COURSE)], ids=["some-pages", "whole-course"])
async def test_the_dialogue_earns_the_marks_of_the_app(tmp_path: Path, pages: list[str]) -> None:
    marks, printed = await grade_of_dialogue(COURSE, tmp_path, pages)
    assert drawn(printed) == []
    expected = grade_of_app(COURSE, tmp_path / "app", [page for page in pages if "/" in page])
    assert sum(mark for mark, _ in marks.values()) > 0
    assert marks == expected
