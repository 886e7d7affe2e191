"""From page to page, across modules."""

from __future__ import annotations

from itertools import pairwise

from tcptutor.course import OpenedCourse
from tcptutor.journal import Journal
from tcptutor.study.pages import neighbor, next_on_path

from .four_modules import four_modules
from .record import COURSE


def test_every_page_leads_to_the_next_and_back() -> None:
    course = four_modules()
    every = [(module, step) for module in course.modules for step in module.steps]
    for before, after in pairwise(every):
        assert neighbor(course, *before, 1) == after
        assert neighbor(course, *after, -1) == before
    assert neighbor(course, *every[0], -1) is None
    assert neighbor(course, *every[-1], 1) is None


def test_a_page_amid_its_module_needs_no_other_module(journal: Journal) -> None:
    course = OpenedCourse(COURSE).course
    first, second = course.modules
    assert next_on_path(course, first, first.steps[0], journal) == (first, first.steps[1])
    assert not second.is_read
    assert next_on_path(course, first, first.steps[1], journal) == (second, second.steps[0])
