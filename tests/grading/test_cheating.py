"""Ways to gain marks without the work, played from the data folder to the report of a class.

Each is reported by a remark that needs the teacher's decision, or is a row of the table in
assets/documentation/grading.md, with its outcome. More ways are in test_abuse.py and test_copies.py.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import pytest

from tcptutor.base import places
from tcptutor.course.activity import text_id
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.journal.events import Enrolled, JournalEvent, Responded, chain, decode
from tests.command import here as tcptutor
from tests.grading.evidence.doer import Doer
from tests.grading.evidence.student import KEY, LESSONS, Student, course, handed_in, identity, student

Outcome = Literal["reported", "admitted"]
PLAIN = 6.0
"""Marks of the small course for predictions, and answers that are the same for all students."""


class Way(NamedTuple):
    """A way to gain marks."""

    play: Callable[[Path, Path], object]
    """Gets a folder to work in, and the folder of the class's hand-ins, which has mallory's at the end."""
    outcome: Outcome
    marks: float
    """What it gains at most."""
    told: str
    """Pattern of the remarks, or begin of the row in the table."""


def _copied(source: Path, target: Path, name: str) -> Student:
    shutil.copytree(source, target)
    one = Student(name, target, enrolled=False)
    one.journal.enrol(name, KEY.code)
    one.name, one.course = name, course().for_student(identity(name))
    return one


def _hand_in(one: Student, class_: Path) -> None:
    one.hands_in(class_ / f"{one.name}.tcphandin")
    one.journal.close()


def _forged(file: Path, change: Callable[[JournalEvent], list[JournalEvent]], target: Path) -> None:
    """Write the hand-in's events anew, without its runs' files."""
    with open_hand_in(file) as hand_in:
        old = [event for row in hand_in.events if (event := decode(row.data))]
        events = [new for event in old for new in change(event)]
        made = datetime.fromisoformat(max(event.at for event in events)).isoformat(timespec="seconds")
        manifest = msgspec.structs.replace(hand_in.manifest, events=len(events), made=made)
    write_hand_in(target, manifest, list(chain(events)), [])


def enrol_last(work: Path, class_: Path) -> None:
    with student("ada", work / "base", enrolled=False) as one:
        one.does_all()
    for name in ("bob", "mallory"):
        _hand_in(_copied(work / "base", work / name, name), class_)


def take_anothers_folder(work: Path, class_: Path) -> None:
    with student("ada", work / "ada") as one:
        one.does_all()
        one.hands_in(class_ / "ada.tcphandin")
    _hand_in(_copied(work / "ada", work / "mallory", "mallory"), class_)


def take_a_folder_from_outside_the_class(work: Path, class_: Path) -> None:
    take_anothers_folder(work, class_)
    (class_ / "ada.tcphandin").unlink()


def take_a_journal_and_chain_it_anew(work: Path, class_: Path) -> None:
    file = handed_in("ada", work / "ada")
    shutil.copy(file, class_ / "ada.tcphandin")
    at = datetime.now().astimezone().isoformat(timespec="milliseconds")

    def change(event: JournalEvent) -> list[JournalEvent]:
        return [] if isinstance(event, Enrolled) else [event]

    _forged(file, change, work / "without.tcphandin")
    with open_hand_in(work / "without.tcphandin") as hand_in:
        events = [event for row in hand_in.events if (event := decode(row.data))]
        manifest = hand_in.manifest
    events.append(Enrolled(at, "mallory", KEY.code))
    manifest = msgspec.structs.replace(manifest, events=len(events), made=at)
    write_hand_in(class_ / "mallory.tcphandin", manifest, list(chain(events)), [])


def answer_by_a_program(work: Path, class_: Path) -> None:
    one = Doer(course(), work / "mallory", student="mallory", code=KEY.code)
    one.does()
    one.hands_in(class_ / "mallory.tcphandin")
    one.journal.close()


def set_the_clock_back_by(by: timedelta) -> Callable[[Path, Path], None]:
    def play(work: Path, class_: Path) -> None:
        file = handed_in("mallory", work / "mallory", lambda one: one.answer(1, "which"))

        def change(event: JournalEvent) -> list[JournalEvent]:
            at = datetime.fromisoformat(event.at) - by
            return [msgspec.structs.replace(event, at=at.isoformat(timespec="milliseconds"))]

        _forged(file, change, class_ / "mallory.tcphandin")

    return play


def call_wrong_answers_right(work: Path, class_: Path) -> None:
    def do(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.answer(1, "how-much", "1 kB")

    def lie(event: JournalEvent) -> list[JournalEvent]:
        if isinstance(event, Responded):
            event = msgspec.structs.replace(
                event, response=msgspec.structs.replace(event.response, correct=True)
            )
        return [event]

    _forged(handed_in("mallory", work / "mallory", do), lie, class_ / "mallory.tcphandin")


def leave_wrong_attempts_out(work: Path, class_: Path) -> None:
    def do(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.answer(1, "which", (0,))

    def forget(event: JournalEvent) -> list[JournalEvent]:
        return [] if isinstance(event, Responded) and event.response.answer == (text_id("RTT"),) else [event]

    _forged(handed_in("mallory", work / "mallory", do), forget, class_ / "mallory.tcphandin")


def look_up_the_answers(work: Path, class_: Path) -> None:
    """Every choice that is marked as correct is in a file next to the course."""
    lessons = "".join(path.read_text() for path in LESSONS.rglob("*.md"))
    assert "correct = true" in lessons
    file = handed_in("mallory", work / "mallory", lambda one: one.answer(1, "which"))
    shutil.copy(file, class_ / "mallory.tcphandin")


_SHARED = "events are also in another hand-in, up to the page small/by-hand: "
WAYS = [
    Way(enrol_last, "reported", PLAIN, f"1 network by hand were made before enrolling; .* {_SHARED}bob"),
    Way(take_anothers_folder, "reported", PLAIN, f"were made as ada; .* {_SHARED}ada"),
    Way(take_a_folder_from_outside_the_class, "reported", PLAIN, "were made as ada"),
    Way(take_a_journal_and_chain_it_anew, "reported", PLAIN, f"{_SHARED}ada"),
    Way(set_the_clock_back_by(timedelta(days=5 * 365)), "reported", 2, "was the clock set back?"),
    Way(set_the_clock_back_by(timedelta(days=2)), "admitted", 2, "the clock set back for a whole sitting"),
    Way(answer_by_a_program, "admitted", 8, "a program that does all pages"),
    Way(call_wrong_answers_right, "admitted", 0, "a changed app that calls every answer right"),
    Way(leave_wrong_attempts_out, "admitted", 2, "a rewritten journal without the wrong attempts and hints"),
    Way(look_up_the_answers, "admitted", 2, "looking up the answers"),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.play.__name__}-{way.outcome}")
def test_a_way_to_gain_marks_is_reported_or_admitted(way: Way, tmp_path: Path) -> None:
    class_ = tmp_path / "class"
    class_.mkdir()
    way.play(tmp_path, class_)
    given = (class_, "--key", KEY.code, "--course", LESSONS, "-j", "1", "--json")
    hand_ins = json.loads(tcptutor("grade", *given).stdout)["hand_ins"]
    (found,) = (each for each in hand_ins if each["student"] == "mallory")
    assert found["total"] <= way.marks
    decide = [remark["text"] for remark in found["remarks"] if remark["level"] == "decide"]
    survey = json.loads(tcptutor("class", *given).stdout)
    (row,) = (each for each in survey["students"] if each["student"] == "mallory")
    assert [remark["text"] for remark in row["remarks"] if remark["level"] == "decide"] == decide
    if way.outcome == "reported":
        assert re.search(way.told, "; ".join(decide))
    else:
        assert decide == []
        assert f"| {way.told}" in (places.assets() / "documentation" / "grading.md").read_text()
