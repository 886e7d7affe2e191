"""Goals reached by hand: what a session told is evidence, and is judged anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tcptutor.course.goals import session_record
from tcptutor.course.goals.replay import judged
from tcptutor.course.goals.session_record import SessionLog, SessionRecord, StateEntry
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark
from tcptutor.grading.marking import grade_hand_in
from tcptutor.run import Finished, Run, load
from tcptutor.wire.protocol import CommandEnded, Event, RunDetected, Samples
from tests.course.goals.made import asked, netem, state
from tests.grading.evidence.student import KEY, RUNS, Student, course, handed_in

DELAYED = state({"delay": 0.04}, {"s1-eth2": (netem(delay=0.04),)})


def _mark(tmp_path: Path, do: Callable[[Student], object]) -> ActivityMark:
    with open_hand_in(handed_in("ada", tmp_path, do)) as hand_in:
        found = grade_hand_in(hand_in, course(), KEY.code)
    return next(mark for mark in found.marks if mark.activity == "shell")


def test_what_the_kernel_held_is_judged_anew(tmp_path: Path) -> None:
    mark = _mark(tmp_path, Student.works)
    assert (mark.outcome, mark.marks) == ("full", mark.of)
    assert len(mark.events) == 2


def test_goals_that_the_kernel_never_held_are_refused(tmp_path: Path) -> None:
    mark = _mark(tmp_path, lambda one: one.works(delay=0.02))
    assert (mark.outcome, mark.marks) == ("refused", 0)
    assert mark.reason == "the recorded kernel state does not show this goal: The path delays data by 40 ms"


def test_a_response_without_a_session_is_refused(tmp_path: Path) -> None:
    mark = _mark(tmp_path, lambda one: one.answer(5, "shell", ("delay",)))
    assert (mark.outcome, mark.reason) == ("refused", "nothing tells of the session it was done in")


def test_a_session_after_the_response_does_not_count(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.answer(5, "shell", ("delay",))
        one.journal.record_goals("small", "by-hand", "shell", _record([state(), DELAYED]))

    assert _mark(tmp_path, do).outcome == "refused"


def test_a_session_that_was_too_long_is_inconclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_record, "MOST_BYTES", 3000)
    mark = _mark(tmp_path, Student.works)
    assert mark.outcome == "inconclusive"
    assert mark.reason.startswith("the session was too long to be kept whole")


def test_what_no_network_has_is_refused(tmp_path: Path) -> None:
    hostile = msgspec.structs.replace(
        DELAYED,
        experiment=msgspec.structs.replace(
            DELAYED.experiment, path=msgspec.structs.replace(DELAYED.experiment.path, delay=-1e300)
        ),
    )

    def do(one: Student) -> None:
        one.journal.record_goals("small", "by-hand", "shell", _record([state(), hostile]))
        one.answer(5, "shell", ("delay",))

    mark = _mark(tmp_path, do)
    assert mark.outcome == "refused"
    assert mark.reason.startswith("the recorded session is impossible")


def _record(events: list[Event], run: Run | None = None) -> SessionRecord:
    log = SessionLog()
    for event in events:
        log.take(event, run)
    return log.record_reached(("delay",))


def test_what_was_typed_stands_in_it_and_proves_nothing() -> None:
    record = _record([state(), CommandEnded(1, "s1", "tc qdisc add ... delay 40ms", 0), state()])
    assert [(each.host, each.command, each.status) for each in record.commands] == [
        ("s1", "tc qdisc add ... delay 40ms", 0)
    ]
    # A state that is told again is one.
    assert sum(isinstance(entry, StateEntry) for entry in record.entries) == 1
    assert not judged([asked("a", {"path.delay": "40 ms"})], False, record, lambda _: None).done


def _told(run: Run, until: float) -> list[Event]:
    """A session in which that run is made, up to that time of it."""
    rows = [row for row in run.samples if row.t <= until]
    events: list[Event] = [state(), DELAYED, RunDetected(run.experiment)]
    return [*events, *(Samples(row.t, (row,)) for row in rows)]


@pytest.mark.parametrize("in_order", [False, True])
def test_goals_about_a_run_are_judged_by_its_samples(in_order: bool) -> None:
    """As the watch judged them while the session went on, at every time of the run."""
    run = load(RUNS / "ada.tcprun")
    goals = [
        asked("delay", {"path.delay": "40 ms"}),
        asked("long", {"run.duration": f">= {run.experiment_s / 2:g} s"}),
    ]
    reached = 0
    for until in (0.5, 1.0, 2.0, run.experiment_s):
        watch, log = GoalWatch(goals, in_order), SessionLog()
        for event in _told(run, until):
            watch.take(event, run)
            log.take(event, run)
        again = judged(goals, in_order, log.record_reached(("delay", "long")), lambda _: run)
        assert again.done == watch.board.done
        assert [goal.ticked for goal in again.goals] == [goal.ticked for goal in watch.board.goals]
        reached += again.done
        # Without the run there is nothing to judge by.
        assert not judged(goals, in_order, log.record_reached(("delay", "long")), lambda _: None).done
    assert 0 < reached < 4


def test_what_a_run_measured_is_judged_at_its_end() -> None:
    run = load(RUNS / "ada.tcprun")
    goals = [asked("losses", {"run.losses": ">= 1"})]
    events = _told(run, run.experiment_s)
    ended = Finished(tuple(run.flows), run.fidelity, run.experiment_s)
    for last, done in (([], False), ([ended], True)):
        log, watch = SessionLog(), GoalWatch(goals)
        for event in [*events, *last]:
            log.take(event, run, "digest")
            watch.take(event, run)
        assert watch.board.done == done
        assert judged(goals, False, log.record_reached(("delay",)), lambda _: run).done == done
