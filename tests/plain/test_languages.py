"""The same answers in two languages earn the same marks, and leave the same journal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tcptutor.base import places
from tcptutor.course.activities.choice import ChoiceQuestion, MultipleChoice, Order
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.outline import Course, OpenedCourse
from tcptutor.course.page_record import Given
from tcptutor.journal import Journal
from tcptutor.study.study import Study
from tests.course.translated import ENDING, write_translation
from tests.grading.evidence.doer import right
from tests.grading.evidence.student import KEY
from tests.plain.marks import marks_of_journal
from tests.plain.typist import do_pages

SOME = [
    "1.0",
    "tcp-basics/a-file-in-pieces",
    "tcp-basics/two-segments-at-a-time",
    "tcp-basics/a-larger-window",
    "tcp-basics/full-and-no-wait",
    "congestion-algorithms/duplicate-acks",
    "parallel-streams/one-lossy-flow",
    "parallel-streams/up-to-the-knee",
    "pacing/four-senders",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The shipped course, with a translation of all its pages."""
    folder = Path(shutil.copytree(places.shipped_lessons(), tmp_path / "lessons"))
    shutil.rmtree(folder / "de", ignore_errors=True)
    write_translation(folder, "de")
    for name in ("en", "de", "both"):
        (tmp_path / name).mkdir()
    return folder


def wrong_at_first(activity: Activity, study: Study) -> Given | None:
    """Answer every question with a mistake, and then rightly."""
    if isinstance(activity, ShellActivity):
        return None
    if isinstance(activity, Predict) and activity.unit == "number":
        return "1"
    if study.record_of(activity).attempts:
        return right(activity, study)
    if isinstance(activity, ChoiceQuestion) and not isinstance(activity, MultipleChoice):
        return activity.entry_ids[-1:]
    if isinstance(activity, Order):
        return activity.entry_ids[::-1]
    return "1" if isinstance(activity, Numeric) and activity.unit == "count" else right(activity, study)


async def work(course: Course, folder: Path) -> tuple[Journal, str]:
    """Do the pages as the same student; return the journal, and all that was printed."""
    journal = Journal.open(folder / "journal.db")
    journal.enrol("ada", KEY.code)
    typist = await do_pages(course, journal, SOME, wrong_at_first)
    return journal, typist.printed


def answers(journal: Journal) -> Iterator[object]:
    """What the journal keeps of each event, without times and the random ids of runs."""
    for event in journal.events():
        kept = msgspec.to_builtins(event)
        yield {key: kept[key] for key in ("kind", "module", "step", "activity", "response") if key in kept}


async def test_the_same_answers_in_both_languages_earn_the_same_marks(root: Path, tmp_path: Path) -> None:
    original, german = OpenedCourse(root).course, OpenedCourse(root, "de").course
    first, english_text = await work(original, tmp_path / "en")
    second, german_text = await work(german, tmp_path / "de")
    assert german_text.count(ENDING) > 200
    assert ENDING not in english_text
    expected = marks_of_journal(original, first, tmp_path / "en")
    assert sum(mark for mark, _ in expected.values()) > len(SOME)
    assert {outcome for _, outcome in expected.values()} >= {"full", "part"}
    for marking in (original, german):
        assert marks_of_journal(marking, second, tmp_path / "de") == expected
    assert [*answers(second)] == [*answers(first)]
    assert ENDING not in str([*second.events()])
    first.close(), second.close()


async def test_a_student_may_change_the_language_in_the_middle(root: Path, tmp_path: Path) -> None:
    german, original = OpenedCourse(root, "de").course, OpenedCourse(root).course
    journal, _ = await work(german, tmp_path / "both")
    before = marks_of_journal(original, journal, tmp_path / "both")
    typist = await do_pages(original, journal, SOME, wrong_at_first)
    assert "no longer has" not in typist.printed
    assert marks_of_journal(original, journal, tmp_path / "both") == before
    journal.close()
