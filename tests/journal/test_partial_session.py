"""Goals that stay reached when a page's terminal is closed."""

from __future__ import annotations

import pytest

from tcptutor.course.goals.replay import judged
from tcptutor.course.goals.session_record import SessionLog, SessionRecord
from tcptutor.journal import goals
from tcptutor.journal.goals import PartialSession
from tests.course.goals.made import asked, netem, state, tbf

pytestmark = pytest.mark.usefixtures("without_state")

DELAYED = state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)})
SHAPED = state({"rate": 10e6}, {"s1-eth2": (tbf(10e6),)})
GOALS = [
    asked("delay", {"path.delay": "20 ms"}, stays_ticked=True),
    asked("rate", {"path.rate": "10 Mbit/s"}, stays_ticked=True),
]


def test_what_is_kept_is_there_the_next_time_and_gone_once_all_is_done() -> None:
    assert goals.load_session("module", "page") == PartialSession()
    log = SessionLog()
    log.take(DELAYED)
    kept = PartialSession(reached=("delay",), record=log.record)
    goals.save_session("module", "page", kept)
    assert goals.load_session("module", "page") == kept
    assert goals.load_session("module", "other") == PartialSession()
    goals.remove_session("module", "page")
    assert goals.load_session("module", "page") == PartialSession()


def test_whoever_grades_sees_all_sessions_that_reached_it() -> None:
    first = SessionLog()
    first.take(state())
    first.take(DELAYED)
    second = SessionLog(first.record)
    second.take(state())
    second.take(SHAPED)
    record = second.record_reached(("a", "b"))
    assert judged(GOALS, False, record, lambda _: None).done
    assert not judged(GOALS, False, SessionRecord(entries=record.entries[2:]), lambda _: None).done
    times = [entry.t for entry in record.entries]
    assert times == sorted(times)
