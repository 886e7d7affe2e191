"""Grades in the formats that courses' own systems read.

json          all of it, for programs
csv           a row a student: the total, and a column a module
gradescope    results.json (https://gradescope-autograders.readthedocs.io, "Autograder Specifications")
classroom50   result.json (https://github.com/foundation50/classroom50/wiki/Advanced-Autograding, "The `result.json`
              contract"); marks are whole numbers there: hundredths of ours
lti           score objects of LTI 1.3 (1EdTech, "Assignment and Grade Services", 3.4), one a student
prairielearn  results.json (https://prairielearn.readthedocs.io, "External grading")
junit         XML as build servers read it: a suite a module, a case an activity
"""

from __future__ import annotations

import csv
import io
import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from tcptutor.errors import UsageError
from tcptutor.grading.grade import ActivityMark, Grade

_DIGITS = 4
_HUNDREDTHS = 100


class GradedFile(NamedTuple):
    """A hand-in that was graded, or that could not be."""

    file: str
    """Its name, without its folder."""
    grade: Grade | None
    problem: str = ""
    """Why there is no grade, one line."""


def formatted(graded: Sequence[GradedFile], kind: str) -> str:
    """In that format, one of FORMATS. Raises UsageError for several of a format that holds one, and for one of these
    that could not be graded.
    """
    if kind in _OF_ALL:
        return _OF_ALL[kind](graded)
    if len(graded) != 1:
        raise UsageError(f"{kind} holds the result of one hand-in: give one, or take csv or json")
    (only,) = graded
    if only.grade is None:
        raise UsageError(only.problem)
    return _OF_ONE[kind](only.grade)


def document(graded: GradedFile) -> dict[str, Any]:
    """A graded hand-in as `--json` prints it."""
    if graded.grade is None:
        return {"file": graded.file, "problem": graded.problem}
    grade = graded.grade
    whole = msgspec.to_builtins(grade)
    return {
        "file": graded.file,
        "total": round(grade.total, _DIGITS),
        "of": round(grade.of, _DIGITS),
        **whole,
    }


def _json(graded: Sequence[GradedFile]) -> str:
    return _written({"hand_ins": [document(each) for each in graded]})


def modules(grade: Grade) -> dict[str, tuple[float, float]]:
    """Marks reached, and to be reached, in each module."""
    found: dict[str, tuple[float, float]] = {}
    for mark in grade.marks:
        reached, of = found.get(mark.module, (0.0, 0.0))
        if mark.outcome != "inconclusive":
            reached, of = reached + (0.0 if grade.refused else mark.marks), of + mark.of
        found[mark.module] = (reached, of)
    return found


def _csv(graded: Sequence[GradedFile]) -> str:
    names = list(dict.fromkeys(name for each in graded if each.grade for name in modules(each.grade)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "file", "score", "max_score", "percent", *names, "remarks"])
    for file, grade, problem in graded:
        if grade is None:
            writer.writerow(_plain(["", file, "", "", "", *("" for _ in names), problem]))
            continue
        of_module = modules(grade)
        cells = [_number(of_module[name][0]) if name in of_module else "" for name in names]
        remarks = "; ".join(filter(None, [grade.refused, *grade.remarks]))
        total = [_number(grade.total), _number(grade.of), _number(100 * grade.share)]
        writer.writerow(_plain([grade.student, file, *total, *cells, remarks]))
    return text.getvalue()


def _plain(cells: Iterable[str]) -> list[str]:
    """A spreadsheet takes a cell that begins so for a formula, whoever wrote it."""
    return [f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t")) else cell for cell in cells]


def _gradescope(grade: Grade) -> str:
    tests = [
        {
            "name": _name(mark),
            "number": f"{number}",
            "score": _points(grade, mark),
            "max_score": 0.0 if mark.outcome == "inconclusive" else mark.of,
            "status": "passed" if mark.outcome == "full" else "failed",
            "output": _told(mark),
            "output_format": "text",
            "tags": [mark.module, mark.kind],
            "visibility": "visible",
            "extra_data": {"outcome": mark.outcome, "runs": mark.runs, "events": mark.events},
        }
        for number, mark in enumerate(grade.marks, 1)
    ]
    return _written(
        {
            "score": round(grade.total, _DIGITS),
            "output": _summary(grade),
            "output_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "tests": tests,
            "extra_data": {"student": grade.student, "course": grade.course, "remarks": grade.remarks},
        }
    )


def _classroom50(grade: Grade) -> str:
    """What the runner knows of the submission stands in its environment; it sees to the rest."""
    counted = [mark for mark in grade.marks if mark.outcome != "inconclusive"]
    scores = [round(_HUNDREDTHS * _points(grade, mark)) for mark in counted]
    most = [round(_HUNDREDTHS * mark.of) for mark in counted]
    tests = [
        {
            "test-name": _name(mark),
            "passed": not _failed(grade, mark),
            "score": score,
            "max-score": of,
            "reason": _told(mark),
        }
        for mark, score, of in zip(counted, scores, most, strict=True)
    ]
    commit = os.environ.get("COMMIT_URL", "")
    return _written(
        {
            "schema": "classroom50/result/v1",
            "classroom": os.environ.get("CLASSROOM", ""),
            "assignment": os.environ.get("ASSIGNMENT", ""),
            "submission": os.environ.get("SUBMISSION_TAG", ""),
            "commit": commit,
            "release": os.environ.get("RELEASE_URL", ""),
            "review": os.environ.get("REVIEW_URL") or commit,
            "datetime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "score": sum(scores),
            "max-score": sum(most),
            "tests": tests,
        }
    )


def _lti(graded: Sequence[GradedFile]) -> str:
    """A score that a teacher should look at is not final."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return _written(
        [
            {
                "userId": grade.student,
                "scoreGiven": round(grade.total, _DIGITS),
                "scoreMaximum": round(grade.of, _DIGITS),
                "comment": _summary(grade),
                "timestamp": now,
                "activityProgress": "Completed",
                "gradingProgress": "PendingManual" if grade.refused or grade.remarks else "FullyGraded",
            }
            for grade in (each.grade for each in graded)
            if grade is not None
        ]
    )


def _prairielearn(grade: Grade) -> str:
    tests = [
        {
            "name": _name(mark),
            "description": f"{mark.title}: {mark.kind}",
            "points": _points(grade, mark),
            "max_points": mark.of,
            "message": _told(mark),
        }
        for mark in grade.marks
        if mark.outcome != "inconclusive"
    ]
    return _written(
        {
            "gradable": not grade.refused,
            "score": round(grade.share, _DIGITS),
            "message": _summary(grade),
            "output": "\n".join(grade.remarks),
            "format_errors": [grade.refused] if grade.refused else [],
            "tests": tests,
        }
    )


def _junit(grade: Grade) -> str:
    root = ET.Element("testsuites", name=grade.title)
    suites: dict[str, list[ActivityMark]] = {}
    for mark in grade.marks:
        suites.setdefault(mark.module, []).append(mark)
    for module, marks in suites.items():
        lost = [mark for mark in marks if _failed(grade, mark)]
        skipped = [mark for mark in marks if mark.outcome == "inconclusive"]
        counts = {"tests": len(marks), "failures": len(lost), "errors": 0, "skipped": len(skipped)}
        suite = ET.SubElement(
            root, "testsuite", {"name": module, **{key: str(n) for key, n in counts.items()}}
        )
        for mark in marks:
            case = ET.SubElement(suite, "testcase", classname=f"{module}.{mark.page}", name=mark.activity)
            if mark.outcome == "inconclusive":
                ET.SubElement(case, "skipped", message=mark.reason)
            elif _failed(grade, mark):
                ET.SubElement(case, "failure", message=_told(mark), type=mark.outcome)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _failed(grade: Grade, mark: ActivityMark) -> bool:
    return bool(grade.refused) or mark.outcome not in ("full", "inconclusive")


def _points(grade: Grade, mark: ActivityMark) -> float:
    return 0.0 if grade.refused or mark.outcome == "inconclusive" else round(mark.marks, _DIGITS)


def _name(mark: ActivityMark) -> str:
    return f"{mark.module}/{mark.page}: {mark.activity}"


def _told(mark: ActivityMark) -> str:
    return f"{mark.outcome}: {mark.reason}" if mark.reason else mark.outcome


def _summary(grade: Grade) -> str:
    lines = [f"{_number(grade.total)} of {_number(grade.of)} marks"]
    return "\n".join([*lines, *filter(None, [grade.refused]), *grade.remarks])


def _number(value: float) -> str:
    return f"{round(value, 2):g}"


def _written(whole: object) -> str:
    return json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


_OF_ALL: Mapping[str, Callable[[Sequence[GradedFile]], str]] = {"json": _json, "csv": _csv, "lti": _lti}
_OF_ONE: Mapping[str, Callable[[Grade], str]] = {
    "gradescope": _gradescope,
    "classroom50": _classroom50,
    "prairielearn": _prairielearn,
    "junit": _junit,
}
FORMATS = (*_OF_ALL, *_OF_ONE)
"""Their names."""
