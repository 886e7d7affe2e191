"""The linter on choices that give the answer away, and the statistics that it reports."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tcptutor.authoring.banks import bank_problems
from tcptutor.authoring.choices import choice_problems, choice_statistics, module_choice_problem
from tcptutor.course import Module
from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.step import Step


def question(id: str, *texts: str, right: int = 0, **more: Any) -> SingleChoice:
    choices = tuple(
        Alternative(text=each, correct=at == right, feedback="For this reason, and no other.")
        for at, each in enumerate(texts)
    )
    return SingleChoice(id=id, prompt="Which?", explanation="It is so.", choices=choices, **more)


def page(*questions: SingleChoice) -> Step:
    return Step(id="page", title="A page", prose="Read.", activities=questions)


def module(*questions: SingleChoice) -> Module:
    return Module(id="m", number=1, title="M", objectives=(), sources=(), steps=(page(*questions),))


SHORT = [question(f"s{number}", "a", "bb", "cc", "dd") for number in range(7)]
LONG = [question(f"l{number}", "aaa", "bb", "cc", "dd") for number in range(3)]


def test_a_module_may_have_few_right_choices_that_are_the_longest() -> None:
    assert module_choice_problem(module(*SHORT, *LONG)) == ""
    found = module_choice_problem(module(*SHORT[:5], *LONG))
    assert "3 of 8" in found
    assert "page/l0" in found


def test_a_single_choice_needs_four_choices_or_a_reason() -> None:
    three = question("q", "a", "b", "c")
    assert [key for key, _ in choice_problems(page(three))] == ["question q: choice"]
    reasoned = question("q", "a", "b", "c", few_choices="There are three states.")
    assert list(choice_problems(page(reasoned))) == []
    needless = question("q", "a", "b", "c", "d", few_choices="There are three states.")
    assert [key for key, _ in choice_problems(page(needless))] == ["question q: few_choices"]


@pytest.mark.parametrize("hint", ["Look at choice 2 again.", "The last option is a trap."])
def test_no_text_names_a_choice_by_its_place(hint: str) -> None:
    asked = question("q", "a", "b", "c", "d", hints=("Think.", hint))
    assert [key for key, _ in choice_problems(page(asked))] == ["question q: hints[2]"]


def test_a_choice_about_the_others_keeps_its_place() -> None:
    asked = question("q", "a", "b", "c", "None of these")
    assert [key for key, _ in choice_problems(page(asked))] == ["question q: choice[4].text"]


def test_the_right_choice_is_everywhere_equally_often() -> None:
    found = choice_statistics(module(*SHORT, *LONG))
    assert (found.questions, found.longest_share) == (10, 0.3)
    assert all(0.2 < share < 0.3 for share in found.positions)


def test_a_question_stands_alone_in_a_bank_or_stays_out_of_it() -> None:
    asked = structs.replace(question("q", "a", "b", "c", "d"), prompt="What does this page show?")
    assert [key for key, _ in bank_problems(page(asked))] == ["question q: prompt"]
    assert not list(bank_problems(page(structs.replace(asked, bank=False))))
    first, *others = question("q", "a", "b", "c", "d").choices
    empty = structs.replace(first, feedback="Look at your run.")
    asked = structs.replace(question("q", "a", "b", "c", "d"), choices=(empty, *others))
    assert [key for key, _ in bank_problems(page(asked))] == ["question q: choice[1].feedback"]
    also = structs.replace(first, feedback="It fell. Look at your run.")
    asked = structs.replace(asked, choices=(also, *others))
    assert not list(bank_problems(page(asked)))
