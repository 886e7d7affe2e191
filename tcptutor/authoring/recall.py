"""Openings of modules: three questions that recall earlier modules."""

from __future__ import annotations

from tcptutor.course.activity import Question
from tcptutor.course.outline import Course, Module

RECALLED = 3
"""Recall questions on the first page of a module."""
MIN_PAGES = 8
"""Pages of a module that needs such an opening; a shorter one may be a supplement."""


def opening_problem(module: Module, course: Course) -> str:
    """Return why a module does not open with recall questions; empty if it does, and for the first module."""
    ids = [each.id for each in course.modules]
    earlier = ids[: ids.index(module.id)]
    if not earlier or len(module.steps) < MIN_PAGES:
        return ""
    questions = module.steps[0].activities_of(Question)
    recalled = sum(each.recall.partition("/")[0] in earlier for each in questions)
    if recalled == RECALLED:
        return ""
    return (
        f"opens with {recalled} questions about earlier modules: give the page {module.steps[0].id!r} {RECALLED},"
        " each with recall = 'MODULE/PAGE'"
    )
