"""The report of a lecture."""

from __future__ import annotations

from tcptutor.room.lecture_report import report_text
from tcptutor.room.lecture_state import LectureState
from tcptutor.room.slides import Lecture
from tests.room.lectures import slide

LECTURE = Lecture(title="L", slides=(slide("one"), slide("two", minutes=0), slide("three", minutes=5)))


def test_slides_that_were_shown_have_their_minutes_beside_the_plan() -> None:
    state = LectureState(slide_seconds={0: 90.0, 1: 30.0}, elapsed_s=120.0)
    lines = [line.split() for line in report_text(LECTURE, state, "votes").splitlines()]
    assert ["1.5", "1.0", "1", "one"] in lines
    assert ["0.5", "2", "two"] in lines
    assert ["2.0", "6.0", "all"] in lines
    assert lines[-1] == ["votes"]
    assert not any("three" in line for line in lines)
