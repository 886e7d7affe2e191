"""What was recorded is there when the app is opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import PREDICT, Response
from tcptutor.course.step import Step
from tcptutor.journal import Journal, Progress
from tcptutor.spec import Experiment

from .conftest import a_run, answers, begin, finish, predict


def test_everything_is_there_when_opened_again(path: Path) -> None:
    first = Journal.open(path)
    predict(first, "70 Mbit/s", 70e6)
    first.respond("m", "s", "q1", Response(("0", "2"), False))
    first.respond("m", "s", "q2", Response("3 s", True))
    first.hint("m", "s", "q1", 1)
    first.hint("m", "s", "q1", 2)
    first.visit("m", "s")
    # No close: a killed program does not close either.

    again = Journal.open(path)
    page = again.page("m", "s")
    assert page == first.page("m", "s")
    locked = page.activity(PREDICT).first
    assert locked is not None
    assert (locked.answer, locked.value) == ("70 Mbit/s", 70e6)
    assert locked.at
    assert answers(again, "m", "s") == [("q1", ("0", "2"), False), ("q2", "3 s", True)]
    assert {id: activity.hints for id, activity in page.activities.items() if activity.hints} == {"q1": 2}
    assert again.position() == ("m", "s")
    first.close()
    again.close()


def test_a_prediction_is_locked(journal: Journal) -> None:
    predict(journal, "70 Mbit/s", 70e6)
    assert predict(journal, "10 Mbit/s", 10e6).answer == "70 Mbit/s"


def test_running_without_a_prediction_locks_it_too(journal: Journal) -> None:
    assert predict(journal, "", None).value is None
    assert predict(journal, "10 Mbit/s", 10e6).value is None


def test_the_position_is_the_latest_visit(journal: Journal) -> None:
    assert journal.position() is None
    for step in ("a", "b", "a"):
        journal.visit("m", step)
    assert journal.position() == ("m", "a")


CHOICE = Alternative(text="yes", correct=True, feedback="right")
STEPS = (
    Step(id="read", title="Read", prose="…"),
    Step(
        id="all",
        title="All",
        prose="…",
        activities=(
            Predict(prompt="?"),
            RunActivity(name="m/e", experiment=Experiment(name="m/e")),
            SingleChoice(id="q", prompt="?", choices=(CHOICE,)),
        ),
    ),
)
COURSE = Course(
    title="C",
    modules=(Module(id="m", number=1, title="M", objectives=(), sources=(), steps=STEPS),),
)


def test_a_step_is_done_when_all_it_asks_for_is_done(journal: Journal) -> None:
    read, whole = STEPS
    assert journal.progress(COURSE) == {"m": Progress((False, False))}
    journal.visit("m", "read")
    assert read.is_done(journal.page("m", "read"))

    journal.visit("m", "all")
    predict(journal, "1 Mbit/s", 1e6, "m", "all")
    run = a_run()
    begin(journal, run, "m", "all")
    run.complete = False
    finish(journal, run)
    journal.respond("m", "all", "q", Response(("0",), True))
    assert not whole.is_done(journal.page("m", "all")), "a run that was cut short does not count"

    run = a_run("r2")
    begin(journal, run, "m", "all")
    run.complete = True
    finish(journal, run)
    assert journal.progress(COURSE) == {"m": Progress((True, True))}


def test_a_note_stays_until_it_is_written_anew(path: Path) -> None:
    first = Journal.open(path)
    first.note("m", "s", "ssthresh halves,\nthe rate doesn't")
    first.close()
    again = Journal.open(path)
    assert again.page("m", "s").note == "ssthresh halves,\nthe rate doesn't"
    assert again.note("m", "s", "").note == ""
    with pytest.raises(UsageError, match="20000 characters"):
        again.note("m", "s", "x" * 20_001)
    again.close()
