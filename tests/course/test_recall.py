"""Recall questions: a later module opens with three, each about an earlier page."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tcptutor.authoring.lint import lint
from tcptutor.authoring.recall import opening_problem
from tcptutor.course import Course, load
from tcptutor.course.activity import Question

from .conftest import Edit, only, page

COURSE = load()
FIRST, SECOND = COURSE.modules[:2]


def opening_with(*pages: str) -> Course:
    """The course, whose second module opens with questions about those pages."""
    asked = next(each for step in FIRST.steps for each in step.activities_of(Question))
    opening = replace(
        SECOND.steps[0],
        activities=tuple(replace(asked, id=f"q{number}", recall=each) for number, each in enumerate(pages)),
    )
    second = replace(SECOND, steps=(opening, *SECOND.steps[1:]))
    return replace(COURSE, modules=(FIRST, second, *COURSE.modules[2:]))


@pytest.mark.parametrize(
    ("pages", "opens"),
    [
        (["tcp-basics/a-larger-window"] * 3, True),
        (["tcp-basics/a-larger-window"] * 2, False),
        (["tcp-basics/a-larger-window", "tcp-basics/a-larger-window", "congestion-algorithms/cubic"], False),
        ([], False),
    ],
)
def test_a_module_opens_with_three_questions_about_earlier_modules(pages: list[str], opens: bool) -> None:
    course = opening_with(*pages)
    assert (opening_problem(course.modules[1], course) == "") == opens


def test_the_first_module_and_short_ones_need_none() -> None:
    course = opening_with()
    assert opening_problem(course.modules[0], course) == ""
    short = replace(course.modules[1], steps=tuple(course.modules[1].steps[:3]))
    assert opening_problem(short, course) == ""


@pytest.mark.parametrize(
    ("recalled", "said"),
    [
        ("a-large-window", "question on-the-way: recall: "),
        ("farther-away", "comes later"),
        ("a-file-in-pieces", ""),
    ],
)
def test_the_page_recalled_has_to_be_an_earlier_one(edit: Edit, recalled: str, said: str) -> None:
    file = page("a-larger-window", "01-tcp-basics")
    root = only(edit(file, 'id = "on-the-way"', f'id = "on-the-way"\nrecall = "tcp-basics/{recalled}"'), file)
    found = [line for line in lint(root) if ": recall: " in line]
    assert bool(found) == bool(said), found
    assert not said or said in found[0]
