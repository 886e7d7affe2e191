"""Reports of pages and comments of a teacher: each is recorded once, within bounds, and survives a reset."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course.page_record import Response, TeacherComment
from tcptutor.journal import Journal
from tcptutor.journal.events import Reported

from .conftest import happened

COMMENT = TeacherComment("Look at the unit.", "q", "Dr. Who")


def test_a_comment_is_recorded_once_and_new_until_the_page_is_opened(journal: Journal) -> None:
    assert journal.comment("m", "s", COMMENT)
    assert not journal.comment("m", "s", COMMENT)
    assert journal.page("m", "s").comments == (COMMENT,)
    journal.visit("m", "s")
    (comment,) = journal.page("m", "s").comments
    assert not comment.is_new
    assert not journal.comment("m", "s", COMMENT)
    assert journal.comment("m", "s", TeacherComment("Better."))
    assert [each.is_new for each in journal.page("m", "s").comments] == [False, True]


def test_comments_survive_a_reset_and_what_it_brings_back(journal: Journal) -> None:
    journal.respond("m", "s", "q", Response("4", correct=True))
    journal.comment("m", "s", COMMENT)
    journal.reset("m", "s")
    journal.comment("m", "s", TeacherComment("Again?"))
    assert len(journal.page("m", "s").comments) == 2
    journal.restore("m", "s")
    assert len(journal.page("m", "s").comments) == 2


def test_a_report_is_an_event_and_no_work(journal: Journal) -> None:
    journal.report("m", "s", " The chart has no axis. ")
    assert not journal.page("m", "s").is_touched
    (event,) = happened(journal)
    assert isinstance(event, Reported)
    assert event.text == "The chart has no axis."


@pytest.mark.parametrize("text", ["", "  ", "x" * 501, "two\nlines", "\x1b[31m"])
def test_a_report_is_one_printable_line(text: str, journal: Journal) -> None:
    with pytest.raises(UsageError):
        journal.report("m", "s", text)
    assert journal.event_count == 0


@pytest.mark.parametrize("text", ["", "\n", "x" * 2001, "\u202e"])
def test_a_comment_is_a_printable_text(text: str, journal: Journal) -> None:
    with pytest.raises(UsageError):
        journal.comment("m", "s", TeacherComment(text))
    assert journal.event_count == 0
