"""Grades as other systems read them."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from tcptutor.errors import UsageError
from tcptutor.evidence.hand_in import opened_hand_in
from tcptutor.grading.formats import FORMATS, GradedFile, formatted
from tcptutor.grading.grade import ActivityMark, Grade
from tcptutor.grading.marking import grade
from tests.evidence.student import KEY, Student, course, handed_in


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
    student="ada", course=KEY.code, title="T", made="", marks=MARKS, remarks=("the clock went back",)
)
GRADED = GradedFile("ada.tcphandin", GRADE)


def test_the_total_leaves_out_what_is_inconclusive() -> None:
    assert (GRADE.total, GRADE.of) == (3, 7)


def test_gradescope() -> None:
    """https://gradescope-autograders.readthedocs.io/en/latest/specs/: the keys, and what each may be."""
    told = json.loads(formatted([GRADED], "gradescope"))
    assert told["score"] == 3
    assert told["output"].splitlines() == ["3 of 7 marks", "the clock went back"]
    assert [(test["score"], test["max_score"], test["status"]) for test in told["tests"]] == [
        (2, 2, "passed"), (1, 2, "failed"), (0, 2, "failed"), (0, 0, "failed"), (0, 1, "failed"),
    ]  # fmt: skip
    for test in told["tests"]:
        assert test["visibility"] in ("hidden", "after_due_date", "after_published", "visible")
        assert test["output_format"] in ("text", "html", "simple_format", "md", "ansi")
        assert all(isinstance(tag, str) for tag in test["tags"])
        assert isinstance(test["number"], str)
    assert sum(test["score"] for test in told["tests"]) == told["score"]


def test_prairielearn() -> None:
    """https://prairielearn.readthedocs.io/en/latest/externalGrading/: score from 0 to 1, points by test."""
    told = json.loads(formatted([GRADED], "prairielearn"))
    assert (told["gradable"], told["score"], told["format_errors"]) == (
        True,
        pytest.approx(3 / 7, abs=1e-4),
        [],
    )
    assert sum(test["points"] for test in told["tests"]) == 3
    assert sum(test["max_points"] for test in told["tests"]) == 7


def test_classroom50(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fields of its contract, with whole numbers; of the submission what the runner says of it."""
    for name in ("CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL"):
        monkeypatch.setenv(name, name.lower())
    told = json.loads(formatted([GRADED], "classroom50"))
    tests = told.pop("tests")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told.pop("datetime"))
    assert told == {
        "schema": "classroom50/result/v1", "classroom": "classroom", "assignment": "assignment",
        "submission": "submission_tag", "commit": "commit_url", "release": "release_url", "review": "commit_url",
        "score": 300, "max-score": 700,
    }  # fmt: skip
    assert tests[1] == {
        "test-name": "m/p: b", "passed": False, "score": 100, "max-score": 200, "reason": "part: it is part",
    }  # fmt: skip
    for key in ("score", "max-score"):
        assert sum(test[key] for test in tests) == told[key]
        assert all(type(test[key]) is int for test in tests)


def test_lti() -> None:
    """The keys and values of a score of Assignment and Grade Services 2.0; one that is doubtful waits for a person."""
    plain = msgspec.structs.replace(GRADE, remarks=())
    told = json.loads(formatted([GRADED, GradedFile("b", plain), GradedFile("c", None, "no")], "lti"))
    assert [score.pop("gradingProgress") for score in told] == ["PendingManual", "FullyGraded"]
    for score in told:
        assert datetime.fromisoformat(score.pop("timestamp")).tzinfo is not None
        assert score.pop("comment").startswith("3 of 7 marks")
        assert score == {
            "userId": "ada", "scoreGiven": 3, "scoreMaximum": 7, "activityProgress": "Completed",
        }  # fmt: skip


def test_junit() -> None:
    root = ET.fromstring(formatted([GRADED], "junit"))
    assert [suite.attrib for suite in root] == [
        {"name": "m", "tests": "4", "failures": "2", "errors": "0", "skipped": "1"},
        {"name": "n", "tests": "1", "failures": "1", "errors": "0", "skipped": "0"},
    ]
    assert [[child.tag for child in case] for case in root[0]] == [[], ["failure"], ["failure"], ["skipped"]]


def test_csv_has_a_row_a_student_and_a_column_a_module() -> None:
    problem = GradedFile("=cmd()", None, "=cmd() is not a hand-in")
    rows = list(csv.reader(io.StringIO(formatted([GRADED, problem], "csv"))))
    assert rows[0] == ["student", "file", "score", "max_score", "percent", "m", "n", "remarks"]
    assert rows[1] == ["ada", "ada.tcphandin", "3", "7", "42.86", "3", "0", "the clock went back"]
    # A spreadsheet would take it for a formula.
    assert rows[2] == ["", "'=cmd()", "", "", "", "", "", "'=cmd() is not a hand-in"]


def test_json_has_all_of_it() -> None:
    told = json.loads(formatted([GRADED, GradedFile("x", None, "no")], "json"))["hand_ins"]
    assert told[0]["total"] == 3
    assert told[0]["marks"][1]["reason"] == "it is part"
    assert told[1] == {"file": "x", "problem": "no"}


@pytest.mark.parametrize("kind", ["gradescope", "classroom50", "prairielearn", "junit"])
def test_a_format_of_one_takes_one(kind: str) -> None:
    with pytest.raises(
        UsageError, match=f"{kind} holds the result of one hand-in: give one, or take csv or json"
    ):
        formatted([GRADED, GRADED], kind)
    with pytest.raises(UsageError, match="x is not a hand-in"):
        formatted([GradedFile("x", None, "x is not a hand-in")], kind)


@pytest.mark.parametrize("kind", FORMATS)
def test_who_is_of_another_course_gets_nothing_in_any(kind: str, tmp_path: Path) -> None:
    with opened_hand_in(handed_in("ada", tmp_path, Student.does_all)) as hand_in:
        found = grade(hand_in, course(), "AAAA-AAAA-AAAA-AAAA")
    text = formatted([GradedFile("ada", found)], kind)
    assert "not in AAAA-AAAA-AAAA-AAAA" in text or kind in ("junit", "classroom50")
    if kind == "classroom50":
        assert json.loads(text)["score"] == 0
    if kind == "junit":
        assert len(ET.fromstring(text).findall(".//failure")) == len(found.marks)
