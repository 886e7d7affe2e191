"""What a teacher gives beside hand-ins: rosters as courses' systems export them, and decisions on single students."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tcptutor.base.printable import is_printable
from tcptutor.course.outline import Course
from tcptutor.grading.adjustments import adjust, settle
from tcptutor.grading.decisions import read_decisions
from tcptutor.grading.formats import FORMATS, format_grades
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.roster import call_roll, missing_line, read_roster
from tcptutor.grading.sheet import Sheet, write_sheet
from tests.fuzz.reader import Reader
from tests.grading.evidence.student import course
from tests.grading.test_roster import CANVAS, GRADESCOPE, MOODLE, PLAIN

_DECISIONS = b"""
[[decision]]
student = "s1"
page = "small/asked"
activity = "which"
marks = 1.5
reason = "The network was down."
by = "AB"

[[decision]]
student = "bob@example.edu"
deadline = "2027-02-07T23:59+01:00"
reason = "Ill"
by = "AB"

[[decision]]
student = "bbo"
same_as = "s2"
reason = "A typing error"
by = "AB"
"""
_MARK = ActivityMark(
    module="small", page="asked", title="Asked", activity="which", kind="question", marks=1, of=2, outcome="part"
)  # fmt: skip
_GRADED = [
    GradedFile(f"{id}.tcphandin", Grade(student=id, course="C", title="T", made="", marks=(_MARK,)))
    for id in ("s1", "bbo", "bob@exmaple.edu")
]


@cache
def _course() -> Course:
    return course()


def _roster(path: Path) -> None:
    roster = read_roster(path)
    roll = call_roll(roster, _GRADED)
    lines = [*roster.problems, *roll.lines, missing_line(roll)]
    assert all(is_printable(line) for line in lines), lines
    for kind in ("csv", "moodle", "canvas", "json"):
        assert format_grades(_GRADED, kind, roll)


def _decisions(path: Path) -> None:
    adjusted, lines = adjust(_GRADED, read_decisions(path), _course())
    assert all(is_printable(line, lines=True) for line in lines), lines
    for each in settle(adjusted):
        assert each.grade is not None
        assert 0 <= each.grade.total <= each.grade.of
        assert is_printable(write_sheet(Sheet(each.grade, _course(), each.file)), lines=True)
        for kind in FORMATS:
            assert is_printable(format_grades([each], kind), lines=True)


READERS = (
    Reader(
        "roster", ".csv", lambda: [text.encode() for text in (MOODLE, CANVAS, GRADESCOPE, PLAIN)], _roster
    ),
    Reader("decisions", ".toml", lambda: [_DECISIONS], _decisions),
)
