"""A roster, decisions and sheets, from the students' hand-ins to the gradebook, as a teacher types it."""

from __future__ import annotations

import csv
import json
import shutil
from html import unescape
from pathlib import Path

import pytest

from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in, student

ROSTER = "ID number,Email address,Section\ns1,ada,A\ns2,bob@example.edu,B\ns3,carol,B\n"
BY = ("--reason", "The lab's network was down.", "--by", "AB")


def half(one: Student) -> None:
    one.answer(1, "which", (1,))
    one.answer(1, "how-much")


@pytest.fixture(scope="module")
def handed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the work of ada, and of bob, who typed his id with a slip."""
    folder = tmp_path_factory.mktemp("class")
    for name in ("ada", "bbo@example.edu"):
        file = handed_in(name, folder / "of" / name, half)
        file.rename(folder / f"{name}.tcphandin")
    shutil.rmtree(folder / "of")
    return folder


@pytest.fixture
def course(tmp_path: Path, without_state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small course with a deadline long ago, after which work gets half; an empty cache of grades."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lessons = shutil.copytree(LESSONS, tmp_path / "lessons")
    about = lessons / "course.toml"
    about.write_text(about.read_text().replace("2030-01-31T12:00+00:00", "2020-01-31T12:00+00:00"))
    (tmp_path / "roster.csv").write_text(ROSTER)
    return tmp_path


def _grade(course: Path, handed: Path, *words: str | Path) -> tuple[str, str]:
    done = tcptutor("grade", handed, "--course", course / "lessons", "--key", KEY.code, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def _decide(course: Path, *words: str | Path) -> None:
    done = tcptutor("decide", *words, *BY, "--exceptions", course / "x.toml", "--course", course / "lessons")
    assert done.returncode == 0, done.stderr


def _marks(course: Path, handed: Path, *words: str | Path) -> dict[str, dict[str, dict[str, object]]]:
    out, _ = _grade(course, handed, "--exceptions", course / "x.toml", "--json", *words)
    return {
        each["student"]: {mark["activity"]: mark for mark in each["marks"]}
        for each in json.loads(out)["hand_ins"]
    }


def test_the_roster_reports_who_is_missing_unknown_and_nearly_known(course: Path, handed: Path) -> None:
    out, err = _grade(course, handed, "--roster", course / "roster.csv")
    assert out.splitlines()[-2:] == ["s2  no hand-in", "s3  no hand-in"]
    assert "bbo@example.edu is not on the roster; bob@example.edu is, and has no hand-in" in err
    _decide(course, "bbo@example.edu", "--same-as", "bob@example.edu")
    out, err = _grade(
        course,
        handed,
        "--roster",
        course / "roster.csv",
        "--exceptions",
        course / "x.toml",
        "--format",
        "csv",
    )
    rows = {row["ID number"]: row for row in csv.DictReader(out.splitlines())}
    assert [rows[id]["score"] for id in ("s1", "s2", "s3")] == ["1", "1", ""]
    assert rows["s2"]["decisions"] == (
        "bbo@example.edu is the same student as bob@example.edu: The lab's network was down (AB)"
    )
    assert "not on the roster" not in err


def test_a_section_is_graded_alone(course: Path, handed: Path) -> None:
    out, _ = _grade(course, handed, "--roster", course / "roster.csv", "--section", "A")
    assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == ["ada"]


def test_an_extension_lifts_the_deadline_of_one_student_and_one_page(course: Path, handed: Path) -> None:
    before = json.loads(_grade(course, handed, "--json")[0])["hand_ins"]
    assert {mark["marks"] for each in before for mark in each["marks"] if mark["activity"] == "how-much"} == {
        1
    }
    _decide(course, "ADA", "small/asked", "--deadline", "2999-01-31T12:00+00:00")
    found = _marks(course, handed)
    assert (found["ada"]["how-much"]["marks"], found["bbo@example.edu"]["how-much"]["marks"]) == (2, 1)
    # The cache has the grade of the first time, and must not show it.
    text = (course / "x.toml").read_text()
    (course / "x.toml").write_text(text.replace('"2999-01-31T12:00+00:00"', "2020-01-31T12:00:00+00:00"))
    assert _marks(course, handed)["ada"]["how-much"]["marks"] == 1


def test_an_extension_finds_the_student_by_any_id_of_the_roster(course: Path, handed: Path) -> None:
    _decide(course, "s1", "--deadline", "2999-01-31T12:00+00:00")
    assert _marks(course, handed, "--roster", course / "roster.csv")["ada"]["how-much"]["marks"] == 2


def test_decisions_find_a_student_by_the_right_id_and_by_the_mistyped_one(course: Path, handed: Path) -> None:
    _decide(course, "bbo@example.edu", "--same-as", "bob@example.edu")
    _decide(course, "bob@example.edu", "--deadline", "2999-01-31T12:00+00:00")
    _decide(course, "bbo@example.edu", "small/asked/which", "--marks", "1")
    found = _marks(course, handed)["bob@example.edu"]
    assert (found["how-much"]["marks"], found["which"]["marks"]) == (2, 1)


def test_overrides_and_excuses_outlive_regrading_and_show_their_reason(course: Path, handed: Path) -> None:
    _decide(course, "ada", "small/asked/which", "--marks", "1.5")
    _decide(course, "ada", "small/ran", "--excuse")
    for _ in range(2):
        found = _marks(course, handed)["ada"]
        assert (found["which"]["marks"], found["which"]["outcome"]) == (1.5, "part")
        assert found["which"]["reason"] == (
            "The lab's network was down (AB); computed: 0 of 2, the answer is wrong"
        )
        assert {found[each]["outcome"] for each in ("experiment", "after")} == {"excused"}
    for kind in ("text", "csv", "moodle", "lti", "junit"):
        out, _ = _grade(course, handed, "--exceptions", course / "x.toml", "--format", kind)
        assert "network was down" in out, kind
    only = course / "one"
    only.mkdir()
    shutil.copy(handed / "ada.tcphandin", only)
    for kind in ("gradescope", "classroom50", "prairielearn"):
        out, _ = _grade(course, only, "--exceptions", course / "x.toml", "--format", kind)
        assert "network was down" in out, kind
    page = course / "class.html"
    done = tcptutor(
        "class", handed, "--course", course / "lessons", "--exceptions", course / "x.toml", "--html", page
    )
    assert done.returncode == 0, done.stderr
    assert "network was down" in page.read_text()


def test_marks_for_a_page_are_shared_by_worth_and_never_exceed_it(course: Path, handed: Path) -> None:
    _decide(course, "ada", "small/asked", "--marks", "3")
    assert [_marks(course, handed)["ada"][each]["marks"] for each in ("which", "how-much")] == [1.5, 1.5]
    text = (course / "x.toml").read_text()
    (course / "x.toml").write_text(text.replace("marks = 3", "marks = 30"))
    out, err = _grade(course, handed, "--exceptions", course / "x.toml")
    assert "gives more than there are: 4 marks count" in err
    assert "4 marks for small/asked" in out and "30 marks" not in out


def test_a_student_without_a_hand_in_can_have_marks_and_excuses(course: Path, handed: Path) -> None:
    _decide(course, "carol", "--excuse")
    _decide(course, "s2", "small/asked", "--marks", "4")
    out, err = _grade(
        course,
        handed,
        "--roster",
        course / "roster.csv",
        "--exceptions",
        course / "x.toml",
        "--format",
        "csv",
    )
    rows = {row["ID number"]: row for row in csv.DictReader(out.splitlines())}
    assert (rows["s2"]["score"], rows["s3"]["score"], rows["s3"]["percent"]) == ("4", "", "")
    assert "excused from the course" in rows["s3"]["decisions"]
    assert "no hand-in of 1 of 3 students: s2" in err


def test_marks_for_the_course_of_a_student_without_a_hand_in_are_one_line(course: Path, handed: Path) -> None:
    _decide(course, "s3", "--marks", "5")
    out, err = _grade(course, handed, "--roster", course / "roster.csv", "--exceptions", course / "x.toml")
    of_s3 = out[out.index("s3") :].splitlines()
    assert of_s3 == [
        "s3  5 of 19 marks, 26 %",
        "  5 marks in all: The lab's network was down (AB)",
        "s2  no hand-in",
    ]
    assert "no hand-in of 1 of 3 students: s2" in err


def test_decisions_under_two_ids_of_a_student_without_a_hand_in_count_once(
    course: Path, handed: Path
) -> None:
    _decide(course, "s2", "small/ran", "--excuse")
    _decide(course, "bob@example.edu", "small/asked", "--marks", "4")
    words = ("--roster", course / "roster.csv", "--exceptions", course / "x.toml")
    out, err = _grade(course, handed, *words, "--format", "csv")
    rows = [row for row in csv.DictReader(out.splitlines()) if row["decisions"]]
    assert [(row["ID number"], row["score"]) for row in rows] == [("s2", "4")]
    assert "bob@example.edu is not on the roster" not in err


def test_marks_for_the_course_are_shared_among_its_modules(course: Path, handed: Path) -> None:
    """A second module doubles what the course is worth, and takes half of the marks."""
    lessons = course / "lessons"
    shutil.copytree(lessons / "01-small", lessons / "02-other")
    about = lessons / "course.toml"
    about.write_text(about.read_text().replace('modules = ["small"]', 'modules = ["small", "other"]'))
    _decide(course, "ada", "--marks", "10")
    _decide(course, "ada", "other/asked", "--excuse")
    totals = []
    for module in ("small", "other"):
        out, _ = _grade(course, handed, "--exceptions", course / "x.toml", "--json", "--module", module)
        totals += [each["total"] for each in json.loads(out)["hand_ins"] if each["student"] == "ada"]
    assert totals == pytest.approx([5, 5 * 15 / 19], abs=1e-4)


def test_accepting_a_hand_in_settles_its_remarks_and_counts_it(course: Path, handed: Path) -> None:
    other = course / "other"
    other.mkdir()
    handed_in("zoe", course / "z", half, enrolled=False).rename(other / "z.tcphandin")
    out = json.loads(_grade(course, other, "--json")[0])["hand_ins"][0]
    assert (out["total"], out["refused"]) == (0, "the student is enrolled in no course, not in " + KEY.code)
    _decide(course, "z", "--accept")
    _decide(course, "z", "--same-as", "zoe")
    out = json.loads(_grade(course, other, "--json", "--exceptions", course / "x.toml")[0])["hand_ins"][0]
    assert (out["total"], out["refused"], out["student"]) == (1, "", "zoe")


def test_the_file_that_the_teacher_names_counts(course: Path, handed: Path) -> None:
    both = course / "both"
    both.mkdir()
    shutil.copy(handed / "ada.tcphandin", both / "a.tcphandin")
    later = handed_in("ada", course / "later", lambda one: one.answer(1, "which", (1,)))
    later.rename(both / "b.tcphandin")
    for name, score in (("a", 1.0), ("b", 0.0)):
        (course / "x.toml").unlink(missing_ok=True)
        _decide(course, "ada", "--accept", "--file", f"{name}.tcphandin")
        out = json.loads(_grade(course, both, "--json", "--exceptions", course / "x.toml")[0])["hand_ins"]
        assert [each["total"] for each in out if not each["instead"]] == [score]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ada", "small/askd", "--excuse"], "no page 'small/askd': did you mean small/asked?"),
        (["ada", "small/asked/wich", "--excuse"], "no activity 'wich': did you mean which?"),
        (["ada", "small/asked"], "decides nothing: give one of marks, excuse"),
        (["ada", "--excuse", "--accept"], "has excuse and accept: give one of"),
        (["ada", "--marks", "-1"], "marks -1 is out of bounds"),
        (["ada", "small/asked", "--marks", "5"], "more than small/asked is worth: give at most 4"),
        (["ada", "--marks", "50"], "is worth: give at most 19"),
        (["ada", "--deadline", "tomorrow"], "is not a time with a zone: write it like"),
        (["ada", "small/asked/which", "--hours", "5"], "has no deadline of its own"),
    ],
)
def test_a_decision_that_cannot_be_meant_is_not_written(words: list[str], said: str, course: Path) -> None:
    file = course / "x.toml"
    done = tcptutor("decide", *words, *BY, "--exceptions", file, "--course", course / "lessons")
    assert (done.returncode, file.exists()) == (2, False)
    assert said in " ".join(done.stderr.split())
    assert len(done.stderr.splitlines()) <= 2


def test_decisions_without_effect_cost_a_line_each(course: Path, handed: Path) -> None:
    lines = [
        (
            "adda",
            "small/asked",
            "excuse = true",
            "no hand-in of 'adda', of whom you decided: did you mean ada?",
        ),
        ("ada", "small/gone", "excuse = true", "decision 2: no page 'small/gone'"),
        ("ada", "small/asked", "accept = true", "changes no mark"),
        ("ada", "", 'accept = true\nfile = "nosuch.tcphandin"', "no hand-in nosuch.tcphandin of ada"),
    ]
    file = course / "x.toml"
    file.write_text(
        "\n".join(
            f'[[decision]]\nstudent = "{student}"\npage = "{page}"\n{what}\nreason = "r"\nby = "AB"'
            for student, page, what, _ in lines
        )
    )
    out, err = _grade(course, handed, "--exceptions", file)
    assert len(err.splitlines()) == len(lines)
    assert all(said in err for *_, said in lines)
    assert "nosuch" not in out


def test_a_hand_in_that_is_missing_cannot_be_accepted(course: Path, handed: Path) -> None:
    _decide(course, "s3", "--accept")
    _, err = _grade(course, handed, "--roster", course / "roster.csv", "--exceptions", course / "x.toml")
    assert "no hand-in of 's3' to accept" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[decision]]\nstudent = 3", "x.toml: decision.student: must be a text, not a whole number"),
        ('[[decision]]\nstudent = "a"\nreason = "r"', "decision.by: is missing"),
        (
            '[[decision]]\nstudent = "a"\nreason = " "\nby = "AB"\nexcuse = true',
            "decision 1, reason: is empty",
        ),
        ('[[exception]]\nstudent = "a"', "is not a key here: the keys are decision"),
        ("student", "not valid TOML"),
    ],
)
def test_a_file_of_decisions_that_is_none_stops_grading_in_one_line(
    text: str, said: str, course: Path, handed: Path
) -> None:
    (course / "x.toml").write_text(text)
    done = tcptutor("grade", handed, "--course", course / "lessons", "--exceptions", course / "x.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())


def test_a_file_of_decisions_that_is_not_applied_is_named(course: Path, handed: Path) -> None:
    folder = course / "handed"
    shutil.copytree(handed, folder / "as downloaded")
    (folder / "exceptions.toml").write_text("")
    _, err = _grade(course, folder)
    assert f"--exceptions {folder / 'exceptions.toml'}" in err and err.count("\n") == 1
    _, err = _grade(course, folder, "--exceptions", folder / "exceptions.toml")
    assert err == ""


def test_remarks_of_the_class_are_about_students_as_the_teacher_knows_them(course: Path) -> None:
    """One student enrolled twice, and handed in each time: the files share events."""
    both = course / "both"
    both.mkdir()
    with student("bbo", course / "work") as one:
        half(one)
        one.answer(5, "shell", (0,))
        one.hands_in(both / "first.tcphandin")
        one.journal.enrol("bob", KEY.code)
        one.hands_in(both / "second.tcphandin")

    def waiting() -> list[str]:
        out = json.loads(_grade(course, both, "--json", "--exceptions", course / "x.toml")[0])["hand_ins"]
        counted = [each for each in out if not each["instead"]]
        return [
            remark["text"] for each in counted for remark in each["remarks"] if remark["level"] == "decide"
        ]

    (course / "x.toml").write_text("")
    assert any("events are also in another hand-in" in text for text in waiting())
    open_remark = "  to decide: "
    assert open_remark in _grade(course, both, "--exceptions", course / "x.toml")[0]
    _decide(course, "bbo", "--same-as", "bob")
    assert not any("events are also in another hand-in" in text for text in waiting())
    (course / "x.toml").write_text("")
    for name in ("bbo", "bob"):
        _decide(course, name, "--accept")
    assert waiting() == []
    out, _ = _grade(course, both, "--exceptions", course / "x.toml")
    assert open_remark not in out and "; accepted: The lab's network was down (AB)" in out


def test_the_class_report_names_who_is_missing(course: Path, handed: Path) -> None:
    words = ["class", handed, "--course", course / "lessons", "--roster", course / "roster.csv", "--text"]
    done = tcptutor(*words)
    assert done.returncode == 0, done.stderr
    assert "2 without a hand-in: s2, s3" in done.stdout
    hidden = tcptutor(*words, "--anonymous").stdout
    assert "2 without a hand-in" in hidden and "s2" not in hidden
    found = json.loads(tcptutor(*words[:-1], "--json").stdout)
    assert found["missing"] == ["s2", "s3"]


def test_the_whole_way_from_enrolling_to_an_appeal(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As typed: two students enrol, work in the app, and submit; the teacher grades, decides, and grades again."""
    lessons, hand_ins = course / "lessons", course / "hand-ins"
    for name, typed in (("ada", "ada"), ("bob@example.edu", "bob@exampel.edu")):
        monkeypatch.setenv("XDG_DATA_HOME", str(course / f"data of {name}"))
        assert tcptutor("enrol", KEY.code, typed, "--course", lessons).returncode == 0
        (journal,) = (course / f"data of {name}").rglob("journal.db")
        with student(typed, journal.parent) as one:
            half(one)
        done = tcptutor("submit", "--course", lessons, "-o", hand_ins / f"{name}.tcphandin")
        assert done.returncode == 0, done.stderr
    listed = ("--roster", course / "roster.csv", "--exceptions", course / "x.toml")
    (course / "x.toml").write_text("")
    out, err = _grade(course, hand_ins, *listed, "--sheets", course / "sheets")
    assert "bob@exampel.edu is not on the roster; bob@example.edu is, and has no hand-in" in err
    # The sheet names the mark that ada appeals against.
    place = "small/asked/which"
    assert place in (course / "sheets" / "ada.sheet.html").read_text()
    _decide(course, "ada", place, "--marks", "2")
    _decide(course, "bob@exampel.edu", "--same-as", "bob@example.edu")
    out, err = _grade(course, hand_ins, *listed, "--format", "moodle")
    rows = {row["ID number"]: row["A course that grades"] for row in csv.DictReader(out.splitlines())}
    assert rows == {"s1": "15.79", "s2": "5.26", "s3": ""}
    assert err.splitlines() == ["tcptutor: no hand-in of 1 of 3 students: s3"]
    _grade(course, hand_ins, *listed, "--sheets", course / "sheets", "--replace")
    assert "The lab's network was down (AB)" in unescape((course / "sheets" / "ada.sheet.html").read_text())
    report = tcptutor("class", hand_ins, "--course", lessons, "--key", KEY.code, *listed, "--json")
    found = json.loads(report.stdout)
    assert [(row["student"], row["total"]) for row in found["students"]] == [
        ("ada", 3),
        ("bob@example.edu", 1),
    ]
    assert found["missing"] == ["s3"]


def test_a_file_of_decisions_that_is_not_there_says_how_to_make_it(course: Path, handed: Path) -> None:
    done = tcptutor("grade", handed, "--course", course / "lessons", "--exceptions", course / "none.toml")
    assert done.returncode == 2
    assert "tcptutor decide" in done.stderr
