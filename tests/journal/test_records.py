"""What was recorded is there when the app is opened again."""

from __future__ import annotations

from pathlib import Path

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.model import Course, Module, Step
from tcptutor.journal import Journal, Progress
from tcptutor.spec import Experiment

from .conftest import a_run


def test_everything_is_there_when_opened_again(path: Path) -> None:
    first = Journal.open(path)
    first.record_prediction("m", "s", "70 Mbit/s", 70e6)
    first.record_answer("m", "s", "q1", (0, 2), False)
    first.record_answer("m", "s", "q2", "3 s", True)
    first.record_hint("m", "s", "q1", 1)
    first.record_hint("m", "s", "q1", 2)
    first.set_position("m", "s")
    # No close: a killed program does not close either.

    again = Journal.open(path)
    kept = again.prediction("m", "s")
    assert kept is not None
    assert (kept.text, kept.value, kept.skipped) == ("70 Mbit/s", 70e6, False)
    assert [(a.question, a.answer, a.correct) for a in again.answers("m", "s")] == [
        ("q1", (0, 2), False),
        ("q2", "3 s", True),
    ]
    assert again.hints("m", "s") == {"q1": 2}
    assert again.position() == ("m", "s")
    first.close()
    again.close()


def test_a_prediction_is_locked(journal: Journal) -> None:
    journal.record_prediction("m", "s", "70 Mbit/s", 70e6)
    assert journal.record_prediction("m", "s", "10 Mbit/s", 10e6).text == "70 Mbit/s"


def test_running_without_a_prediction_locks_it_too(journal: Journal) -> None:
    assert journal.record_prediction("m", "s", "", None).skipped
    assert journal.record_prediction("m", "s", "10 Mbit/s", 10e6).skipped


def test_the_position_is_the_latest_visit(journal: Journal) -> None:
    assert journal.position() is None
    for step in ("a", "b", "a"):
        journal.set_position("m", step)
    assert journal.position() == ("m", "a")


CHOICE = Alternative(text="yes", correct=True, feedback="right")
STEPS = (
    Step(id="read", title="Read", prose="…"),
    Step(
        id="all",
        title="All",
        prose="…",
        activities=(
            Predict(ask="?"),
            RunActivity(name="m/e", experiment=Experiment(name="m/e")),
            SingleChoice(id="q", ask="?", choices=(CHOICE,)),
        ),
    ),
)
COURSE = Course(
    title="C",
    modules=(
        Module(
            id="m", number=1, title="M", objectives=(), minutes=5, sources=(), steps=STEPS, experiments={}
        ),
    ),
)


def test_a_step_is_done_when_all_it_asks_for_is_done(journal: Journal) -> None:
    read, whole = STEPS
    assert journal.progress(COURSE) == {"m": Progress(0, 2)}
    journal.set_position("m", "read")
    assert journal.step_done("m", read)

    journal.set_position("m", "all")
    journal.record_prediction("m", "all", "1 Mbit/s", 1e6)
    run = a_run()
    journal.begin_run(run, "m", "all")
    run.complete = False
    journal.finish_run(run)
    journal.record_answer("m", "all", "q", (0,), True)
    assert not journal.step_done("m", whole), "a run that was cut short does not count"

    run = a_run("r2")
    journal.begin_run(run, "m", "all")
    run.complete = True
    journal.finish_run(run)
    assert journal.progress(COURSE) == {"m": Progress(2, 2)}
