"""Glossary of terms the course explains: lessons/glossary.toml.

A page's prose sets a term in **bold** where it explains it, once in the course (`authoring.wording` checks
this).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from tcptutor.base.errors import ContentError
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.page_references import PageTitles

NAME = "glossary.toml"
_BOLD = re.compile(r"\*\*([^*]+)\*\*")


class Term(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Entry of the glossary: `[[term]]`."""

    word: str
    """The term, as pages write it."""
    abbreviation: str = ""
    """Abbreviation: "RTT"."""
    synonyms: tuple[str, ...] = ()
    """Synonyms and other forms of the word."""
    text: str
    """Definition in one to three sentences."""
    page: str
    """Page that explains the term, `module/page`."""
    experiment: str = ""
    """Experiment that shows it, `module/name`; empty for none."""

    @property
    def title(self) -> str:
        """Word and abbreviation: "round-trip time, RTT"."""
        return ", ".join(filter(None, (self.word, self.abbreviation)))

    @property
    def forms(self) -> tuple[str, ...]:
        """Every name of the term."""
        return tuple(filter(None, (self.word, self.abbreviation, *self.synonyms)))

    @property
    def other_words(self) -> tuple[str, ...]:
        """Synonyms that are other words, not plurals and spellings of the term."""
        own = {_stem(self.word), _stem(self.abbreviation)}
        return tuple(each for each in self.synonyms if _stem(each) not in own)


def _stem(word: str) -> str:
    return word.casefold().replace("-", "").rstrip("es")


class GlossaryFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of lessons/glossary.toml."""

    terms: tuple[Term, ...] = msgspec.field(default=(), name="term")


@lru_cache(maxsize=8)
def glossary(root: Path, language: str = "") -> tuple[Term, ...]:
    """Return the terms of the course in `root`, in file order, with a cache; empty without a glossary.

    Args:
        root: Folder of the course.
        language: Translation to show where it has a term; empty for the original.

    Raises:
        ContentError: The file cannot be read.
    """
    file = LessonFile(root / NAME, root)
    if not os.path.lexists(file.path):
        return ()
    table = file.tables(file.text())
    original = file.convert_table(PageTitles(root).completing("")(table), GlossaryFile).terms
    if not language:
        return original
    from tcptutor.course.translated_files import Translation  # noqa: PLC0415  # most courses have no translation

    translation = Translation(root, language)
    try:
        shown = {**table, "term": [*translation.read_glossary(table).tables]}
        titles = PageTitles(root, translation.title)
        return file.convert_table(titles.completing("")(shown), GlossaryFile).terms
    except ContentError:  # the linter reports it
        return original


def readable_glossary(root: Path | None, language: str = "") -> tuple[Term, ...]:
    """Return the terms to show to a student; empty if the file is damaged, which the linter reports."""
    try:
        return glossary(root, language) if root else ()
    except ContentError:
        return ()


def of_name(terms: tuple[Term, ...], name: str) -> Term | None:
    """Find the term with that name, ignoring case and a plural "s"."""
    wanted = {name.casefold(), name.casefold().removesuffix("s")}
    return next((term for term in terms if wanted & {form.casefold() for form in term.forms}), None)


def terms_in(terms: Sequence[Term], text: str) -> list[Term]:
    """Return the terms that a text uses, in the order of their first use."""
    by_form = {form.casefold(): term for term in terms for form in term.forms}
    if not by_form:
        return []
    longest_first = sorted(by_form, key=len, reverse=True)
    form = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    words = " ".join(text.casefold().split())
    return list(dict.fromkeys(by_form[found[0]] for found in form.finditer(words)))


def bold(prose: str) -> Iterator[str]:
    """Yield the bold phrases of `prose`, in order."""
    for match in _BOLD.finditer(prose):
        yield " ".join(match[1].split())
