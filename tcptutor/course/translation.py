"""Translated words of a page; ids, right answers and all other keys come from the original.

A translation repeats the structure of the page, limited to its words. Each part (the page's own texts, an activity, a
figure) carries a digest of the original words that it was translated from. A part whose original has changed is shown
in the original, so that marking never uses an outdated text. A text that lacks a number, a placeholder, code or a link
of the original is shown in the original as well.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from tcptutor.course.activity import text_id
from tcptutor.course.figure_places import placed
from tcptutor.course.page_references import references

Place: TypeAlias = tuple[str | int, ...]
"""Place of a text on a page: keys, and indexes in lists, such as ("question", 0, "choice", 1, "text")."""
Words: TypeAlias = dict[Place, str]
"""Texts of a page by place, in the order of the file."""
Problem: TypeAlias = tuple[str, str]
"""Key in the translation's file, and the reason that its text is not shown."""

ORIGINAL = "original"
"""Key of the digest of the words that a part was translated from."""
PROSE = "prose"
"""Place of the Markdown."""
_OF_PAGE = ("title", "subtitle", "teaser", "idea", "after_run", "published", "objectives")
_ACTIVITIES = ("example", "predict", "challenge", "shell", "question")
_PARTS = ("figure", *_ACTIVITIES)
_OF_ACTIVITY = frozenset({"prompt", "hints", "explanation", "feedback", "text"})
_OF_FIGURE = frozenset({"caption", "text", "label", "note", "parts", "send", "value"})
_NAMED = ("curve", "stack")
"""Kinds of figures whose names of axes, panels and layers are words."""
_SETTINGS = frozenset({"draw", "set"})
"""Tables whose keys are the author's names."""
_ENTRIES = ("choice", "event", "shape", "step")
"""Lists whose entries are stored in answers by a digest of their text, unless they have an id."""

_PLACEHOLDER = re.compile(r"\{[^{}\n]*\}")
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\([^()\s]*\)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")
_GROUPED = re.compile(r"(?<=\d)[,\u00a0\u202f](?=\d{3}(?!\d))")


class PageWords(NamedTuple):
    """Words of a page and its parts."""

    words: Words
    ids: dict[str, list[str]]
    """Ids of the entries of each list of parts, in order."""

    @classmethod
    def of(cls, table: Mapping[str, Any], prose: str) -> PageWords:
        """Find the words of a page's front matter and Markdown."""
        words: Words = {}
        for key in _OF_PAGE:
            words.update(_texts(table.get(key), (key,), frozenset({key})))
        if prose:
            words[PROSE,] = prose
        for key in _PARTS:
            for place, part in _entries(table.get(key), (key,)):
                words.update(_texts(part, place, _words_of(key, part)))
        ids = {key: [str(part.get("id", "")) for _, part in _entries(table.get(key), ())] for key in _PARTS}
        return cls(words, ids)

    @property
    def parts(self) -> dict[Place, Words]:
        """Words by part."""
        found: dict[Place, Words] = {}
        for place, text in self.words.items():
            found.setdefault(part_of(place), {})[place] = text
        return found

    @property
    def digests(self) -> dict[Place, str]:
        """Digest of each part's words, ignoring white space."""
        return {part: _digest(words, len(part)) for part, words in self.parts.items()}

    def name(self, part: Place) -> str:
        """Return the name of a part in messages: "question twice"."""
        if len(part) < 2:
            return str(part[0]) if part else ""
        key, index = str(part[0]), int(part[1])
        return f"{key} {self.ids[key][index]}"


class PageTranslation(NamedTuple):
    """The texts of a translation that are shown, and why the others are not."""

    words: Mapping[Place, str] = MappingProxyType({})
    problems: tuple[Problem, ...] = ()
    changed: tuple[Problem, ...] = ()
    """Parts whose original has changed since; they are shown in the original until the translator updates them."""
    given: Mapping[Place, str] = MappingProxyType({})
    """All texts of the translation that have a place on the page."""
    stated: Mapping[Place, str] = MappingProxyType({})
    """Digest of the original by part, as the translation states it."""
    left_over: tuple[str, ...] = ()
    """Texts of the translation without a place on the page."""

    def apply(
        self, table: Mapping[str, Any], prose: str, fill: Callable[[str], str] = str
    ) -> tuple[dict[str, Any], str]:
        """Return a page's front matter and Markdown with the translated words.

        Args:
            table: The original's front matter.
            prose: The original's Markdown.
            fill: Inserts the values of a variant into a translated text.
        """
        page = deepcopy(dict(table))
        for place, text in self.words.items():
            if place == (PROSE,):
                prose = fill(text)
                continue
            at: Any = page
            for step in place[:-1]:
                at = at[step]
            if place[-1] == "text" and len(place) > 2 and place[-3] in _ENTRIES and not at.get("id"):
                at["id"] = text_id(at["text"])
            at[place[-1]] = fill(text)
        return page, prose


def translate(original: PageWords, table: Mapping[str, Any], prose: str) -> PageTranslation:
    """Match a translation's front matter and Markdown with the words of the original."""
    return _Matcher(original).match(table, prose)


def part_of(place: Place) -> Place:
    """Return the part of a text: an activity, a figure, or the empty place for the page's own texts."""
    if place[0] not in _PARTS:
        return ()
    return place[:2] if isinstance(place[1], int) else place[:1]


def key_of(place: Place) -> str:
    """Return a place as an author counts: "choice[2].text"."""
    key = ""
    for step in place:
        key += f"[{step + 1}]" if isinstance(step, int) else f".{step}"
    return key.lstrip(".")


def lost(original: str, text: str) -> str:
    """Return a number, placeholder, code or link lost or added in a translation; empty if all match."""
    for what, find in _KEPT.items():
        before, now = find(original), find(text)
        if missing := sorted(before - now):
            return f"lacks the {what} {missing[0]} of the original"
        if added := sorted(now - before):
            return f"has the {what} {added[0]}, which the original lacks"
    return ""


def _numbers(text: str) -> set[str]:
    plain = _LINK.sub("", _CODE.sub("", _PLACEHOLDER.sub("", text)))
    return set(_NUMBER.findall(_GROUPED.sub("", plain)))


_KEPT: Mapping[str, Callable[[str], set[str]]] = {
    "placeholder": lambda text: set(_PLACEHOLDER.findall(text)),
    "figure": lambda text: set(placed(text)),
    "link": lambda text: {f"{found.scheme}:{found.page}" for found in references(text)},
    "code": lambda text: set(_CODE.findall(text)),
    "number": _numbers,
}
"""Parts of a text that a translation keeps."""


class _Matcher:
    def __init__(self, original: PageWords) -> None:
        self._original, self._digests = original, original.digests
        self._problems: list[Problem] = []
        self._changed: list[Problem] = []
        self._words: Words = {}
        self._given: Words = {}
        self._stated: dict[Place, str] = {}
        self._left_over: list[str] = []

    def match(self, table: Mapping[str, Any], prose: str) -> PageTranslation:
        page = {key: value for key, value in table.items() if key not in _PARTS}
        self._part((), page, {(PROSE,): prose} if prose else {})
        for key in _PARTS:
            self._parts(key, table.get(key))
        return PageTranslation(
            self._words,
            tuple(self._problems),
            tuple(self._changed),
            self._given,
            self._stated,
            tuple(self._left_over),
        )

    def _parts(self, key: str, value: object) -> None:
        ids = self._original.ids[key]
        for number, (place, table) in enumerate(_entries(value, (key,)), 1):
            id = str(table.get("id", ""))
            part: Place = (key,) if len(place) < 2 else (key, ids.index(id)) if id in ids else ()
            if part in self._digests and part:
                self._part(part, table, {})
            else:
                self._problems.append(
                    (f"{key} {id}" if id else f"{key}[{number}]", "is not on the page: remove it")
                )
                self._left_over += _all_texts(table, place).values()

    def _part(self, part: Place, table: Mapping[str, Any], prose: Words) -> None:
        own = {key: value for key, value in table.items() if key not in (ORIGINAL, "id")}
        words = {place: text for place, text in {**_all_texts(own, part), **prose}.items() if text.strip()}
        if not words:
            return
        name, stated = self._original.name(part), str(table.get(ORIGINAL, ""))
        self._stated[part] = stated
        for place, text in words.items():
            if place in self._original.words:
                self._given[place] = text
            else:
                key = " ".join(filter(None, (name, key_of(place[len(part) :]))))
                self._problems.append((key, "is not among the words of the page: remove it"))
                self._left_over.append(text)
        digest = self._digests.get(part, "")
        if stated == digest:
            self._accept(part, name)
        elif stated:
            self._changed.append(
                (name, f'the original has changed: compare, then write {ORIGINAL} = "{digest}"')
            )
        else:
            reason = f'write {ORIGINAL} = "{digest}" if it translates the present text'
            self._problems.append((f"{name}.{ORIGINAL}".lstrip("."), f"is missing: {reason}"))

    def _accept(self, part: Place, name: str) -> None:
        """Accept the texts of a part, except for texts that `lost` rejects."""
        for place, text in self._given.items():
            if part_of(place) != part:
                continue
            before = self._original.words[place]
            if reason := lost(before, text):
                key = " ".join(filter(None, (name, key_of(place[len(part) :]))))
                self._problems.append((key, reason))
            elif text.split() != before.split():
                self._words[place] = text


def _entries(value: object, place: Place) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield the tables of a key, a table or a list of tables, with their places."""
    if isinstance(value, dict):
        yield place, value
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, dict):
                yield (*place, index), each


def _words_of(key: str, part: Mapping[str, Any]) -> frozenset[str]:
    if key in _ACTIVITIES:
        return _OF_ACTIVITY
    return _OF_FIGURE | {"name"} if part.get("kind") in _NAMED else _OF_FIGURE


def _texts(value: object, place: Place, keys: frozenset[str]) -> Iterator[tuple[Place, str]]:
    """Yield the texts below `place` whose key is among `keys`."""
    for found, text in _all_texts(value, place).items():
        key = next(step for step in reversed(found) if isinstance(step, str))
        if key in keys and text.strip() and not _SETTINGS & set(found):
            yield found, text


def _all_texts(value: object, place: Place) -> Words:
    match value:
        case str():
            return {place: value}
        case dict():
            parts: Sequence[tuple[str | int, object]] = list(value.items())
        case list():
            parts = list(enumerate(value))
        case _:
            return {}
    return {found: text for step, each in parts for found, text in _all_texts(each, (*place, step)).items()}


def _digest(words: Words, skipped: int) -> str:
    """Return the digest of a part, which does not depend on its place on the page."""
    lines = "\n".join(f"{key_of(place[skipped:])}={' '.join(text.split())}" for place, text in words.items())
    return hashlib.sha256(lines.encode()).hexdigest()[:12]
