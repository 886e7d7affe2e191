"""The glossary: lessons/glossary.toml, the terms that the course explains.

A page's prose sets each in **bold** where it is explained, and no page does so again (`authoring.wording` holds it to
that).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from tcptutor.base.errors import ContentError
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.toml import COLLECTION

NAME = "glossary.toml"
_BOLD = re.compile(r"\*\*([^*]+)\*\*")


class Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[term]]`"""

    word: str
    short: str = ""
    """Its abbreviation: "RTT"."""
    also: tuple[str, ...] = ()
    """Other words for it, and other forms of the word."""
    text: str
    """What it is, in one to three sentences."""
    read: str
    """The page that explains it, `module/page`."""

    @property
    def title(self) -> str:
        """ "round-trip time, RTT"."""
        return ", ".join(filter(None, (self.word, self.short)))

    @property
    def forms(self) -> tuple[str, ...]:
        """All that it may be called."""
        return tuple(filter(None, (self.word, self.short, *self.also)))


class GlossaryFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """lessons/glossary.toml"""

    terms: tuple[Term, ...] = msgspec.field(default=(), name="term")


@lru_cache(maxsize=8)
def glossary(root: Path) -> tuple[Term, ...]:
    """The terms of the course in the folder `root`, in the order of its file; none where it has none.

    Raises ContentError for a file that cannot be read. Read once.
    """
    path = root / NAME
    return LessonFile(path, root).read(GlossaryFile, COLLECTION).terms if os.path.lexists(path) else ()


def readable_glossary(root: Path | None) -> tuple[Term, ...]:
    """The terms for a student: none where it cannot be read, which the linter tells of."""
    try:
        return glossary(root) if root else ()
    except ContentError:
        return ()


def of_name(terms: tuple[Term, ...], name: str) -> Term | None:
    """The term that is called so, whatever its capitals, in the singular or the plural."""
    wanted = {name.casefold(), name.casefold().removesuffix("s")}
    return next((term for term in terms if wanted & {form.casefold() for form in term.forms}), None)


def bold(prose: str) -> Iterator[str]:
    """What stands in bold, in order."""
    for match in _BOLD.finditer(prose):
        yield " ".join(match[1].split())
