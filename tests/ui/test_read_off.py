"""Read off: each quantity against a run of known samples, and reading one off one's own run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest

from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.course.activities.read_off import QUANTITIES, ReadOff
from tcptutor.course.activity import MarkContext
from tcptutor.course.page_record import Response
from tcptutor.run import (
    CA_STATES,
    SSTHRESH_INFINITE,
    Environment,
    QueueSample,
    QueueTable,
    Run,
    Sample,
    SampleTable,
)
from tcptutor.spec import Experiment, Flows

from .fakes import recorded
from .made import MODULE, STEP, lossy, one_page
from .screen import keys, page_states, text, until_text

OPEN, RECOVERY = CA_STATES.index("open"), CA_STATES.index("recovery")
BLANK = dict.fromkeys(Sample.__struct_fields__, 0) | {"mss": 1448, "app_limited": False}


def sample(flow: int, tenth: int) -> Sample:
    """Flow 0 doubles to 32 segments within 0.5 s and loses at 4 s; flow 1 stands at 10 segments from the start."""
    t = tenth / 10
    if flow:
        values = {"cwnd": 10, "ssthresh": 10, "rtt": 0.05}
    else:
        lost = t >= 4
        values = {
            "cwnd": min(2**tenth, 32) if not lost else 16,
            "ssthresh": 16 if lost else 32 if t >= 0.5 else SSTHRESH_INFINITE,
            "ca_state": RECOVERY if t == 4 else OPEN,
            "retransmits": int(lost),
            "rtt": 0.02 if t < 5 else 0.04,
            "min_rtt": 0.019,
        }
    return Sample(**BLANK | values | {"flow": flow, "t": t, "bytes_acked": int(125_000 * t * (flow + 1))})


RUN = Run(
    id="r",
    experiment=Experiment(name="m/e", flows=Flows(streams=2, duration=8, warmup=2)),
    environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
    started="2026-01-01T10:20:30+00:00",
    samples=SampleTable(sample(flow, tenth) for tenth in range(101) for flow in (0, 1)),
    queue=QueueTable(
        QueueSample(t=tenth / 10, bytes=100 * min(tenth, 40), packets=0, drops=0, sent=0)
        for tenth in range(101)
    ),
    complete=True,
    experiment_s=10.0,
)
CONTEXT = MarkContext(run=RUN)


def read_off(quantity: str, **more: Any) -> ReadOff:
    texts = {
        "id": "q",
        "prompt": "What does your run show?",
        "hints": ("Look at the chart.", "Look where the line bends."),
        "explanation": "That is what the samples say.",
        "feedback": "Look at the chart again.",
    }
    return ReadOff(**texts, quantity=quantity, **more)


VALUES = {
    "end of slow start": (read_off("slow-start-end"), 0.5),
    "first loss": (read_off("first-loss"), 4.0),
    "largest cwnd": (read_off("largest-cwnd"), 32),
    "largest cwnd of flow 2": (read_off("largest-cwnd", flow=2), 10),
    "smallest RTT": (read_off("smallest-rtt"), 0.02),
    "mean RTT": (read_off("mean-rtt"), (30 * 0.02 + 51 * 0.04) / 81),
    "mean RTT of a part": (read_off("mean-rtt", start="6 s", end="8 s"), 0.04),
    "largest RTT": (read_off("largest-rtt"), 0.04),
    "largest RTT of a part": (read_off("largest-rtt", start="1 s", end="4 s"), 0.02),
    "largest cwnd of a part": (read_off("largest-cwnd", start="5 s"), 16),
    "the fastest answer": (read_off("min-rtt"), 0.019),
    "loss events": (read_off("losses"), 1),
    "loss events of a part": (read_off("losses", start="5 s", end="8 s"), 0),
    "loss events of all flows": (read_off("losses", flow=0), 1),
    "the rate at an instant": (read_off("rate-at", at="6 s"), 1e6),
    "the rate of both flows at an instant": (read_off("rate-at", at="6 s", flow=0), 3e6),
    "the longest queue": (read_off("queue-peak"), 4000),
    "the longest queue of a part": (read_off("queue-peak", end="2 s"), 2000),
    "cwnd at an instant": (read_off("cwnd-at", at="3.25 s"), 32),
    "cwnd between two samples": (read_off("cwnd-at", at="50 ms"), 1.5),
    "throughput": (read_off("throughput"), 1e6),
    "throughput of a part of flow 2": (read_off("throughput", flow=2, start="1 s", end="1.55 s"), 2e6),
}


@pytest.mark.parametrize(("activity", "value"), VALUES.values(), ids=VALUES)
def test_each_quantity_is_what_the_samples_say(activity: ReadOff, value: float) -> None:
    assert activity.measured(RUN) == pytest.approx(value)
    right = activity.reference(CONTEXT).right
    assert activity.mark(right, CONTEXT).correct
    assert activity.contradiction() is None
    assert list(activity.problems(RUN.experiment)) == []


def test_every_quantity_is_tried_here() -> None:
    assert {activity.quantity for activity, _ in VALUES.values()} == set(QUANTITIES)


@pytest.mark.parametrize(
    ("given", "correct"), [("0.5 s", True), ("800 ms", True), ("0.81 s", False), ("5 s", False)]
)
def test_an_instant_has_a_tolerance_in_time(given: str, correct: bool) -> None:
    assert read_off("slow-start-end").mark(given, CONTEXT).correct == correct


@pytest.mark.parametrize(
    ("given", "correct"), [("30", True), ("29 segments", True), ("28", False), ("36", False)]
)
def test_a_window_has_a_relative_one_and_may_say_segments(given: str, correct: bool) -> None:
    assert read_off("largest-cwnd").mark(given, CONTEXT).correct == correct


def test_the_lesson_may_give_a_tolerance() -> None:
    assert read_off("first-loss", tolerance="2 s").mark("5.9 s", CONTEXT).correct
    assert not read_off("largest-cwnd", tolerance="1 %").mark("33", CONTEXT).correct


def test_a_wrong_value_is_told_where_to_look() -> None:
    assert (
        read_off("throughput").mark("8 Mbit/s", CONTEXT).feedback.startswith("That is off by a factor of 8")
    )
    assert read_off("first-loss").mark("7 s", CONTEXT).feedback == "Look at the chart again."
    with pytest.raises(UnitError):
        read_off("first-loss").mark("7 m", CONTEXT)
    assert read_off("first-loss").mark("4", CONTEXT).correct


@pytest.mark.parametrize("quantity", ["slow-start-end", "first-loss"])
def test_what_did_not_happen_in_the_run_cannot_be_read_off(quantity: str) -> None:
    early = Run(**{name: getattr(RUN, name) for name in RUN.__struct_fields__} | {"samples": RUN.samples[:4]})
    with pytest.raises(UsageError, match="run it again"):
        read_off(quantity).mark("1 s", MarkContext(run=early))
    with pytest.raises(UsageError, match="no samples of flow 3"):
        read_off(quantity, flow=3).mark("1 s", CONTEXT)
    with pytest.raises(UsageError, match="press r to run it"):
        read_off(quantity).mark("1 s")


WRONG = {
    "flow": (read_off("first-loss", flow=-1), "flow"),
    "all flows": (read_off("first-loss", flow=0), "flow"),
    "an instant": (read_off("first-loss", at="1 s"), "at"),
    "a span": (read_off("cwnd-at", at="1 s", end="2 s"), "end"),
    "no instant": (read_off("cwnd-at"), "at"),
    "no unit": (read_off("mean-rtt", start="1"), "start"),
    "tolerance": (read_off("first-loss", tolerance="1 Mbit/s"), "tolerance"),
    "never about the run": (read_off("first-loss", about_run=False), "about_run"),
}


@pytest.mark.parametrize(("activity", "key"), WRONG.values(), ids=WRONG)
def test_what_contradicts_itself_is_not_loaded(activity: ReadOff, key: str) -> None:
    problem = activity.contradiction()
    assert problem is not None
    assert problem[0] == key


def test_the_linter_looks_at_the_experiment_of_the_page() -> None:
    assert dict(read_off("first-loss", flow=3).problems(RUN.experiment))["flow"].endswith("has only 2")
    assert (
        "after the run's end at 10 s" in dict(read_off("cwnd-at", at="11 s").problems(RUN.experiment))["at"]
    )
    assert "needs an experiment on this page" in dict(read_off("first-loss").problems(None))["about_run"]


# On the page

ACTIVITY = read_off("first-loss")


@pytest.fixture
def opened(make_app):
    @asynccontextmanager
    async def open_page():
        app = make_app(MODULE, of=one_page(lossy(), ACTIVITY))
        async with app.run_test(size=(120, 36)) as pilot:
            await until_text(pilot, "Read this.")
            yield pilot
            await app.bench.close()

    return open_page


async def test_the_run_comes_first_and_marks_what_was_read_off_it(opened, journal) -> None:
    right = recorded(lossy().experiment)
    value = units.seconds(ACTIVITY.measured(right))
    async with opened() as pilot:
        await until_text(pilot, "About your run: press r first.")
        assert "What does your run show?" not in text(pilot.app)
        await pilot.press("r")
        await until_text(pilot, "Marked against your run of 20")
        await pilot.press("tab", *keys("12 m"), "enter")
        await until_text(pilot, "may be 12 ms or 12 min")
        await pilot.press("backspace", *keys("s"), "enter")
        await until_text(pilot, "✗ Not yet. 12 s: Look at the chart again.")
        await pilot.press(*["backspace"] * 4, *keys(value), "enter")
        await until_text(pilot, f"✓ Right. {value}: Your run has {value}.")
        assert "Marked against" not in text(pilot.app)
    record = journal.page(MODULE, STEP).activity("q")
    assert (record.first.answer, record.right.answer, record.attempts) == ("12 s", value, 2)
    async with opened() as pilot:
        await until_text(pilot, f"✓ Right. {value}: Your run has {value}.")
        assert page_states(pilot.app) == ["[done]"]


async def test_what_was_right_of_an_earlier_run_stays_right(opened, journal) -> None:
    async with opened() as pilot:
        await pilot.press("r")
        await until_text(pilot, "Marked against your run of 20")
    journal.respond(MODULE, STEP, "q", Response("12 s", True))
    async with opened() as pilot:
        await until_text(pilot, "✓ Right. 12 s")


async def test_after_a_run_that_was_stopped_the_one_before_it_is_marked_against(opened, lab) -> None:
    async with opened() as pilot:
        await pilot.press("r")
        await until_text(pilot, "✓ done")
        lab.hold_at = 5.0
        await pilot.press("r")
        await until_text(pilot, "▶ 5 of 22 s")
        await pilot.press("s")
        await until_text(pilot, "cut short")
    async with opened() as pilot:
        await until_text(pilot, "cut short")
        await until_text(pilot, "Marked against your run of 20")
        await until_text(pilot, "22 s long")


async def test_a_page_that_is_opened_again_goes_on_with_the_run_of_before(opened, journal) -> None:
    value = units.seconds(ACTIVITY.measured(recorded(lossy().experiment)))
    async with opened() as pilot:
        await pilot.press("r")
        await until_text(pilot, "✓ done")
        await pilot.press("m")
        await until_text(pilot, "Continue ▸")
        await pilot.press("enter")
        await until_text(pilot, "Marked against your run of 20")
        await pilot.press("tab", *keys(value), "enter")
        await until_text(pilot, f"✓ Right. {value}: Your run has {value}.")
