"""Page references checked against the order of the course, and phrases that name a page only by its position."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tcptutor.authoring.texts import texts_by_key, where
from tcptutor.base.errors import unknown
from tcptutor.course.activity import Question
from tcptutor.course.outline import Course
from tcptutor.course.page_references import PageReference, references, without_links
from tcptutor.course.step import Step

_POSITION = re.compile(
    r"\bpages?\s+(?:before|ago|back|earlier|later|after|ahead|further)\b"
    r"|\b(?:last|next|previous|preceding|following|earlier|later|first|second)\s+pages?\b",
    re.IGNORECASE,
)
"""Phrases that name a page by its position, which changes when pages are added or moved."""

_LABEL = re.compile(r"(?:^|\.)(?:title|text)$")
"""Keys of labels, which are also printed where no link works: titles, choices, goals."""


class PageOrder:
    """Order of the pages of a course. References to `unread` pages, MODULE/PAGE, are not judged."""

    def __init__(self, course: Course, unread: frozenset[str] = frozenset()) -> None:
        self._unread = unread
        pages = {f"{module.id}/{step.id}": step for module in course.modules for step in module.steps}
        self._place = {page: number for number, page in enumerate(pages)}
        self._deeper = {page for page, step in pages.items() if step.path == "deeper"}
        self._modules = tuple(module.id for module in course.modules)

    def problems(self, step: Step, page: str) -> Iterator[tuple[str, str]]:
        """Yield key and reason of every mistake in the page references of `step`, which is MODULE/PAGE."""
        for key, text in texts_by_key(step):
            for reference in references(text):
                yield from ((key, reason) for reason in self._mistakes(reference, page))
                if _LABEL.search(key):
                    yield key, "cannot have page references: write plain words"
            for reason in position_problems(text):
                yield key, reason
        for question in step.activities_of(Question):
            if question.recall:
                for reason in self._recall_mistakes(question.recall, page):
                    yield f"{where(question)}recall", reason

    def missing(self, text: str) -> Iterator[str]:
        """Yield the reasons that page references in `text` lead nowhere."""
        for reference in references(text):
            if reference.page not in self._place and reference.page not in self._unread:
                yield f"{unknown('page', reference.page, self._nearby(reference.page))}: write MODULE/PAGE"

    def _mistakes(self, reference: PageReference, page: str) -> Iterator[str]:
        place = self._place.get(reference.page)
        if place is None and reference.page in self._unread:
            return
        if place is None:
            yield unknown("page", reference.page, self._nearby(reference.page))
        elif place == self._place[page]:
            yield f"refers to the page itself, {reference.page!r}: remove the reference"
        elif reference.scheme == "page" and place > self._place[page]:
            yield f"{reference.page!r} comes later: write later: in place of page:"
        elif reference.scheme == "later" and place < self._place[page]:
            yield f"{reference.page!r} comes earlier: write page: in place of later:"
        elif reference.scheme == "page" and reference.page in self._deeper and page not in self._deeper:
            yield f"{reference.page!r} goes deeper: an essential page may refer back to essential pages only"

    def _recall_mistakes(self, recalled: str, page: str) -> Iterator[str]:
        if self._place.get(recalled, -1) > self._place[page]:
            yield f"{recalled!r} comes later: recall a page that students have read"
        else:
            yield from self._mistakes(PageReference("", "page", recalled), page)

    def _nearby(self, page: str) -> Sequence[str]:
        """Return the pages of the module that `page` names, or the modules."""
        module = page.partition("/")[0]
        return tuple(each for each in self._place if each.startswith(f"{module}/")) or self._modules


def position_problems(text: str) -> Iterator[str]:
    """Yield the phrases in `text` that name a page by its position."""
    for phrase in _POSITION.finditer(without_links(text)):
        yield (
            f"{' '.join(phrase[0].split())!r} names a page by its position: write [](page:PAGE), or for a page"
            " that comes later [](later:PAGE)"
        )
