"""A student's sheet: every mark with its reason, and nothing of anybody else."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import msgspec
import pytest

from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.remarks import decide, note
from tcptutor.grading.sheet import Sheet, run_verdicts, write_sheet
from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS, Student, course, handed_in


def errs(one: Student) -> None:
    one.answer(1, "which", (1,))
    one.answer(1, "which", (0,))
    one.answer(1, "how-much", "3 KiB")
    one.answer(2, "predict", "2 Mbit/s")
    one.runs()
    one.answer(2, "largest", "3")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handed_in("ada", tmp_path_factory.mktemp("ada"), errs)


@pytest.fixture(scope="module")
def grade(file: Path) -> Grade:
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, course())


def _words(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html.partition("</style>")[2])).split())


def test_every_mark_has_its_answers_reason_and_evidence(file: Path, grade: Grade) -> None:
    words = _words(write_sheet(Sheet(grade, course(), "ada", run_verdicts(file, grade))))
    assert "4 of 19 marks, 21 %" not in words and "3 of 19 marks, 16 %" in words
    for mark in grade.marks:
        if mark.answers or mark.runs:
            assert f"{mark.module}/{mark.page}/{mark.activity}" in words
    assert "“RTT” wrong" in words and "“cwnd” right" in words
    assert "Right after 1 wrong." in words
    (how_much,) = (mark for mark in grade.marks if mark.activity == "how-much")
    assert how_much.answers[0].asked in words and "{" not in how_much.answers[0].asked
    assert grade.marks[3].runs[0] in words and "bottleneck" in words
    assert "measured" in words and "To appeal" in words
    assert "Not done, 9 marks:" in words


def test_it_loads_nothing_and_names_nobody_else(grade: Grade) -> None:
    remarks = (note("enrolled as bob before"), decide("equal to bob's", for_student="equal to another's"))
    html = write_sheet(Sheet(msgspec.structs.replace(grade, remarks=remarks), course(), "ada"))
    assert not re.search(r"<script|<link|<img|src=|url\(|https?:|@import", html)
    assert "bob" not in html and "equal to another's" in unescape(html)


def test_texts_of_a_hand_in_are_no_markup() -> None:
    bad = "<script>x</script>\x1b[31m\u202e"
    mark = ActivityMark(
        module="small", page="asked", title=bad, activity="which", kind="question", marks=0, of=2, outcome="none",
        reason=bad, answers=(GivenAnswer(at=bad, text=bad, correct=False, feedback=bad, asked=bad),), runs=(bad,),
    )  # fmt: skip
    html = write_sheet(
        Sheet(Grade(student=bad, course=bad, title=bad, made=bad, marks=(mark,), refused=bad), course(), bad)
    )
    assert "<script" not in html and "\x1b" not in html and "\u202e" not in html


def test_a_class_gets_a_file_each(file: Path, tmp_path: Path, without_state: Path) -> None:
    bob = handed_in("bob", tmp_path / "bob", errs)
    words = ["grade", file, bob, "--course", LESSONS, "--key", KEY.code, "--sheets", tmp_path / "sheets"]
    done = tcptutor(*words)
    assert done.returncode == 0, done.stderr
    sheets = {each.name: each for each in (tmp_path / "sheets").iterdir()}
    assert sorted(sheets) == ["ada.sheet.html", "bob.sheet.html"]
    assert "bob" not in sheets["ada.sheet.html"].read_text()
    assert sheets["ada.sheet.html"].stat().st_mode & 0o777 == 0o600
    again = tcptutor(*words)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
    assert tcptutor(*words, "--replace").returncode == 0
