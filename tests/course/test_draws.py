"""Numbers drawn in a question: expressions, draws, marks, and what the linter finds in a hundred of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tcptutor.base import units
from tcptutor.base.errors import ContentError, UsageError
from tcptutor.course import draws
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.quantities import Expression, ParsedQuantity

TABLE: dict[str, Any] = {
    "kind": "numeric",
    "id": "q",
    "prompt": "A window of {window}, an RTT of {rtt}: what throughput?",
    "unit": "rate",
    "answer": "window * 8 / rtt",
    "feedback": "Divide the window of {window} by the RTT.",
    "hints": ["One window leaves in each RTT.", "{window} are {window * 8: number} bits, in {rtt}."],
    "explanation": "{window} / {rtt} = {answer}.",
    "draw": {
        "window": ["32 KiB", "64 KiB", "128 KiB"],
        "rtt": {"from": "20 ms", "to": "100 ms", "step": "10 ms"},
    },
    "mistake": [
        {
            "value": "window / rtt",
            "feedback": "That is {window / rtt: size} in a second: a byte has eight bits.",
        }
    ],
}
DRAW = {"window": "64 KiB", "rtt": "40 ms"}


def asked(**changes: Any) -> Numeric:
    return msgspec.convert({**TABLE, **changes}, Numeric)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4 - 6 / 2", 11),
        ("2 ** 10", 1024),
        ("-x + 8", 5),
        ("sqrt(x + 1)", 2),
        ("min(x, 2) + max(x, 7)", 9),
        ("log2(8)", 3),
        ("ceil(10 / x) + floor(10 / x)", 7),
    ],
)
def test_arithmetic_over_names(text: str, value: float) -> None:
    assert Expression(text).value({"x": 3.0}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "x.real",
        "x if x else 1",
        "[x for x in (1, 2)]",
        "lambda: 1",
        "'a' * 9",
        "True",
        "sqrt",
        "min(x, key=x)",
        "x :",
        "",
        "1" * 300,
    ],
)
def test_all_else_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Expression(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["1 / (x - 3)", "sqrt(0 - x)", "log2(0)", "10 ** 10 ** 10", "min(x)", "1e308 * 10"]
)
def test_what_has_no_finite_value_is_said(text: str) -> None:
    with pytest.raises(UsageError):
        Expression(text).value({"x": 3.0})


def test_a_draw_is_the_same_for_the_same_seed_and_covers_all_values() -> None:
    question = asked()
    assert question.draw_numbers("a") == question.draw_numbers("a")
    seen = [question.draw_numbers(str(number)) for number in range(200)]
    assert {each["window"] for each in seen} == {"32 KiB", "64 KiB", "128 KiB"}
    assert {each["rtt"] for each in seen} == {f"{each} ms" for each in range(20, 101, 10)}


def test_a_range_of_plain_numbers_ends_at_its_end() -> None:
    assert draws.values(msgspec.convert({"from": 0.1, "to": 0.3, "step": 0.1}, draws.DrawnRange)) == (
        "0.1",
        "0.2",
        "0.3",
    )


def test_what_was_drawn_stands_in_every_text() -> None:
    posed = asked().with_numbers(DRAW)
    assert posed.prompt == "A window of 64 KiB, an RTT of 40 ms: what throughput?"
    assert posed.hints[1] == "64 KiB are 524288 bits, in 40 ms."
    assert posed.explanation == "64 KiB / 40 ms = 13.11 Mbit/s."
    assert posed.answer == "13.11 Mbit/s"


def test_it_is_marked_by_what_was_drawn() -> None:
    posed = asked().with_numbers(DRAW)
    assert posed.mark("13.1").correct
    assert not posed.mark("26.2").correct
    assert posed.mark("26.2").feedback == "Divide the window of 64 KiB by the RTT."
    assert posed.mark("1.64").feedback == "That is 1.638 MB in a second: a byte has eight bits."


def test_a_plain_question_tells_its_slips_too() -> None:
    plain = asked(
        prompt="?",
        answer="9 Mbit/s",
        draw={},
        mistake=[
            {"value": "18 Mbit/s", "feedback": "That is both ways."},
            {"value": "4.5 Mbit/s", "feedback": "That is half of it."},
        ],
    )
    assert plain.contradiction() is None
    assert plain.mark("18").feedback == "That is both ways."
    assert plain.mark("4.4").feedback == "That is half of it."
    assert plain.mark("9").correct


def test_numbers_of_another_edition_are_refused() -> None:
    with pytest.raises(UsageError):
        asked().with_numbers({"window": "64 KiB"})


def test_what_is_worked_out_reads_back() -> None:
    for kind, value in (
        ("rate", 13_107_200),
        ("time", 0.0123),
        ("ratio", 0.00123),
        ("size", 70_000),
        ("number", 2.5),
    ):
        written = draws.write(ParsedQuantity(value, kind))
        assert units.parse(written, kind) == pytest.approx(value, rel=1e-3)


UNFIT = {
    "one value": (
        {"draw": {**TABLE["draw"], "window": ["32 KiB"]}},
        "draw.window",
        "two or more different ones",
    ),
    "two kinds": (
        {"draw": {**TABLE["draw"], "window": ["32 KiB", "3 ms"]}},
        "draw.window",
        "different kinds",
    ),
    "no quantity": (
        {"draw": {**TABLE["draw"], "window": ["3 apples", "4 apples"]}},
        "draw.window",
        "write it like",
    ),
    "two units": (
        {"draw": {**TABLE["draw"], "rtt": {"from": "20 ms", "to": "1 s", "step": "10 ms"}}},
        "draw.rtt",
        "use one unit",
    ),
    "backwards": (
        {"draw": {**TABLE["draw"], "rtt": {"from": "20 ms", "to": "10 ms", "step": "1 ms"}}},
        "draw.rtt",
        "set `to` above `from`",
    ),
    "a function's name": (
        {"draw": {**TABLE["draw"], "min": ["1", "2"]}},
        "draw.min",
        "use a short lower-case word",
    ),
    "a name that is not drawn": ({"answer": "windo * 8 / rtt"}, "answer", "did you mean window?"),
    "a slip of other names": (
        {"mistake": [{"value": "loss", "feedback": "f"}]},
        "mistake[1].value",
        "no name 'loss'",
    ),
    "a placeholder of another name": ({"prompt": "{window} {rtt} {los}"}, "draw", "no name 'los'"),
    "a placeholder without its kind": ({"prompt": "{window} {rtt} {1 / rtt}"}, "draw", "has no kind"),
    "a kind that is not": ({"prompt": "{window} {rtt} {1 / rtt: speed}"}, "draw", "no kind 'speed'"),
}


@pytest.mark.parametrize(("changes", "key", "said"), UNFIT.values(), ids=UNFIT)
def test_what_could_not_be_asked_is_not_loaded(changes: dict[str, Any], key: str, said: str) -> None:
    wrong = asked(**changes).contradiction()
    assert wrong is not None
    assert wrong[0] == key
    assert said in wrong[1]


LINTED = {
    "not positive": ({"answer": "window * 8 / rtt - 20000000"}, "answer", "above 0"),
    "a division by zero in some draw": ({"answer": "window / (rtt - 0.05)"}, "answer", "above 0"),
    "a count that is not whole": (
        {"unit": "count", "answer": "window / 1448"},
        "answer",
        "ceil() or floor()",
    ),
    "a slip that is right": (
        {"mistake": [{"value": "window * 8 / max(rtt, 0.03)", "feedback": "At least 30 ms it is."}]},
        "mistake[1].value",
        "within the tolerance of the answer with",
    ),
    "a slip without a sentence": (
        {"mistake": [{"value": "window", "feedback": "No"}]},
        "mistake[1].feedback",
        "a sentence",
    ),
    "a hint that prints the answer": (
        {"hints": ["One window leaves.", "{window} / {rtt} is {answer}."]},
        "hints[2]",
        "contains the answer, {answer}",
    ),
    "a hint that works it out": (
        {"hints": ["{8 * window / rtt: rate}, is it?", "One window leaves."]},
        "hints[1]",
        "contains the answer",
    ),
    "drawn and not told": (
        {"prompt": "An RTT of {rtt}: what throughput?"},
        "prompt",
        "does not contain {window}",
    ),
    "drawn and not used": (
        {"draw": {**TABLE["draw"], "loss": ["1 %", "2 %"]}},
        "draw.loss",
        "never used",
    ),
    "too exact": ({"tolerance": 0.001}, "tolerance", "more digits"),
}


@pytest.mark.parametrize(("changes", "key", "said"), LINTED.values(), ids=LINTED)
def test_the_linter_works_out_a_hundred_draws(changes: dict[str, Any], key: str, said: str) -> None:
    question = asked(**{"about_run": False, **changes})
    assert any(found == key and said in reason for found, reason in question.problems()), list(
        question.problems()
    )


def test_a_fit_question_has_no_problem() -> None:
    assert asked().contradiction() is None
    assert list(asked().problems()) == []


@pytest.mark.parametrize(
    ("draw", "key", "said"),
    [
        ({"window": 3}, "draw", "must be a table or a list"),
        ({"rtt": {"from": "20 ms", "until": "1 s"}}, "draw.until", "the keys are from, to, step"),
    ],
)
def test_a_draw_of_another_form_names_its_key(draw: dict[str, Any], key: str, said: str) -> None:
    file = LessonFile(Path("lessons/page.md"), Path("lessons"))
    with pytest.raises(ContentError) as caught:
        file.convert_table({**TABLE, "draw": draw}, Numeric)
    assert f"page.md: {key}: " in str(caught.value)
    assert said in str(caught.value)
