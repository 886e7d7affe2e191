"""`tcptutor course-key`, `enrol`, `submit` and `grade`, as a teacher and a student type them."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.commands.submit import submit
from tcptutor.commands.unmarked import remark_no_marks
from tcptutor.grading.evidence.keys import write_key
from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in, student

GRADE = ["grade", "--course", str(LESSONS)]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "course.key"
    write_key(KEY, path)
    return path


def test_a_key_is_made_once_and_tells_its_code(tmp_path: Path) -> None:
    path = tmp_path / "course.key"
    first = tcptutor("course-key", str(path))
    assert first.returncode == 0
    wrote, code = first.stdout.splitlines()
    assert wrote == f"wrote {path}: keep a copy, and share it with nobody"
    kept = path.read_bytes()
    assert tcptutor("course-key", str(path)).stdout.splitlines() == [code]
    assert path.read_bytes() == kept


def test_a_student_enrols_and_hands_in(without_state: Path, tmp_path: Path) -> None:
    nothing = tcptutor("submit", "-o", str(tmp_path / "x.tcphandin"))
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "there is no work in this course yet" in nothing.stderr
    said = tcptutor("enrol", KEY.code.lower(), "ada")
    assert (said.returncode, said.stdout.splitlines()[0]) == (
        0,
        f"enrolled in the course {KEY.code} as ada: you get your own numbers and seeds from now on",
    )
    assert (
        tcptutor("enrol", KEY.code, "ada").stdout
        == f"you are already enrolled in the course {KEY.code} as ada\n"
    )
    path = tmp_path / "ada.tcphandin"
    done = tcptutor("submit", "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"ada in the course {KEY.code}"
    assert done.stdout.splitlines()[-1].startswith(f"wrote {path}, ")
    assert (path.stat().st_mode & 0o777) == 0o600
    again = tcptutor("submit", "-o", str(path))
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
    told = json.loads(tcptutor("submit", "-o", str(path), "--replace", "--json").stdout)
    assert (told["student"], told["runs"], told["events"]) == ("ada", [], 1)
    assert len(told["pages_left"]) > 100


@pytest.mark.parametrize(
    ("deadline", "said"),
    [
        ("2020-01-31T23:59+01:00", "was due 31 January 2020 17:59 EST plus 2 h; "),
        ("2999-01-31T23:59+01:00", "due 31 January 2999 17:59 EST plus 2 h; "),
    ],
)
def test_who_hands_in_is_told_the_deadline_in_its_own_time(
    deadline: str,
    said: str,
    without_state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tcptutor("enrol", KEY.code, "ada").returncode == 0
    lessons = shutil.copytree(LESSONS, tmp_path / "lessons")
    about = lessons / "course.toml"
    text = about.read_text().replace("2030-01-31T12:00+00:00", deadline)
    about.write_text(text.replace("grace_hours = 1", "grace_hours = 2"))
    monkeypatch.setattr("tcptutor.base.places.lessons", lambda: lessons)
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    try:
        assert submit(str(tmp_path / "ada.tcphandin"), replace=False, as_json=False) == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    assert f"  {said}later work earns half\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["submit", "-o", "ada.zip"], "'ada.zip' is not a hand-in's name: use one that ends in .tcphandin"),
        (["course-key", "no/such/x.key", "--code", "--json"], "no such option"),
        (["course-key", "no-such.key", "--code"], "'no-such.key' is neither a course code"),
        (["course-key", f"{KEY.code[:-1]}7", "--code"], "is neither a course code, like"),
        (["bank"], "missing option '--format'. Choose from: gift, qti"),
        (
            ["enrol", f"{KEY.code[:-1]}{'A' if KEY.code[-1] != 'A' else 'B'}", "ada"],
            "check it for typing errors",
        ),
        (["enrol", "ABCD", "ada"], "'ABCD' is not a course code: it looks like ABCD-EFGH-2345-WXQG"),
        (["enrol", KEY.code, " "], "' ' is not a student name"),
        (["grade", "none.tcphandin"], "no hand-in none.tcphandin: `tcptutor submit` writes one"),
        (["grade", "x", "--key", "nonsense"], "'nonsense' is neither a course code"),
        (
            ["grade", "x", "--rerun", "some"],
            "--rerun 'some': give all, failed, or how many runs of each hand-in",
        ),
        (["grade", "x", "--audit", "5%"], "--audit draws by the course's key: give its file with --key"),
        (["grade", "x", "--audit", "5%", "--rerun", "all"], "give one of them"),
    ],
)
def test_bad_input_is_told_in_one_line(words: list[str], said: str, without_state: Path) -> None:
    before = set(Path().iterdir())
    done = tcptutor(*words)
    assert set(Path().iterdir()) == before
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_submit_says_what_its_file_is_worth_as_grade_does(
    without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def do(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.answer(1, "which")
        one.does_asked_and_ran()
        one.sweeps("swept-1")

    monkeypatch.setattr("tcptutor.base.places.lessons", lambda: LESSONS)
    with student("ada", places.state()) as one:
        do(one)
    file = tmp_path / "ada.tcphandin"
    printed = tcptutor("submit", "-o", str(file)).stdout
    told = json.loads(tcptutor("submit", "-o", str(file), "--replace", "--json").stdout)
    graded = json.loads(tcptutor(*GRADE, str(file), "--key", KEY.code, "--json").stdout)["hand_ins"][0]
    total = sum(mark["marks"] for mark in graded["marks"])
    assert (told["grade"]["marks"], told["grade"]["of"]) == (total, graded["of"])
    assert told["pages_left"] == ["small/swept", "small/turned", "small/by-hand"]
    reduced = {(each["page"], each["activity"]): each["outcome"] for each in told["grade"]["reduced"]}
    assert reduced == {("small/asked", "which"): "part", ("small/swept", "sweep"): "part"}
    assert f"worth {total:.4g} of {graded['of']:.4g} marks" in printed
    assert "3 pages left: swept, turned, by-hand" in printed
    assert "right after 1 wrong" in printed


def test_submit_shows_work_from_before_enrolling(
    without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcptutor.base.places.lessons", lambda: LESSONS)
    with student("ada", places.state(), enrolled=False) as one:
        one.answer(1, "how-much")
    assert tcptutor("enrol", KEY.code, "ada").returncode == 0
    told = json.loads(tcptutor("submit", "-o", str(tmp_path / "ada.tcphandin"), "--json").stdout)
    (mark,) = told["grade"]["reduced"]
    assert (mark["activity"], mark["marks"]) == ("how-much", 0)
    assert told["grade"]["remarks"]


@pytest.mark.parametrize("is_enrolled", [True, False])
def test_an_enrolled_student_is_told_that_runs_of_commands_earn_no_marks(
    is_enrolled: bool, without_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remark_no_marks()
    assert capsys.readouterr().err == ""
    with student("ada", places.state(), enrolled=is_enrolled):
        remark_no_marks()
    assert ("earns no marks" in capsys.readouterr().err) == is_enrolled


def test_hand_ins_are_graded_each_for_itself(key: Path, tmp_path: Path, without_state: Path) -> None:
    good = handed_in("ada", tmp_path / "ada", lambda one: one.does_all())
    bad = tmp_path / "bad\x1b]0;x\x07.tcphandin"
    bad.write_bytes(b"nothing")
    done = tcptutor(*GRADE, str(good), str(bad), "--key", str(key))
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "ada  19 of 19 marks, 100 %"
    assert "is not a hand-in, or damaged" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_code_is_told_alone_and_whether_it_is_one(key: Path, without_state: Path) -> None:
    for of in (str(key), KEY.code, KEY.code.lower().replace("-", "")):
        done = tcptutor("course-key", of, "--code")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{KEY.code}\n", "")


def test_marks_are_written_as_they_are_printed(tmp_path: Path, without_state: Path) -> None:
    file, path = handed_in("ada", tmp_path / "ada"), tmp_path / "marks.txt"
    tcptutor(*GRADE, str(file), "-o", str(path))
    assert path.read_text() == tcptutor(*GRADE, str(file)).stdout
    as_json = tcptutor(*GRADE, str(file), "--json").stdout
    assert as_json == tcptutor(*GRADE, str(file), "--format", "json").stdout


@pytest.mark.parametrize("kind", ["json", "csv", "gradescope", "prairielearn", "junit"])
def test_every_format_is_printed_or_written(
    kind: str, key: Path, tmp_path: Path, without_state: Path
) -> None:
    file = handed_in("ada", tmp_path / "ada")
    printed = tcptutor(*GRADE, str(file), "--key", KEY.code, "--format", kind)
    assert printed.returncode == 0, printed.stderr
    path = tmp_path / "results"
    written = tcptutor(*GRADE, str(file), "--key", str(key), "--format", kind, "-o", str(path))
    assert written.stdout == f"wrote {path}\n"
    assert path.read_text() == printed.stdout


def test_every_mark_is_told_where_that_is_asked(tmp_path: Path, without_state: Path) -> None:
    file = handed_in("ada", tmp_path / "ada", lambda one: one.answer(1, "which", (1,)))
    short, whole = tcptutor(*GRADE, str(file)).stdout, tcptutor(*GRADE, str(file), "--all").stdout
    assert "the answer is wrong" not in short
    assert "✗  small/asked which" in whole
    assert "the answer is wrong" in whole


def test_activities_of_a_page_that_were_not_done_have_one_line(tmp_path: Path, without_state: Path) -> None:
    def begins(one: Student) -> None:
        one.answer(1, "which")
        one.answer(2, "predict", "2 Mbit/s")

    lines = tcptutor(*GRADE, str(handed_in("ada", tmp_path / "ada", begins)), "--all").stdout.splitlines()
    of_page = {page: [line for line in lines if f"small/{page}" in line] for page in ("ran", "swept")}
    done, left = of_page["ran"]
    assert "✓  small/ran predict" in done
    assert left.split()[:5] == ["○", "small/ran", "0", "of", "5"]
    assert all(id in left for id in ("experiment", "largest", "after"))
    assert [line.split()[:5] for line in of_page["swept"]] == [["○", "small/swept", "0", "of", "3"]]


@pytest.mark.guest
def test_runs_are_made_again_and_compared(key: Path, tmp_path: Path, without_state: Path) -> None:
    """Ada's run is of an older lab, or of this one: it agrees."""
    file = handed_in("ada", tmp_path / "ada", Student.does_asked_and_ran)
    done = tcptutor(*GRADE, str(file), "--key", str(key), "--rerun", "all")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "ada  10 of 19 marks, 53 %"
    assert done.stdout.splitlines()[1].strip().startswith("1 run was made again: 1 ")
