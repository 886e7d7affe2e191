"""The paths through the course as files have them: times, pre-tests, and what the linter refuses."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.authoring.paths import misplaced_skips, pretest_problems, unexplained_terms
from tcptutor.course import Course, Module, OpenedCourse, duration
from tcptutor.course.activities.choice import Alternative, Order, SingleChoice
from tcptutor.course.activity import Question
from tcptutor.course.glossary import Term
from tcptutor.course.paths import PRETEST
from tcptutor.course.step import Step

from .conftest import Edit, only

BASICS = "01-tcp-basics"


def question(number: int, *skips: str) -> SingleChoice:
    choices = (
        Alternative(text="yes", correct=True, feedback="This is right."),
        Alternative(text="no", feedback="This is wrong."),
    )
    return SingleChoice(id=f"q{number}", prompt="Is it?", choices=choices, skips=skips)


def module(*questions: Question) -> Module:
    pretest = Step(id=PRETEST, title="Before", prose="Five questions.", activities=questions)
    steps = (Step(id="first", title="First", prose="The queue is **short**."),)
    return Module(
        id="m",
        number=1,
        title="M",
        objectives=(),
        sources=(),
        steps=steps,
        read_pretest=lambda: pretest,
    )


def test_a_pretest_of_five_questions_about_its_module_is_sound() -> None:
    assert not list(pretest_problems(module(*(question(number, "first") for number in range(5)))))


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        (None, "question"),
        (question(9), "question q9: skips"),
        (question(9, "second"), "question q9: skips"),
        (Order(id="q9", prompt="In order?", skips=("first",)), "question q9: kind"),
    ],
    ids=["four questions", "skips nothing", "skips a page elsewhere", "an order"],
)
def test_an_unsound_pretest_is_refused(changed: Question | None, key: str) -> None:
    questions = [*(question(number, "first") for number in range(4)), *([changed] if changed else [])]
    assert [where for where, _ in pretest_problems(module(*questions))] == [key]


def test_only_a_pretest_skips_pages() -> None:
    page = Step(id="first", title="First", prose="Words.", activities=(question(1, "first"),))
    assert [key for key, _ in misplaced_skips(page)] == ["question q1: skips"]


def test_a_pretest_is_not_a_page_of_its_module(lessons: Path) -> None:
    opened = OpenedCourse(only(lessons, f"{BASICS}/00-pretest.md"))
    (basics,) = opened.course.modules
    assert basics.pretest is not None and len(basics.pretest.activities) == 5
    assert basics.pretest not in basics.steps
    assert basics.steps[0].id == "a-file-in-pieces"


def test_a_damaged_pretest_leaves_the_module_without_one(edit: Edit) -> None:
    file = f"{BASICS}/00-pretest.md"
    opened = OpenedCourse(only(edit(file, 'kind = "numeric"', 'kind = "riddle"'), file))
    (basics,) = opened.course.modules
    assert basics.pretest is None and basics.steps
    assert any("00-pretest.md" in str(problem) for problem in opened.problems())


TERMS = (
    Term(word="round-trip time", abbreviation="RTT", text="From here to there and back.", page="m/deep"),
    Term(word="goodput", text="What arrives without repeats.", page="m/deep"),
)


@pytest.mark.parametrize(
    ("prose", "found"),
    [
        ("The RTT is short.", 1),
        ("The round-trip time is short.", 0),
        ("The goodput is high, `goodput` in code.", 1),
        ("More on [goodput](later:m/deep) and [RTT](later:m/deep).", 0),
        ("Nothing new.", 0),
    ],
)
def test_an_essential_page_explains_its_terms_on_the_essentials(prose: str, found: int) -> None:
    essential = Step(id="essential", title="E", prose=prose)
    deep = Step(id="deep", title="D", prose="**RTT** and **goodput**.", path="deeper", teaser="why")
    whole = Course(title="C", modules=(msgspec.structs.replace(module(), steps=(essential, deep)),))
    assert [page for page, _, _ in unexplained_terms(TERMS, whole)] == ["m/essential"] * found


def test_a_page_takes_longer_with_more_to_read_and_to_answer() -> None:
    short = Step(id="s", title="S", prose="word " * 200)
    assert duration.minutes(short) == 1
    assert duration.minutes(msgspec.structs.replace(short, prose="word " * 1000)) == 5
    asked = msgspec.structs.replace(short, activities=tuple(question(number) for number in range(9)))
    assert duration.minutes(asked) == 4
    assert duration.total_minutes([short] * 6) == 10
    assert duration.total_minutes([]) == 0
