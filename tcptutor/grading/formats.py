"""Grades in the formats of course management systems.

json          every field, for programs
csv, moodle, canvas
              a row per student, see gradebooks
gradescope    results.json (https://gradescope-autograders.readthedocs.io, "Autograder Specifications")
classroom50   result.json (https://github.com/foundation50/classroom50/wiki/Advanced-Autograding, "The `result.json`
              contract"); marks are whole numbers: hundredths of ours
lti           score objects of LTI 1.3 (1EdTech, "Assignment and Grade Services", 3.4), one per student
prairielearn  results.json (https://prairielearn.readthedocs.io, "External grading")
junit         XML as build servers read it: a suite per module and hand-in, a case per activity
"""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.gradebooks import GRADEBOOKS, format_number, modules
from tcptutor.grading.remarks import shown_to_student, to_decide
from tcptutor.grading.roster import RollCall

__all__ = ["FORMATS", "format_grades", "modules"]

_DIGITS = 4
_HUNDREDTHS = 100
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def format_grades(graded: Sequence[GradedFile], kind: str, roll: RollCall | None = None) -> str:
    """Return the grades in a format of FORMATS.

    Args:
        graded: The hand-ins.
        kind: A format of FORMATS.
        roll: The roster: gradebooks have its rows and columns, also of students without a hand-in.

    Raises:
        UsageError: Several hand-ins were given for a format of a single hand-in.
        TutorError: The only hand-in could not be graded.
    """
    # Bytes of a file's name that are not UTF-8 become escapes, which JSON can read too.
    return _render(graded, kind, roll).encode(errors="backslashreplace").decode()


def _render(graded: Sequence[GradedFile], kind: str, roll: RollCall | None) -> str:
    if kind in _FOR_MANY:
        return _FOR_MANY[kind](graded, roll)
    if len(graded) != 1:
        raise UsageError(f"{kind} holds the result of one hand-in: give one, or use csv or json")
    (only,) = graded
    if only.grade is None:
        raise TutorError(only.problem)
    return _FOR_ONE[kind](only.grade)


def _document(graded: GradedFile) -> dict[str, Any]:
    if graded.grade is None:
        return {"file": graded.file, "problem": graded.problem}
    grade = graded.grade
    fields = msgspec.to_builtins(grade)
    del fields["trail"]  # for comparing hand-ins with each other
    return {
        "file": graded.file,
        "instead": graded.superseded_by,
        "total": round(grade.total, _DIGITS),
        "of": round(grade.of, _DIGITS),
        **fields,
    }


def _json(graded: Sequence[GradedFile], roll: RollCall | None) -> str:
    document: dict[str, Any] = {"hand_ins": [_document(each) for each in graded]}
    if roll is not None:
        document["roster"] = {
            "missing": [row.name for row in roll.missing],
            "unknown": [each.file for each in roll.unknown],
            "lines": roll.lines,
        }
    return _to_json(document)


def _gradescope(grade: Grade) -> str:
    """Return results.json; only staff see the test that lists open remarks."""
    tests: list[dict[str, object]] = [
        {
            "name": _test_name(mark),
            "number": f"{number}",
            "score": _points(grade, mark),
            "max_score": mark.of,
            "status": "failed" if _failed(grade, mark) else "passed",
            "output": _scaled_text(mark),
            "output_format": "text",
            "tags": [mark.module, mark.kind],
            "visibility": "visible",
            "extra_data": {"outcome": mark.outcome, "runs": mark.runs, "events": mark.events},
        }
        for number, mark in enumerate(grade.marks, 1)
    ]
    if waiting := to_decide(grade.remarks):
        tests.append(
            {"name": "for the teacher to decide", "output": "\n".join(waiting), "visibility": "hidden"}
        )
    most = sum(mark.of for mark in grade.marks)
    score = 0.0 if grade.refused else grade.share * most  # exact, unlike the sum of rounded points
    scaled = f"{format_number(score)} of {format_number(most)} points: what cannot be marked is left out in proportion"
    return _to_json(
        {
            "score": round(score, _DIGITS),
            "output": "\n".join([_summary(grade), *([scaled] if most != grade.of else [])]),
            "output_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "tests": tests,
            "extra_data": {
                "student": grade.student,
                "course": grade.course,
                "remarks": [remark.text for remark in grade.remarks],
            },
        }
    )


def _classroom50(grade: Grade) -> str:
    """Return result.json; the runner provides the submission's metadata in environment variables."""
    scores = [round(_HUNDREDTHS * _points(grade, mark)) for mark in grade.marks]
    max_scores = [round(_HUNDREDTHS * mark.of) for mark in grade.marks]
    tests = [
        {
            "test-name": _test_name(mark),
            "passed": not _failed(grade, mark),
            "score": score,
            "max-score": of,
            "reason": grade.refused or _scaled_text(mark),
        }
        for mark, score, of in zip(grade.marks, scores, max_scores, strict=True)
    ]
    commit = os.environ.get("COMMIT_URL", "")
    return _to_json(
        {
            "schema": "classroom50/result/v1",
            "classroom": os.environ.get("CLASSROOM", ""),
            "assignment": os.environ.get("ASSIGNMENT", ""),
            "assignment_type": os.environ.get("ASSIGNMENT_TYPE") or "individual",
            "owner": os.environ.get("OWNER", ""),
            "submission": os.environ.get("SUBMISSION_TAG", ""),
            "commit": commit,
            "release": os.environ.get("RELEASE_URL", ""),
            "review": os.environ.get("REVIEW_URL") or commit,
            "datetime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "score": sum(scores),
            "max-score": sum(max_scores),
            "tests": tests,
        }
    )


def _lti(graded: Sequence[GradedFile], _: RollCall | None) -> str:
    """Return the scores; a score with invalid evidence, or with remarks to decide on, waits for the teacher."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return _to_json(
        [
            {
                "userId": grade.student,
                "scoreGiven": round(grade.total, _DIGITS),
                "scoreMaximum": round(grade.of, _DIGITS),
                "comment": _summary(grade),
                "timestamp": now,
                "activityProgress": "Completed",
                "gradingProgress": "PendingManual" if _is_doubtful(grade) else "FullyGraded",
            }
            for grade in (each.grade for each in graded if not each.superseded_by)
            if grade is not None and grade.of
        ]
    )


def _prairielearn(grade: Grade) -> str:
    tests = [
        {
            "name": _test_name(mark),
            "description": f"{mark.title}: {mark.kind}",
            "points": _points(grade, mark),
            "max_points": mark.of,
            "message": _outcome_text(mark),
        }
        for mark in grade.marks
        if mark.counts
    ]
    return _to_json(
        {
            "gradable": not grade.refused,
            "score": round(grade.share, _DIGITS),
            "message": _summary(grade),
            "output": "\n".join(shown_to_student(grade.remarks)),
            "format_errors": [grade.refused] if grade.refused else [],
            "tests": tests,
        }
    )


def _junit(graded: Sequence[GradedFile], _: RollCall | None) -> str:
    titles = (each.grade.title for each in graded if each.grade is not None)
    root = ET.Element("testsuites", name=next(titles, "tcptutor"))
    for each in graded:
        within = "" if len(graded) == 1 else each.file
        if each.grade is None:
            name, counts = _xml(each.file), _counts(1, errors=1)
            suite = ET.SubElement(root, "testsuite", {"name": name, **counts})
            case = ET.SubElement(suite, "testcase", classname=name, name="hand-in")
            ET.SubElement(case, "error", message=_xml(each.problem), type="unreadable")
        else:
            _suites(root, each.grade, within)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suites(root: ET.Element, grade: Grade, within: str) -> None:
    """Add a suite for each module of a hand-in; `within` is the hand-in's name among several."""
    suites: dict[str, list[ActivityMark]] = {}
    for mark in grade.marks:
        suites.setdefault(mark.module, []).append(mark)
    for module, marks in suites.items():
        lost = sum(_failed(grade, mark) for mark in marks)
        skipped = sum(not mark.counts for mark in marks)
        name = ": ".join(filter(None, [_xml(within), module]))
        counts = _counts(len(marks), failures=lost, skipped=skipped)
        suite = ET.SubElement(root, "testsuite", {"name": name, **counts})
        for mark in marks:
            place = ": ".join(filter(None, [_xml(within), f"{module}.{mark.page}"]))
            case = ET.SubElement(suite, "testcase", classname=place, name=mark.activity)
            if not mark.counts:
                ET.SubElement(case, "skipped", message=_xml(mark.reason))
            elif _failed(grade, mark):
                ET.SubElement(case, "failure", message=_xml(_failure_reason(grade, mark)), type=mark.outcome)


def _counts(tests: int, *, failures: int = 0, errors: int = 0, skipped: int = 0) -> dict[str, str]:
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    return {key: str(value) for key, value in counts.items()}


def _xml(text: str) -> str:
    """Escape characters that XML 1.0 does not allow, as in a file's name."""
    return _NO_XML.sub(lambda found: ascii(found[0])[1:-1], text)


def _failed(grade: Grade, mark: ActivityMark) -> bool:
    return bool(grade.refused) or (mark.counts and mark.outcome != "full")


def _points(grade: Grade, mark: ActivityMark) -> float:
    """Return the points of an activity where every student has the same maximum.

    An activity that does not count has the share that the student reached in all others.
    """
    share = grade.share * mark.of
    return 0.0 if grade.refused else round(mark.marks if mark.counts else share, _DIGITS)


def _scaled_text(mark: ActivityMark) -> str:
    scaled = "" if mark.counts else ": its points are in proportion to the others"
    return f"{_outcome_text(mark)}{scaled}"


def _test_name(mark: ActivityMark) -> str:
    return f"{mark.module}/{mark.page}: {mark.activity}"


def _outcome_text(mark: ActivityMark) -> str:
    return f"{mark.outcome}: {mark.reason}" if mark.reason else mark.outcome


def _failure_reason(grade: Grade, mark: ActivityMark) -> str:
    """Return the reason of a lost mark, or why the hand-in does not count."""
    return grade.refused or _outcome_text(mark)


def _is_doubtful(grade: Grade) -> bool:
    refused = bool(grade.refused) or any(mark.outcome == "refused" for mark in grade.marks)
    return refused or bool(to_decide(grade.remarks))


def _summary(grade: Grade) -> str:
    """Return the text shown to the student: marks, refusal, decisions and remarks."""
    marks = f"{format_number(grade.total)} of {format_number(grade.of)} marks"
    decisions = map(str, grade.decisions)
    return "\n".join([marks, *filter(None, [grade.refused]), *decisions, *shown_to_student(grade.remarks)])


def _to_json(document: object) -> str:
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


_FOR_MANY: Mapping[str, Callable[[Sequence[GradedFile], RollCall | None], str]] = {
    "json": _json,
    **GRADEBOOKS,
    "lti": _lti,
    "junit": _junit,
}
_FOR_ONE: Mapping[str, Callable[[Grade], str]] = {
    "gradescope": _gradescope,
    "classroom50": _classroom50,
    "prairielearn": _prairielearn,
}
FORMATS = (*_FOR_MANY, *_FOR_ONE)
