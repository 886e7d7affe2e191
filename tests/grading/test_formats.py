"""Grades as other systems read them."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from tcptutor.base import places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.grading import grade as grade_command
from tcptutor.course import load as load_course
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.formats import FORMATS, format_grades
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.remarks import decide, note
from tests.grading import contracts
from tests.grading.evidence.student import KEY, Student, course, handed_in


def _mark(activity: str, outcome: str, marks: float, of: float = 2.0, module: str = "m") -> ActivityMark:
    return ActivityMark(
        module=module, page="p", title="A page", activity=activity, kind="question", marks=marks, of=of,
        outcome=outcome, reason="" if outcome == "full" else f"it is {outcome}",  # type: ignore[arg-type]
    )  # fmt: skip


MARKS = (
    _mark("a", "full", 2),
    _mark("b", "part", 1),
    _mark("c", "refused", 0),
    _mark("d", "inconclusive", 0),
    _mark("e", "missing", 0, 1, "n"),
)
GRADE = Grade(
    student="ada",
    course=KEY.code,
    title="T",
    made="",
    marks=MARKS,
    remarks=(decide("the clock went back", shown=True),),
)
GRADED = GradedFile("ada.tcphandin", GRADE)


def test_each_format_can_be_asked_for() -> None:
    option = next(each for each in grade_command.params if "--format" in each.opts)
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == ["text", *FORMATS]


def test_the_total_leaves_out_what_is_inconclusive() -> None:
    assert (GRADE.total, GRADE.of) == (3, 7)


def test_gradescope() -> None:
    told = json.loads(format_grades([GRADED], "gradescope"))
    contracts.gradescope(told)
    assert told["score"] == pytest.approx(3 + 2 * 3 / 7, abs=1e-4)
    first, *_, scaled = told["output"].splitlines()
    assert (first, scaled.startswith("3.86 of 9 points")) == ("3 of 7 marks", True)
    *tests, waiting = told["tests"]
    assert waiting == {
        "name": "for the teacher to decide", "output": "the clock went back", "visibility": "hidden",
    }  # fmt: skip
    assert [(test["score"], test["max_score"], test["status"]) for test in tests] == [
        (2, 2, "passed"), (1, 2, "failed"), (0, 2, "failed"), (0.8571, 2, "passed"), (0, 1, "failed"),
    ]  # fmt: skip
    assert sum(test["score"] for test in tests) == told["score"]


def test_prairielearn() -> None:
    told = json.loads(format_grades([GRADED], "prairielearn"))
    contracts.prairielearn(told)
    assert (told["gradable"], told["score"], told["format_errors"]) == (
        True,
        pytest.approx(3 / 7, abs=1e-4),
        [],
    )
    assert sum(test["points"] for test in told["tests"]) == 3
    assert sum(test["max_points"] for test in told["tests"]) == 7


def test_classroom50(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fields of its contract, with whole numbers; of the submission what the runner says of it."""
    for name in ("CLASSROOM", "ASSIGNMENT", "OWNER", "COMMIT_URL", "RELEASE_URL"):
        monkeypatch.setenv(name, name.lower())
    monkeypatch.setenv("SUBMISSION_TAG", "submit/1")
    monkeypatch.setenv("ASSIGNMENT_TYPE", "group")
    told = json.loads(format_grades([GRADED], "classroom50"))
    contracts.classroom50(told)
    tests = told.pop("tests")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told.pop("datetime"))
    assert told == {
        "schema": "classroom50/result/v1", "classroom": "classroom", "assignment": "assignment",
        "assignment_type": "group", "owner": "owner", "submission": "submit/1",
        "commit": "commit_url", "release": "release_url", "review": "commit_url",
        "score": 386, "max-score": 900,
    }  # fmt: skip
    assert tests[1] == {
        "test-name": "m/p: b", "passed": False, "score": 100, "max-score": 200, "reason": "part: it is part",
    }  # fmt: skip


def test_lti() -> None:
    """The keys and values of a score of Assignment and Grade Services 2.0; one with invalid evidence waits."""
    holds = tuple(mark for mark in GRADE.marks if mark.outcome != "refused")
    noted = msgspec.structs.replace(GRADE, marks=holds, remarks=(note("enrolled as bob before"),))
    waits = msgspec.structs.replace(noted, remarks=(decide("equal to bob's"),))
    graded = [GRADED, *(GradedFile("b", each) for each in (noted, waits)), GradedFile("c", None, "no")]
    told = json.loads(format_grades(graded, "lti"))
    assert [score.pop("gradingProgress") for score in told] == [
        "PendingManual",
        "FullyGraded",
        "PendingManual",
    ]
    of = sum(mark.of for mark in holds if mark.outcome != "inconclusive")
    for score, most in zip(told, (7, of, of), strict=True):
        assert datetime.fromisoformat(score.pop("timestamp")).tzinfo is not None
        assert score.pop("comment").splitlines()[0] == f"3 of {most:g} marks"
        assert score == {
            "userId": "ada", "scoreGiven": 3, "scoreMaximum": most, "activityProgress": "Completed",
        }  # fmt: skip


@pytest.mark.parametrize("kind", ["gradescope", "lti", "moodle", "prairielearn", "classroom50"])
def test_a_student_reads_no_remark_that_names_another(kind: str) -> None:
    remarks = (note("copied from bob"), decide("equal to bob's", for_student="equal to another hand-in"))
    text = format_grades([GradedFile("ada", msgspec.structs.replace(GRADE, remarks=remarks))], kind)
    if kind == "gradescope":
        told = json.loads(text)
        told["tests"] = [test for test in told["tests"] if test["visibility"] == "visible"]
        text = json.dumps({**told, "extra_data": {}})
    assert "bob" not in text
    assert ("equal to another hand-in" in text) == (kind != "classroom50")


def test_junit() -> None:
    root = ET.fromstring(format_grades([GRADED], "junit"))
    assert [suite.attrib for suite in root] == [
        {"name": "m", "tests": "4", "failures": "2", "errors": "0", "skipped": "1"},
        {"name": "n", "tests": "1", "failures": "1", "errors": "0", "skipped": "0"},
    ]
    assert [[child.tag for child in case] for case in root[0]] == [[], ["failure"], ["failure"], ["skipped"]]


def test_junit_of_several_hand_ins_tells_whose_each_is() -> None:
    unread = GradedFile("x\x1b\udcff.tcphandin", None, "x\x1b is not a hand-in")
    root = ET.fromstring(format_grades([GRADED, unread], "junit"))
    assert [(suite.get("name"), suite.get("errors")) for suite in root] == [
        ("ada.tcphandin: m", "0"), ("ada.tcphandin: n", "0"), ("x\\x1b\\udcff.tcphandin", "1"),
    ]  # fmt: skip
    assert [case.get("classname") for case in root.iter("testcase")][::4] == [
        "ada.tcphandin: m.p", "ada.tcphandin: n.p",
    ]  # fmt: skip
    (error,) = root.iter("error")
    assert error.get("message") == "x\\x1b is not a hand-in"


@pytest.mark.parametrize(
    ("check", "sample"),
    [
        # gradescope/autograder_samples, docs/specs.md
        (contracts.gradescope, {
            "score": 44.0, "execution_time": 136, "output": "Text relevant to the entire submission",
            "output_format": "simple_format", "test_output_format": "text", "test_name_format": "text",
            "visibility": "after_due_date", "stdout_visibility": "visible", "extra_data": {},
            "tests": [{
                "score": 2.0, "max_score": 2.0, "status": "passed", "name": "Your name here", "name_format": "text",
                "number": "1.1", "output": "Giant multiline string", "output_format": "text",
                "tags": ["tag1", "tag2", "tag3"], "visibility": "visible", "extra_data": {},
            }],
            "leaderboard": [{"name": "Accuracy", "value": 0.926}],
        }),
        # PrairieLearn/PrairieLearn, docs/externalGrading.md
        (contracts.prairielearn, {
            "gradable": True, "score": 0.25, "message": "Tests completed successfully.", "output": "Running tests...",
            "images": [{"label": "First Image", "url": "data:image/png;base64,..."}],
            "tests": [
                {"name": "Test 1", "description": "Tests that a thing does a thing.", "points": 1, "max_points": 1,
                 "message": "No errors!", "output": "Running test..."},
                {"name": "Test 2", "description": "Like Test 1, but harder", "points": 0, "max_points": 3,
                 "message": "Make sure that your code is doing the thing correctly.", "output": "Running test..."},
            ],
        }),
        # foundation50/classroom50, wiki/Advanced-Autograding.md
        (contracts.classroom50, {
            "schema": "classroom50/result/v1", "classroom": "cs-principles", "assignment": "hello",
            "assignment_type": "individual", "owner": "alice", "submission": "submit/2026-06-01T14-32-05Z-a1b2c3d",
            "commit": "https://github.com/.../commit/SHA", "datetime": "2026-06-01T14:32:01Z",
            "release": "https://github.com/.../releases/tag/submit%2F...", "graded_at": "2026-06-01T14:33:11Z",
            "review": "https://github.com/.../compare/BASELINE-SHA...SHA", "score": 4, "max-score": 5,
            "tests": [
                {"test-name": "compiles", "passed": True, "score": 4, "max-score": 4},
                {"test-name": "outputs_correct", "passed": False, "score": 0, "max-score": 1},
            ],
        }),
    ],
)  # fmt: skip
def test_what_the_systems_publish_is_taken(check: Callable[[Any], None], sample: Any) -> None:
    check(sample)


PLAIN = msgspec.structs.replace(GRADE, remarks=(), made="2026-11-24T03:04:05+01:00")
CLASS = [
    GRADED,
    GradedFile("b", msgspec.structs.replace(PLAIN, student="bob@example.edu")),
    GradedFile("c", None, "c is not a hand-in"),
    GradedFile("d", msgspec.structs.replace(PLAIN, student="")),
]
"""A class: none of the gradebooks has the third, who was not graded, nor the fourth, who was not enrolled."""


def _rows(kind: str, graded: Sequence[GradedFile] = CLASS) -> list[list[str]]:
    return list(csv.reader(io.StringIO(format_grades(graded, kind))))


def test_moodle() -> None:
    """Percent, since what counts is not the same for all. The columns are called as in its own exports, of which
    `grade/import/csv/tests/load_data_test.php` of moodle/moodle has one.
    """
    exported = '"First name",Surname,"ID number",Institution,Department,"Email address"'
    known = next(csv.reader([exported]))
    rows = _rows("moodle")
    assert rows == [
        ["ID number", "T", "Feedback: T"],
        ["ada", "42.86", "3 of 7 marks; the clock went back"],
        ["bob@example.edu", "42.86", "3 of 7 marks"],
    ]
    by_mail = _rows("moodle", CLASS[1:])
    assert (by_mail[0][0], by_mail[1][0]) == ("Email address", "bob@example.edu")
    assert {rows[0][0], by_mail[0][0]} <= set(known)
    assert all(float(row[1]) for row in rows[1:])


def test_canvas() -> None:
    """The rules of `lib/gradebook_importer.rb` of instructure/canvas-lms: where it looks for the columns of students,
    the row of points, and who each is.
    """
    head, possible, *rows = _rows("canvas")
    # The head of `spec/lib/gradebook_importer_spec.rb`, "User lookup".
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "T"]
    assert "Student" in head[0] and "ID" in head[1] and len(head) > 3
    assert "Points Possible" in possible[0]
    assert possible[5] == "100"
    assert rows == [
        ["ada", "", "ada", "ada", "", "42.86"],
        ["bob@example.edu", "", "bob@example.edu", "bob@example.edu", "", "42.86"],
    ]
    assert {len(row) for row in (head, possible, *rows)} == {6}


@pytest.mark.parametrize("kind", ["moodle", "canvas"])
def test_a_gradebook_of_nobody_has_its_columns(kind: str) -> None:
    nobody = _rows(kind, CLASS[2:])
    assert len(nobody) == (2 if kind == "canvas" else 1)
    assert len(nobody[0]) == len(_rows(kind)[0])


@pytest.mark.parametrize("kind", ["csv", "moodle", "canvas"])
def test_no_cell_of_a_gradebook_is_a_formula(kind: str) -> None:
    named = msgspec.structs.replace(
        PLAIN, student="=1+1", title="@SUM(A1)", remarks=(note("-1", shown=True),)
    )
    cells = [cell for row in _rows(kind, [GradedFile("+x", named)]) for cell in row]
    assert "'=1+1" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_csv_has_a_row_a_student_and_a_column_a_module() -> None:
    problem = GradedFile("=cmd()", None, "=cmd() is not a hand-in")
    rows = list(csv.reader(io.StringIO(format_grades([GRADED, problem], "csv"))))
    assert rows[0] == ["student", "file", "score", "max_score", "percent", "m", "n", "decisions", "remarks"]
    assert rows[1] == ["ada", "ada.tcphandin", "3", "7", "42.86", "3", "0", "", "the clock went back"]
    # A spreadsheet would take it for a formula.
    assert rows[2] == ["", "'=cmd()", "", "", "", "", "", "", "'=cmd() is not a hand-in"]


@pytest.mark.parametrize("kind", ["json", "csv", "junit"])
def test_a_name_that_is_no_utf8_is_written_with_escapes(kind: str) -> None:
    text = format_grades([GradedFile("x\udcff", None, "no")], kind)
    assert "x\\udcff" in text
    assert text.encode()


def test_json_has_all_of_it() -> None:
    told = json.loads(format_grades([GRADED, GradedFile("x", None, "no")], "json"))["hand_ins"]
    assert told[0]["total"] == 3
    assert told[0]["marks"][1]["reason"] == "it is part"
    assert told[1] == {"file": "x", "problem": "no"}


@pytest.mark.parametrize("kind", ["gradescope", "classroom50", "prairielearn"])
def test_a_format_of_one_takes_one(kind: str) -> None:
    with pytest.raises(
        UsageError, match=f"{kind} holds the result of one hand-in: give one, or use csv or json"
    ):
        format_grades([GRADED, GRADED], kind)
    with pytest.raises(TutorError, match="x is not a hand-in"):
        format_grades([GradedFile("x", None, "x is not a hand-in")], kind)


@pytest.mark.parametrize("kind", FORMATS)
def test_who_is_of_another_course_gets_nothing_in_any(kind: str, tmp_path: Path) -> None:
    with open_hand_in(handed_in("ada", tmp_path, Student.does_all)) as hand_in:
        found = grade_hand_in(hand_in, course(), "AAAA-AAAA-AAAA-AAHZ")
    text = format_grades([GradedFile("ada", found)], kind)
    # Canvas has no place for a reason.
    assert "not in AAAA-AAAA-AAAA-AAHZ" in text or kind == "canvas"
    if kind == "classroom50":
        assert json.loads(text)["score"] == 0
    if kind == "canvas":
        assert text.endswith(",0\n")
    if kind == "junit":
        assert len(ET.fromstring(text).findall(".//failure")) == len(found.marks)


def test_a_part_of_the_course_has_a_title_of_its_own() -> None:
    whole = load_course(places.lessons())
    part = whole.select(["pacing", "tcp-basics"])
    assert part.title == f"{whole.title}: TCP basics, Pacing"
    assert whole.select([each.id for each in whole.modules]).title == whole.select([]).title == whole.title
