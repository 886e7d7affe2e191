"""Pages of a module as the map lists them: kind, minutes, state, and filters of states."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tcptutor.course import duration
from tcptutor.course.activity import Question
from tcptutor.course.outline import Module
from tcptutor.course.page_record import PageRecord
from tcptutor.course.paths import PRETEST
from tcptutor.journal.fold import JournalRecord, known_steps
from tcptutor.study.pages import has_mistake
from tcptutor.study.tally import MIN_TALLY_QUESTIONS

if TYPE_CHECKING:
    from tcptutor.course.step import Step

MapState = Literal["done", "due", "wrong", "read", "new", "known", "skipped"]
"""State of a page. It is "wrong" after a wrong answer without a later right answer, "due" if a review is due."""


class MapPage(NamedTuple):
    """A page in the map."""

    step: Step
    number: int
    """From 1; 0 for the pre-test."""
    kind: str
    minutes: int
    state: MapState
    is_on_path: bool
    is_bookmarked: bool
    can_restore: bool
    """True if a reset can be taken back."""

    @property
    def is_left(self) -> bool:
        """True if the page keeps its module incomplete."""
        return self.number > 0 and self.is_on_path and self.state in ("wrong", "read", "new")

    def is_about(self, words: str) -> bool:
        """Return True if all words begin words of the page's number, title and kind."""
        text = f" {self.number} {self.step.title} {self.kind}".casefold()
        return all(re.search(rf"(?<!\w){re.escape(word)}", text) for word in words.casefold().split())


class MapFilter(NamedTuple):
    """Pages to list."""

    name: str
    keeps: Callable[[MapPage], bool]


FILTERS = (
    MapFilter("all", lambda _: True),
    MapFilter("path", lambda page: page.number > 0 and page.is_on_path),
    MapFilter("left", lambda page: page.is_left),
    MapFilter("wrong", lambda page: page.state == "wrong"),
    MapFilter("due", lambda page: page.state == "due"),
    MapFilter("skipped", lambda page: page.state in ("known", "skipped")),
    MapFilter("marked", lambda page: page.is_bookmarked),
)
"""Filters in the order of their keys, from 1."""


def map_pages(record: JournalRecord, module: Module, due: Container[tuple[str, str]] = ()) -> list[MapPage]:
    """Return the pages of a module, the pre-test first; `due` has module and step of pages to review."""
    known = known_steps(record, module)
    steps = [(0, module.pretest)] if module.pretest else []
    return [
        MapPage(
            step,
            number,
            kind_of(step),
            duration.minutes(step),
            _state(
                step,
                page := record.page(module.id, step.id),
                is_known=step.id in known,
                is_due=(module.id, step.id) in due,
            ),
            step.is_on(record.path),
            page.bookmarked,
            page.archived is not None and not page.has_work,
        )
        for number, step in (*steps, *enumerate(module.steps, start=1))
    ]


def kind_of(step: Step) -> str:
    """Return the kind of page, named after its main activity."""
    if step.id == PRETEST:
        return "pre-test"
    kinds = (
        (step.challenge, "challenge"),
        (step.shell, "by hand"),
        (step.sweep, "sweep"),
        (step.experiment, "run"),
    )
    asked = len(step.activities_of(Question)) >= MIN_TALLY_QUESTIONS
    return next((kind for activity, kind in kinds if activity), "questions" if asked else "read")


def minutes_left(pages: Sequence[MapPage]) -> int:
    """Return the time for the pages that keep their module incomplete, min."""
    return duration.total_minutes(page.step for page in pages if page.is_left)


def _state(step: Step, page: PageRecord, *, is_known: bool, is_due: bool) -> MapState:
    if step.is_done(page):
        return "due" if is_due else "done"
    if has_mistake(page):
        return "wrong"
    if page.skipped:
        return "skipped"
    if is_known:
        return "known"
    return "read" if page.visited else "new"
