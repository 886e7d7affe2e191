"""The numbers of a question that a review asks again and again."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from tcptutor.course.page_record import Response
from tcptutor.journal.events import JournalEvent, Responded, Reviewed, chain
from tcptutor.journal.fold import fold_events
from tcptutor.review import ReviewCard, find_reviews
from tcptutor.study.reviews import ReviewQuestion

from .made import DAY_0, MODULE, NUMBER, STEP, at, course

ON_PAGE = {"rate": "8 Mbit/s", "rtt": "10 ms"}


def card(reviewed_on: int) -> ReviewCard:
    """A question answered on its page, then in a review on so many days."""
    wrong = Response("9 kB", False, draw=ON_PAGE)
    events: list[JournalEvent] = [Responded(at(0), MODULE, STEP, NUMBER.id, wrong)]
    events += [Reviewed(at(day), MODULE, STEP, NUMBER.id, wrong, 0) for day in range(1, reviewed_on + 1)]
    record = fold_events(chain(events)).record
    (found,) = find_reviews(course(NUMBER), record, DAY_0 + timedelta(days=30)).cards
    return found


def test_no_student_gets_the_numbers_of_the_time_before_or_of_the_page() -> None:
    cards = [card(days) for days in range(4)]
    for student in range(200):
        by_day = [ReviewQuestion(each, f"student {student}").activity.prompt for each in cards]
        practiced = [
            ReviewQuestion(cards[0], f"student {student}", times=n).activity.prompt for n in range(4)
        ]
        for prompts in (by_day, practiced):
            assert all(one != next for one, next in pairwise(prompts)), student
            assert NUMBER.with_numbers(ON_PAGE).prompt not in prompts, student
