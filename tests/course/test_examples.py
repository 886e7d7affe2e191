"""Worked examples: solved, then with a gap, then alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.base.errors import UsageError
from tcptutor.course.activities.example import Example, ExampleStep
from tcptutor.course.page_record import ActivityRecord, Given, PageRecord, Response

from .conftest import Edit, only, page

WINDOW = page("a-larger-window", "01-tcp-basics")
GAP = ExampleStep(
    text="So the flow gets",
    answer="window * 8 / trip",
    unit="rate",
    feedback="Divide the bits by the RTT.",
    hints=("How many bits?", "{window * 8: number} bits in {trip}."),
)


def example(*steps: ExampleStep, **more: object) -> Example:
    return Example(
        id="one", topic="window", prompt="A window of {window} and an RTT of {trip}?", steps=steps, **more
    )


SOLVED = example(*(ExampleStep(text=f"Step {number}.") for number in (1, 2, 3)))
WITH_GAP = example(
    ExampleStep(text="{window * 8: number} bits leave in each RTT."),
    GAP,
    ExampleStep(text="That is {answer}."),
    draw={"window": ("10 kB", "20 kB"), "trip": ("20 ms", "40 ms")},
)


def done(of: Example, given: Given) -> bool:
    record = ActivityRecord().with_response(Response(given, of.mark(given).correct))
    return of.is_done(PageRecord(visited=True, activities={"one": record}))


def test_a_solved_one_is_done_when_all_steps_are_shown() -> None:
    assert [done(SOLVED, (id,)) for id in SOLVED.entry_ids] == [False, False, True]
    for wrong in ((), ("gone",), SOLVED.entry_ids[:2], "1"):
        with pytest.raises(UsageError):
            SOLVED.mark(wrong)


def test_a_gap_is_done_when_it_is_right_and_has_the_numbers_drawn() -> None:
    posed = WITH_GAP.with_numbers({"window": "20 kB", "trip": "40 ms"})
    assert posed.prompt == "A window of 20 kB and an RTT of 40 ms?"
    assert posed.steps[0].text == "160000 bits leave in each RTT."
    assert posed.hints[1] == "160000 bits in 40 ms."
    assert posed.explanation == "That is 4 Mbit/s."
    assert (done(posed, "4 Mbit/s"), done(posed, "5 Mbit/s")) == (True, False)
    assert posed.mark("5 Mbit/s").feedback == "Divide the bits by the RTT."


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        (example(GAP, GAP), "step[2].answer"),
        (example(), "step"),
        (example(GAP), "step[1].answer"),
        (example(ExampleStep(text="One."), draw={"trip": ("1 s", "2 s")}), "draw"),
    ],
)
def test_what_cannot_be_worked_through_is_not_loaded(wrong: Example, key: str) -> None:
    problem = wrong.contradiction()
    assert problem is not None
    assert problem[0] == key


LINTED = {
    "no solved one before": (
        'id = "a-phone"\nset = "window"',
        'id = "a-phone"\nset = "bdp"',
        "example a-phone-far-away: set",
    ),
    "a set without a gap": (
        'id = "a-phone"\nset = "window"',
        'id = "a-phone"\nset = "mathis"',
        "lacks an example with a gap",
    ),
    "nothing to do alone": ('example = "window"\n', "", "lacks a numeric question"),
    "alone before the gap": (
        'id = "a-phone-far-away"\nset = "window"',
        'id = "a-phone-far-away"\nset = "bdp"',
        "question on-the-way: example",
    ),
    "keys of a gap": (
        'so a second has room for {1 / trip: number} of them."',
        'so a second has room for {1 / trip: number} of them."\nfeedback = "Divide."',
        "example a-phone-far-away: step[2]",
    ),
    "one hint": (
        '    "How many windows arrive in a second?",\n',
        "",
        "example a-phone-far-away: step[3].hints",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), LINTED.values(), ids=LINTED)
def test_the_linter_asks_for_a_set_in_course_order(edit: Edit, old: str, new: str, said: str) -> None:
    root: Path = only(edit(WINDOW, old, new), WINDOW)
    found = lint(root)
    assert any(said in line for line in found), found
