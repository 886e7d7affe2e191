"""Wording checks: bold terms, spelling of terms, repeated words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tcptutor.authoring.paths import unexplained_terms
from tcptutor.authoring.texts import texts_by_key
from tcptutor.base.errors import ContentError
from tcptutor.course.activity import is_sentence
from tcptutor.course.experiments import Catalogue
from tcptutor.course.glossary import NAME, Term, bold, glossary
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.outline import Course
from tcptutor.course.page_references import without_links
from tcptutor.course.paths import PRETEST
from tcptutor.course.step import Step

_CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`]*`|(?<!\w)\w+_\w+", re.DOTALL)
"""Code blocks, code spans, and identifiers such as fq_codel."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_JOINT = re.compile(r"[\s\u2010-\u2014-]+|")
"""Separator, possibly empty, between two words of a term."""
_TWICE = re.compile(r"\b([a-z]+)\s+\1\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
MOST_SENTENCES = 3


class PageText(NamedTuple):
    """Text of the course, with its place."""

    file: LessonFile
    key: str
    text: str


def wording(
    course: Course, root: Path, files: dict[tuple[str, str], Path], unread: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Yield every problem of terms and words, one line each.

    Args:
        course: The course.
        root: Its folder.
        files: Page files by module and step.
        unread: Pages that could not be read, MODULE/PAGE.
    """
    try:
        terms = glossary(root)
    except ContentError as error:
        yield str(error)
        return
    own = LessonFile(root / NAME, root)
    pages = {
        f"{module.id}/{step.id}": (step, LessonFile(files[module.id, step.id], root))
        for module in course.modules
        for step in module.steps
    }
    names = Catalogue(root).names
    yield from (str(own.problem(reason, key)) for key, reason in _entries(terms, (*pages, *unread), names))
    yield from _explained(terms, pages, own)
    yield from _too_early(terms, pages)
    for page, key, reason in unexplained_terms(terms, course):
        yield str(pages[page][1].problem(reason, key))
    spelling = Spelling(terms)
    pretests = [
        (module.pretest, LessonFile(files[module.id, PRETEST], root))
        for module in course.modules
        if module.pretest is not None
    ]
    texts = [
        PageText(file, key, text)
        for step, file in (*pages.values(), *pretests)
        for key, text in texts_by_key(step)
    ]
    texts += [PageText(own, f"term {term.word!r}", term.text) for term in terms]
    for file, key, linked in texts:
        text = without_links(linked)
        for repeated in _TWICE.finditer(text):
            yield str(file.problem(f"repeats a word: {repeated[0]!r}", key))
        for written, right in spelling.misspelt(text):
            yield str(file.problem(f"{written!r} is spelled {right!r} in {NAME}", key))


def _entries(
    terms: tuple[Term, ...], pages: tuple[str, ...], experiments: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield key and reason of the glossary's own mistakes."""
    first: dict[str, Term] = {}
    for term in terms:
        key = f"term {term.word!r}"
        for form in term.forms:
            other = first.setdefault(form.casefold(), term)
            if other is not term:
                yield key, f"{form!r} already belongs to the term {other.word!r}: remove it from one of them"
        sentences = len(_SENTENCE_END.findall(term.text))
        if not is_sentence(term.text) or not 1 <= sentences <= MOST_SENTENCES:
            yield f"{key}.text", f"has {sentences} sentences: write one to {MOST_SENTENCES}"
        if term.page not in pages:
            yield f"{key}.page", f"no page {term.page!r}: write MODULE/PAGE"
        if term.experiment and term.experiment not in experiments:
            yield f"{key}.experiment", f"no experiment {term.experiment!r}: write MODULE/EXPERIMENT"


def _explained(
    terms: tuple[Term, ...], pages: dict[str, tuple[Step, LessonFile]], own: LessonFile
) -> Iterator[str]:
    """Check that each term is bold exactly once, on the page named in its entry."""
    by_form = {form.casefold(): term for term in terms for form in term.forms}
    where: dict[str, str] = {}
    for page, (step, file) in pages.items():
        for word in bold(step.prose):
            term = by_form.get(word.casefold())
            if term is None:
                reason = f"**{word}** is not a term of {NAME}: use bold only for terms at their first use"
                yield str(file.problem(reason, "prose"))
            elif term.word in where:
                reason = (
                    f"**{word}** is already explained on {where[term.word]!r}: use bold only at the first use"
                )
                yield str(file.problem(reason, "prose"))
            else:
                where[term.word] = page
    for term in terms:
        bold_on = where.get(term.word)
        if bold_on is None and term.page in pages:
            reason = f"is not in **bold** in the prose of {term.page!r}"
            yield str(own.problem(reason, f"term {term.word!r}.page"))
        elif bold_on is not None and bold_on != term.page:
            yield str(
                own.problem(f"must be {bold_on!r}, where the term is in bold", f"term {term.word!r}.page")
            )


def _too_early(terms: tuple[Term, ...], pages: dict[str, tuple[Step, LessonFile]]) -> Iterator[str]:
    """Check that no page uses an abbreviation before the page that explains it."""
    order = list(pages)
    first = {
        term.abbreviation: order.index(term.page)
        for term in terms
        if term.abbreviation and term.page in pages
    }
    for number, (step, file) in enumerate(pages.values()):
        found = {word.removesuffix("s") for word in _WORD.findall(_CODE.sub(" ", step.prose))}
        for short in sorted(found & first.keys()):
            if number < first[short]:
                reason = f"{short!r} is explained only later, on {order[first[short]]!r}: spell it out"
                yield str(file.problem(reason, "prose"))


class Spelling:
    """Spelling of terms: hyphens, spaces and capitals as in the glossary."""

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self._forms = {form for term in terms for form in term.forms}
        self._by_letters = {"".join(_WORD.findall(form)).casefold(): form for form in self._forms}
        self._beginnings = {
            f"{letters}s"[:end] for letters in self._by_letters for end in range(1, len(letters) + 2)
        }
        self._most_words = max((len(_WORD.findall(form)) for form in self._forms), default=0)

    def misspelt(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each misspelled term with its right spelling, ignoring code."""
        text = _CODE.sub(lambda code: " " * len(code[0]), text)
        words = list(_WORD.finditer(text))
        at = 0
        while at < len(words):
            end, form = self._longest(text, words, at)
            if form:
                written = " ".join(text[words[at].start() : words[end].end()].split())
                if not self._is_right(written):
                    yield written, form
            at = end + 1

    def _longest(self, text: str, words: list[re.Match[str]], at: int) -> tuple[int, str]:
        """Return the last word and right form of the longest term starting at that word; empty for none."""
        last, found, letters = at, "", ""
        for end in range(at, min(at + self._most_words, len(words))):
            if end > at and not _JOINT.fullmatch(text, words[end - 1].end(), words[end].start()):
                break
            letters += words[end][0].casefold()
            if letters not in self._beginnings:
                break
            form = self._by_letters.get(letters) or self._by_letters.get(letters.removesuffix("s"))
            if form is not None:
                last, found = end, form
        return last, found

    def _is_right(self, written: str) -> bool:
        """Return True for a form or its plural, possibly capitalized at the start of a sentence."""
        singular = written.removesuffix("s")
        small = {each[:1].lower() + each[1:] for each in (written, singular)}
        return bool(({written, singular} | small) & self._forms)
