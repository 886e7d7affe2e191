"""Search of the find box: matches at the beginnings of words, grouped, with titles first."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

Group: TypeAlias = Literal[
    "pages", "actions", "terms", "formulas", "experiments", "questions", "runs", "settings", "text"
]

HEADS: dict[Group, str] = {
    "pages": "Pages",
    "actions": "Commands",
    "terms": "Terms",
    "formulas": "Formulas",
    "experiments": "Experiments",
    "questions": "Questions",
    "runs": "Your runs",
    "settings": "Settings",
    "text": "In the text",
}
"""Heads of the groups, in the order in which equally good groups are listed."""
_MOST_IN_GROUP = 12
"""Hits of a group to list."""
_MOST_IN_WORDS = 4
"""Listed hits of a group without the words in their titles."""
_BY_TITLE: frozenset[Group] = frozenset({"actions", "settings"})
"""Groups found only by their titles, since Enter runs them at once."""
_IN_TEXT: frozenset[Group] = frozenset({"pages", "terms"})
"""Groups with text; hits in their descriptions and texts are listed last."""
_NAMED: frozenset[Group] = frozenset({"pages", "terms", "formulas", "experiments", "runs"})
"""Groups with titles that begin with their subject; a question may begin with any word."""

_EXCERPT = 240
"""Characters of an excerpt."""
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"```.*?```|!?\[([^\]]*)\]\([^)]*\)|[*`#|]|-{3,}", re.DOTALL)

Span: TypeAlias = tuple[int, int]


class PaletteEntry(NamedTuple):
    """Something that can be found and run."""

    group: Group
    title: str
    kind: str
    """Kind and place, "page 1.9"."""
    about: str
    """Description in a line."""
    run: Callable[[], object]
    text: str = ""
    """Longer text to search."""
    is_offered: bool = False
    """True if the entry is listed before anything is typed."""
    names: tuple[str, ...] = ()
    """Other names: abbreviation, synonyms."""


class IndexedEntry(NamedTuple):
    """An entry with its words, each after a blank, so that a search compares plain strings."""

    entry: PaletteEntry
    title: str
    """Title and names."""
    about: str
    text: str
    folded: str
    """Title in lower case, with its punctuation."""
    names: frozenset[str]
    """Title and names in lower case."""


class Hit(NamedTuple):
    """An entry that was found, under the group where it is listed."""

    group: Group
    entry: PaletteEntry
    spans: tuple[Span, ...] = ()
    """Matches in the title."""
    about: str = ""
    """Description, or the sentence around the match in the text."""
    about_spans: tuple[Span, ...] = ()
    """Matches in `about`."""

    @property
    def is_in_title(self) -> bool:
        """True if the title has the words."""
        return bool(self.spans)


def indexed(entry: PaletteEntry) -> IndexedEntry:
    """Return the entry with its words."""
    titles = (entry.title, *entry.names)
    title, about = "".join(map(_words, titles)), _words(entry.about)
    text = "" if entry.group in _BY_TITLE else f"{title}{about}{_words(_plain(entry.text))}"
    folded = entry.title.casefold()
    return IndexedEntry(entry, title, about, text, folded, frozenset(map(str.casefold, titles)))


class _Found(NamedTuple):
    rank: tuple[int, int]
    """Quality of the match, the best first, and its place in the title."""
    number: int
    """Index of the entry."""


def moved(at: int, by: int, count: int) -> int:
    """Move an index by `by` entries in a list of `count`; single steps wrap, longer steps stop at the ends."""
    return (at + by) % count if abs(by) == 1 else min(max(at + by, 0), count - 1)


def search(query: str, index: Sequence[IndexedEntry]) -> list[Hit]:
    """Return the hits, group after group: the group with the best match first, text and descriptions last.

    All words of the query must begin words of the title, or words of the text. A page is also found by its number.
    """
    words = query.casefold().split()
    wanted = [folded for folded in map(_words, words) if folded]
    if not words:
        offered = [each.entry for group in HEADS for each in index if _offers(each.entry, group)]
        return [Hit(entry.group, entry, about=entry.about) for entry in offered]
    typed = " ".join(words)
    groups: dict[Group, list[_Found]] = {}
    for number, each in enumerate(index if wanted else ()):
        entry = each.entry
        if entry.group == "pages" and words == [entry.kind.rpartition(" ")[2]]:
            groups.setdefault("pages", []).append(_Found((0, 0), number))
        elif all(word in each.title for word in wanted):
            rank = _rank(typed, each), each.title.find(wanted[0])
            groups.setdefault(entry.group, []).append(_Found(rank, number))
        elif all(word in each.text for word in wanted):
            # Descriptions say more than a mention on a page.
            is_mention = not all(word in each.about for word in wanted)
            group: Group = "text" if entry.group in _IN_TEXT else entry.group
            groups.setdefault(group, []).append(_Found((_IN_WORDS + is_mention, 0), number))
    best = {group: heapq.nsmallest(_MOST_IN_GROUP, found) for group, found in groups.items()}
    order = list(HEADS)
    listed = sorted(best, key=lambda group: (group == "text", best[group][0].rank[0], order.index(group)))
    return [
        _hit(group, index[found.number].entry, words)
        for group in listed
        for place, found in enumerate(best[group])
        if group == "text" or found.rank[0] < _IN_WORDS or place < _MOST_IN_WORDS
    ]


def _offers(entry: PaletteEntry, group: Group) -> bool:
    return entry.is_offered and entry.group == group


def _hit(group: Group, entry: PaletteEntry, words: Sequence[str]) -> Hit:
    beginnings = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words]
    places = [each.search(entry.title) for each in beginnings]
    if all(places):
        spans = tuple(sorted(place.span() for place in places if place))
        return Hit(group, entry, spans, entry.about, _spans(entry.about, beginnings))
    is_about = all(each.search(entry.about) for each in beginnings)
    about = entry.about if is_about or not entry.text else _excerpt(entry.text, beginnings) or entry.about
    return Hit(group, entry, (), about, _spans(about, beginnings))


def _spans(text: str, words: Sequence[re.Pattern[str]]) -> tuple[Span, ...]:
    return tuple(sorted({match.span() for each in words for match in each.finditer(text)}))


def _words(text: str) -> str:
    """Return the words of a text in lower case, each after a blank."""
    return "".join(f" {word}" for word in _WORD.findall(text.casefold()))


def _plain(text: str) -> str:
    return _MARKS.sub(r"\1", text)


def _excerpt(text: str, words: Sequence[re.Pattern[str]]) -> str:
    """Return the sentences of `text` around the place where most words are close to each other."""
    plain = _plain(text)
    rarest = min(words, key=lambda each: len(each.findall(plain)) or len(plain))
    found = rarest.search(plain)
    at = found.start() if found else 0
    start = max(plain.rfind(end, 0, at) for end in (". ", "? ", "\n\n", "\n-")) + 1
    return " ".join(plain[start : start + _EXCERPT].split())


_IN_WORDS = 4
"""Rank of a match outside the title."""


def _rank(query: str, entry: IndexedEntry) -> int:
    """Return 0 for an exact name, 1 for leading words of the title, 2 for its leading letters, 3 otherwise."""
    if query in entry.names:
        return 0
    if entry.entry.group not in _NAMED or not entry.folded.startswith(query):
        return 3
    return 1 + entry.folded[len(query) : len(query) + 1].isalnum()
