"""You are the sender: what the kernel did in the run decides, on recorded runs of the course."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as changed

from tcptutor.authoring.observations import recorded_context
from tcptutor.base.errors import UsageError
from tcptutor.course import load
from tcptutor.course.activities.sender_question import SenderMove, SenderQuestion
from tcptutor.course.activity import NO_RUN, MarkContext
from tcptutor.run import AckTable, Run
from tests.chosen import chosen

ASKED = [
    (module.id, step, question)
    for module in load().modules
    for step in module.steps
    for question in step.activities_of(SenderQuestion)
]


def question(event: str, *moves: tuple[str, str], after: str = "0 s") -> SenderQuestion:
    return SenderQuestion(
        id="now",
        prompt="What now?",
        event=event,
        after=after,
        choices=tuple(
            SenderMove(text=f"{move}", feedback="The rule of TCP says so.", does=move[0], cwnd=move[1])
            for move in moves
        ),
    )


MOVES = (("resend", "cut"), ("resend", "one"), ("new data", "grows"), ("nothing", "same"))


def run_of(page: str) -> Run:
    step = next(step for module in load().modules for step in module.steps if step.id == page)
    run = recorded_context(step, "congestion-algorithms").run
    assert run is not None
    return run


@pytest.mark.parametrize(
    ("page", "event", "right"),
    [
        ("slow-start", "ack", 2),
        ("slow-start", "loss", 0),
        ("duplicate-acks", "loss", 0),
        ("timeout", "timeout", 1),
    ],
)
def test_what_the_kernel_did_is_right(page: str, event: str, right: int) -> None:
    asked, context = question(event, *MOVES), MarkContext(run=run_of(page))
    assert asked.outcome(context).holding == (right,)
    marks = [asked.mark(chosen(asked, index), context).correct for index in range(len(MOVES))]
    assert [index for index, correct in enumerate(marks) if correct] == [right]
    assert "RFC" in asked.mark(chosen(asked, 0), context).evidence


def test_the_instant_lies_before_the_response_and_after_the_time_asked_for() -> None:
    response = question("ack", *MOVES, after="0.3 s").response(run_of("slow-start"))
    assert response is not None
    assert response.before < response.event.t
    assert response.event.t > 0.3


def test_without_such_an_event_no_answer_is_wrong() -> None:
    asked, context = question("timeout", *MOVES), MarkContext(run=run_of("slow-start"))
    mark = asked.mark(chosen(asked, 0), context)
    assert mark.correct is None
    assert "no such event" in mark.evidence


def test_a_run_without_a_trace_and_no_run_at_all() -> None:
    asked = question("loss", *MOVES)
    blank = changed(run_of("slow-start"), acks=AckTable([]))
    assert asked.mark(chosen(asked, 0), MarkContext(run=blank)).correct is None
    with pytest.raises(UsageError, match="press r"):
        asked.mark(chosen(asked, 0), NO_RUN)


def test_authors_are_told_what_the_run_cannot_decide() -> None:
    traced = run_of("slow-start").experiment
    assert not list(question("loss", *MOVES).problems(traced))
    untraced = changed(traced, flows=changed(traced.flows, acks=False))
    assert [key for key, _ in question("loss", *MOVES).problems(untraced)] == ["kind"]
    assert [key for key, _ in question("loss", *MOVES[:3], MOVES[0]).problems(traced)][-1:] == ["choice"]
    assert [key for key, _ in question("loss", *MOVES, after="soon").problems(traced)] == ["after"]


def test_pages_ask_it() -> None:
    assert {step.id for _, step, _ in ASKED} >= {"slow-start", "duplicate-acks", "timeout"}
