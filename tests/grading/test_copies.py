"""A folder that is copied, and a journal that is put back."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path

import msgspec
import pytest

from tcptutor.grading.copies import remark_copies, shared_events
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.grading.evidence.trail import EventTrail
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.journal import second_record
from tcptutor.journal.events import Enrolled, chain, decode
from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in, student

NAMES = ("ada", "bob", "cleo")


def _does_asked(one: Student) -> None:
    one.journal.visit("small", "asked")
    one.answer(1, "which")
    one.answer(1, "how-much")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One student's folder, copied by two others who enrol in it, and the hand-in of one who worked alone."""
    hand_ins = tmp_path / "class"
    hand_ins.mkdir()
    with student("nobody", tmp_path / "base", enrolled=False) as one:
        _does_asked(one)
    for name in NAMES:
        shutil.copytree(tmp_path / "base", tmp_path / name)
        with student(name, tmp_path / name) as one:
            one.answer(2, "predict", "2 Mbit/s")
            one.hands_in(hand_ins / f"{name}.tcphandin")
    handed_in("zoe", tmp_path / "zoe", _does_asked).rename(hand_ins / "zoe.tcphandin")
    return hand_ins


def _graded(kind: str, folder: Path) -> str:
    done = tcptutor("grade", folder, "--key", KEY.code, "--course", LESSONS, "-j", "1", "--format", kind)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_copies_of_a_folder_are_named_in_every_report(folder: Path, tmp_path: Path) -> None:
    for _ in ("anew", "from the cache"):
        found = json.loads(_graded("json", folder))["hand_ins"]
        remarks = {each["student"]: " ".join(remark["text"] for remark in each["remarks"]) for each in found}
        assert remarks["zoe"] == ""
        for name in NAMES:
            others = ", ".join(other for other in NAMES if other != name)
            assert (
                f"5 of its 8 events are also in 2 other hand-ins, up to the page small/asked: {others}"
                in remarks[name]
            )
    for kind in ("text", "csv"):
        assert _graded(kind, folder).count("events are also in 2 other hand-ins") == 3
    page = tmp_path / "class.html"
    shown = ("class", folder, "--key", KEY.code, "--course", LESSONS, "-j", "1")
    assert tcptutor(*shown, "--html", page).returncode == 0
    assert "5 of its 8 events are also in" in page.read_text()
    # Two pairs connect three copies.
    assert tcptutor(*shown, "--text").stdout.count("5 events in common up to small/asked") == 2
    hidden = tcptutor(*shown, "--anonymous", "--json").stdout
    assert "also in 2 other hand-ins" in hidden
    assert not any(name in hidden for name in NAMES)


def test_students_are_not_told_of_each_other(folder: Path) -> None:
    for kind in ("moodle", "lti"):
        shown = _graded(kind, folder)
        assert "also in" not in shown
    scores = {each["userId"]: each["gradingProgress"] for each in json.loads(_graded("lti", folder))}
    assert scores == {**dict.fromkeys(NAMES, "PendingManual"), "zoe": "FullyGraded"}


def test_a_copied_journal_that_is_chained_anew_is_found(folder: Path, tmp_path: Path) -> None:
    """Ada's events after an enrolment as mallory, and none of hers."""
    with open_hand_in(folder / "ada.tcphandin") as hand_in:
        events = [decode(row.data) for row in hand_in.events]
        manifest = hand_in.manifest
    first = next(event for event in events if event is not None)
    own = [Enrolled(first.at, "mallory", KEY.code), *(e for e in events if e and not isinstance(e, Enrolled))]
    target = folder / "mallory.tcphandin"
    write_hand_in(target, msgspec.structs.replace(manifest, events=len(own)), list(chain(own)), [])
    found = json.loads(_graded("json", folder))["hand_ins"]
    remarks = {each["student"]: [remark["text"] for remark in each["remarks"]] for each in found}
    assert any(" events are also in 3 other hand-ins" in text for text in remarks["mallory"])


def test_a_journal_that_was_put_back_has_one_begin_and_two_ends(tmp_path: Path) -> None:
    hand_ins = tmp_path / "class"
    hand_ins.mkdir()
    place = tmp_path / "ada"
    with student("ada", place) as one:
        one.journal.visit("small", "asked")
        one.journal.visit("small", "ran")
    shutil.copy(place / "journal.db", tmp_path / "kept.db")
    for number in (1, 2):
        with student("ada", place, enrolled=False) as one:
            one.answer(1, "which", (number,))
            one.hands_in(hand_ins / f"{number}.tcphandin")
        shutil.copy(tmp_path / "kept.db", place / "journal.db")
    found = json.loads(_graded("json", hand_ins))["hand_ins"]
    (counted,) = (each for each in found if not each["instead"])
    (remark,) = (each for each in counted["remarks"] if each["level"] == "decide")
    assert "have one begin and two ends" in remark["text"]


def test_a_later_hand_in_continues_an_earlier_one(tmp_path: Path) -> None:
    hand_ins = tmp_path / "class"
    hand_ins.mkdir()
    with student("ada", tmp_path / "ada") as one:
        for number in (1, 2):
            _does_asked(one)
            one.hands_in(hand_ins / f"{number}.tcphandin")
    found = json.loads(_graded("json", hand_ins))["hand_ins"]
    assert [each["instead"] for each in found] == ["2.tcphandin", ""]
    assert {remark["level"] for each in found for remark in each["remarks"]} == {"note"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's own data folder, in which ada has enrolled and worked."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert tcptutor("enrol", KEY.code, "ada").returncode == 0
    place = tmp_path / "data" / "tcptutor"
    _works(place)
    return place


def _works(place: Path, answer: int = 0) -> None:
    with student("ada", place, enrolled=False) as one:
        one.answer(1, "which", (answer,))


def _handed_in(place: Path, tmp_path: Path) -> list[str]:
    with student("ada", place, enrolled=False) as one:
        file = one.hands_in(tmp_path / "class" / "ada.tcphandin")
    (found,) = json.loads(_graded("json", file))["hand_ins"]
    return [remark["text"] for remark in found["remarks"]]


def test_work_in_one_journal_is_nothing_to_tell(home: Path, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    _works(home)
    assert _handed_in(home, tmp_path) == []


@pytest.mark.parametrize("way", ["the journal", "the folder", "a second folder"])
def test_wrong_attempts_that_were_made_elsewhere_are_told(
    way: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal or the whole folder is put back after it, or another folder is used for it."""
    (tmp_path / "class").mkdir()
    kept = tmp_path / "kept"
    shutil.copytree(home, kept)
    if way == "a second folder":
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "scout"))
        assert tcptutor("enrol", KEY.code, "ada").returncode == 0
        _works(tmp_path / "scout" / "tcptutor", 1)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    else:
        _works(home, 1)
        if way == "the folder":
            shutil.rmtree(home)
        shutil.copytree(kept, home, dirs_exist_ok=True)
    _works(home)
    (remark,) = _handed_in(home, tmp_path)
    assert remark.startswith("1 answer or hint is missing that the student's computer has on record")


def test_two_folders_that_are_merged_are_one_journal(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "class").mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "second"))
    assert tcptutor("enrol", KEY.code, "ada").returncode == 0
    _works(tmp_path / "second" / "tcptutor", 1)
    exported = tmp_path / "second.tcpjournal"
    assert tcptutor("journal", "export", "-o", exported).returncode == 0
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    done = tcptutor("journal", "import", exported)
    assert done.returncode == 0, done.stderr
    assert _handed_in(home, tmp_path) == []


def test_a_clock_that_was_set_back_between_two_answers_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "class").mkdir()
    now = second_record._now

    def three_days_ago(digest: bytes) -> second_record.AnswerRecord:
        found = now(digest)
        return msgspec.structs.replace(found, at=found.at - 3 * 86400)

    with monkeypatch.context() as patch:
        patch.setattr(second_record, "_now", three_days_ago)
        _works(home)
    (remark,) = _handed_in(home, tmp_path)
    assert remark.startswith("the clock was put back by 2592")


def _class_of_copies(size: int, events: int) -> list[GradedFile]:
    chance = random.Random(size)
    common = chance.randbytes(8 * events)

    def trail(number: int) -> EventTrail:
        return EventTrail(common[: 8 * (events - number)] + chance.randbytes(8 * number), ((0, "m/p"),))

    return [
        GradedFile(
            f"{number}",
            Grade(student=f"s{number}", course="C", title="", made="", marks=(), trail=trail(number)),
        )
        for number in range(size)
    ]


def test_a_class_is_compared_in_linear_time() -> None:
    """200 students, 2,000 events each, and everybody copied from everybody."""
    began = time.process_time()
    found = remark_copies(_class_of_copies(200, 2_000))
    assert time.process_time() - began < 20
    assert all(each.grade and len(each.grade.remarks) == 1 for each in found)


def test_one_equal_event_is_chance() -> None:
    grades = [
        Grade(
            student=name,
            course="C",
            title="",
            made="",
            marks=(),
            trail=EventTrail(bytes(16) + name.encode() * 8),
        )
        for name in ("a", "b")
    ]
    assert shared_events([("a", grades[0]), ("b", grades[1])]) == [[], []]
