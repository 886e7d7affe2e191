"""The roster of a course as its system exports it, next to the hand-ins."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tcptutor.base.errors import ContentError, UsageError
from tcptutor.grading.formats import format_grades
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.roster import RollCall, call_roll, read_roster

MOODLE = (
    '\ufeff"First name","Last name","ID number",Institution,"Email address",Groups\n'
    "Ada,Ngo,s1,,ada@example.edu,Monday\n"
    "Bob,Ray,s2,,bob@example.edu,Friday\n"
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,T (77)\n"
    "    Points Possible,,,,,50\n"
    '"Ngo, Ada",901,s1,ada@example.edu,Monday,\n'
    '"Ray, Bob",902,s2,bob@example.edu,Monday and Friday,\n'
    '"Student, Test",903,,x,Monday,\n'
)
GRADESCOPE = (
    "First Name,Last Name,SID,Email,Sections,Role\n"
    "Ada,Ngo,s1,ada@example.edu,Monday,Student\n"
    "Bob,Ray,s2,bob@example.edu,Friday,Student\n"
    "Eve,Poe,t1,eve@example.edu,,Instructor\n"
)
PLAIN = "student;section\ns1;Monday\ns2;Friday\n"


def _roster(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return path


def _graded(student: str, marks: float = 1.5, outcome: str = "part") -> GradedFile:
    mark = ActivityMark(
        module="m", page="p", title="P", activity="a", kind="question", marks=marks, of=2.0,
        outcome=outcome,  # type: ignore[arg-type]
    )  # fmt: skip
    grade = Grade(student=student, course="C", title="T", made="", marks=(mark,))
    return GradedFile(f"{student}.tcphandin", grade)


def _roll(folder: Path, text: str, *students: str) -> RollCall:
    return call_roll(read_roster(_roster(folder, text)), [*map(_graded, students)])


@pytest.mark.parametrize("text", [MOODLE, CANVAS, GRADESCOPE, PLAIN])
def test_the_columns_of_each_system_are_found(text: str, tmp_path: Path) -> None:
    roster = read_roster(_roster(tmp_path, text))
    assert [row.name for row in roster.students] == ["s1", "s2"]
    assert roster.problems == ()
    assert [row.name for row in roster.section("Friday").students] == ["s2"]
    with pytest.raises(UsageError, match="no section 'Frday': did you mean Friday"):
        roster.section("Frday")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_spreadsheets_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    roster = read_roster(_roster(tmp_path, "Name\tE-Mail\nZoë\tzoë@example.edu\n", encoding))
    assert [row.name for row in roster.students] == ["zoë@example.edu"]


def test_a_column_can_be_named(tmp_path: Path) -> None:
    path = _roster(tmp_path, "Matrikel,Name\n7,Ada\n")
    with pytest.raises(ContentError, match=r"has no column of ids .* --roster-column"):
        read_roster(path)
    assert [row.name for row in read_roster(path, "Matrikel").students] == ["7"]
    with pytest.raises(UsageError, match="no column 'Matrikl': did you mean Matrikel"):
        read_roster(path, "Matrikl")


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "is empty"), (b"\x00\x01", "has no column"), (b'id\n"\n', "has no|")]
)
def test_any_other_file_costs_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(content)
    try:
        assert not [*read_roster(path).students]
    except ContentError as error:
        assert said.partition("|")[0] in str(error) and "\n" not in str(error)


def test_rows_that_contradict_each_other_are_reported(tmp_path: Path) -> None:
    found = read_roster(_roster(tmp_path, "id,email\ns1,a@x\n,\ns2,a@x\n  ,b@x\n"))
    assert len(found.problems) == 1 and "a@x is on line 2 and on line 4" in found.problems[0]
    nobody = read_roster(_roster(tmp_path, "id,name\n,Ada\n"))
    assert len(nobody.problems) == 1 and "line 2 has no id" in nobody.problems[0]


def test_who_is_missing_and_who_is_unknown(tmp_path: Path) -> None:
    roll = _roll(tmp_path, MOODLE, "s1", "zed")
    assert [row.name for row in roll.missing] == ["s2"]
    assert [each.file for each in roll.unknown] == ["zed.tcphandin"]


@pytest.mark.parametrize(
    "typed", ["bbo@example.edu", "bob@exmaple.edu", "bob@mail.example.edu", "bob", "bob@example.ed"]
)
def test_a_near_miss_names_who_it_may_be(typed: str, tmp_path: Path) -> None:
    (line,) = _roll(tmp_path, MOODLE, "s1", typed).lines
    assert line.startswith(f"{typed} is not on the roster; bob@example.edu is, and has no hand-in. ")
    assert f"tcptutor decide {typed} --same-as bob@example.edu " in line


def test_a_near_miss_is_named_beside_a_hand_in_under_the_right_id(tmp_path: Path) -> None:
    (line,) = _roll(tmp_path, MOODLE, "ada@example.edu", "s2", "bob@exmaple.edu").lines
    assert "has a hand-in of its own" in line
    assert "tcptutor decide bob@exmaple.edu --same-as bob@example.edu " in line
    (line,) = _roll(tmp_path, PLAIN, "s1", "s2", "s3").lines
    assert "--same-as" not in line


@pytest.mark.parametrize("typed", ["BOB@example.edu", "bob\u200b@example.edu", "S2"])
def test_case_and_invisible_characters_are_no_other_student(typed: str, tmp_path: Path) -> None:
    roll = _roll(tmp_path, MOODLE, "s1", typed)
    assert not roll.missing and not roll.unknown
    assert len(roll.lines) == 1 and roll.lines[0].endswith("is taken for s2 of the roster")
    both = _roll(tmp_path, MOODLE, "s1", "s2", typed)
    assert len(both.unknown) == 1 and "has a hand-in of its own" in both.lines[0]


def test_of_two_ids_of_a_student_the_better_hand_in_counts(tmp_path: Path) -> None:
    roster = read_roster(_roster(tmp_path, MOODLE))
    roll = call_roll(roster, [_graded("s1", 0.5), _graded("ada@example.edu", 1.5)])
    assert roll.found[2].file == "ada@example.edu.tcphandin"
    assert roll.lines == (
        "s1.tcphandin does not count: ada@example.edu.tcphandin is of the same student, s1",
    )


def test_nobody_similar_is_guessed_for_short_numbers(tmp_path: Path) -> None:
    roll = _roll(tmp_path, "id\n1234567\n7654321\n", "7654123")
    assert roll.lines == ("7654123 is not on the roster (7654123.tcphandin)",)


def _table(roll: RollCall, kind: str) -> list[list[str]]:
    graded = [*roll.found.values(), *roll.unknown]
    return list(csv.reader(io.StringIO(format_grades(graded, kind, roll))))


def test_gradebooks_keep_the_rosters_columns_and_rows(tmp_path: Path) -> None:
    roll = _roll(tmp_path, MOODLE, "bob@example.edu", "zed")
    head, ada, bob = _table(roll, "moodle")
    assert head[:6] == ["First name", "Last name", "ID number", "Institution", "Email address", "Groups"]
    assert (ada[6:], bob[6:]) == (["", ""], ["75", "1.5 of 2 marks"])
    head, ada, bob, zed = _table(roll, "csv")
    named = [dict(zip(head, row, strict=True)) for row in (ada, bob, zed)]
    assert [row["score"] for row in named] == ["", "1.5", "1.5"]
    assert [row["remarks"] for row in named] == ["no hand-in", "", ""]
    assert [row["ID number"] for row in named] == ["s1", "s2", ""]


def test_an_export_of_canvas_is_filled_in_place(tmp_path: Path) -> None:
    roll = _roll(tmp_path, CANVAS, "s2")
    rows = list(csv.reader(io.StringIO(CANVAS)))
    filled = _table(roll, "canvas")
    assert [row[:5] for row in filled] == [row[:5] for row in rows]
    assert [row[5] for row in filled] == ["T (77)", "50", "", "37.5", ""]
    other = _table(_roll(tmp_path, CANVAS.replace("T (77)", "Quiz (1)"), "s1"), "canvas")
    assert [row[6] for row in other] == ["T", "100", "75", "", ""]


def test_an_excused_student_is_excused_in_canvas_too(tmp_path: Path) -> None:
    roster = read_roster(_roster(tmp_path, CANVAS))
    roll = call_roll(roster, [_graded("s1", 0.0, "excused")])
    assert [row[5] for row in _table(roll, "canvas")][2:] == ["EX", "", ""]


def test_json_names_the_missing_and_the_unknown(tmp_path: Path) -> None:
    roll = _roll(tmp_path, MOODLE, "s1", "zed")
    told = json.loads(format_grades([*roll.found.values(), *roll.unknown], "json", roll))["roster"]
    assert (told["missing"], told["unknown"]) == (["s2"], ["zed.tcphandin"])


def test_a_wrong_column_costs_one_line(tmp_path: Path) -> None:
    roll = _roll(tmp_path, "id,name\ns1,Ada\ns2,Bob\n", "ada@x", "bob@x", "eve@x", "zoe@x")
    (line,) = roll.lines
    assert "4 of 4 hand-ins are of nobody on" in line and "which has id: name the column" in line
