"""Search of the palette: matches at the beginnings of words, grouped, with those in titles first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

Group: TypeAlias = Literal["actions", "pages", "terms", "experiments", "settings", "text"]

HEADS: dict[Group, str] = {
    "actions": "Now",
    "pages": "Pages",
    "terms": "Terms",
    "experiments": "Experiments",
    "settings": "Settings",
    "text": "In the text",
}
"""Heads of the groups, in the order in which equally good groups are listed."""
_MOST_IN_GROUP = 12
"""Hits of a group to list."""

_EXCERPT = 240
"""Characters of an excerpt."""
_NAME = re.compile(r"[^,(]*[^,( ]|")
"""Title without abbreviation and synonyms."""

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


class Hit(NamedTuple):
    """An entry that was found, under the group where it is listed."""

    group: Group
    entry: PaletteEntry
    spans: tuple[Span, ...] = ()
    """Matches in the title."""
    about: str = ""
    """Description, or the words around the match in the text."""


def search(query: str, entries: Sequence[PaletteEntry]) -> list[Hit]:
    """Return the hits, group after group: the group with the best match first, text and descriptions last.

    All words of the query must begin words of the title, or words of the text. Actions are found by their titles alone,
    since Enter runs them at once. A page is also found by its number, "1.9".
    """
    words = query.casefold().split()
    if not words:
        offered = [entry for group in HEADS for entry in entries if _offers(entry, group)]
        return [Hit(entry.group, entry, about=entry.about) for entry in offered]
    beginnings = [re.compile(rf"(?<!\w){re.escape(word)}") for word in words]
    groups: dict[Group, list[tuple[tuple[int, int], Hit]]] = {}
    for entry in entries:
        if entry.group == "pages" and words == [entry.kind.rpartition(" ")[2]]:
            groups.setdefault(entry.group, []).append(((0, 0), Hit(entry.group, entry, (), entry.about)))
            continue
        title = entry.title.casefold()
        places = [each.search(title) for each in beginnings]
        if all(places):
            spans = tuple(sorted(place.span() for place in places if place))
            rank = (_rank(" ".join(words), title), spans[0][0])
            groups.setdefault(entry.group, []).append((rank, Hit(entry.group, entry, spans, entry.about)))
        elif entry.group not in ("actions", "settings"):
            text = f"{entry.title} {entry.about} {entry.text}".casefold()
            if all(each.search(text) for each in beginnings):
                # Descriptions say more than a mention on a page.
                is_mention = not all(each.search(entry.about.casefold()) for each in beginnings)
                about = _excerpt(entry.text, beginnings) if is_mention else entry.about
                groups.setdefault("text", []).append(((int(is_mention), 0), Hit("text", entry, about=about)))
    order = list(HEADS)
    for hits in groups.values():
        hits.sort(key=lambda ranked: ranked[0])
    ordered = sorted(groups, key=lambda group: (group == "text", groups[group][0][0][0], order.index(group)))
    return [hit for group in ordered for _, hit in groups[group][:_MOST_IN_GROUP]]


def _offers(entry: PaletteEntry, group: Group) -> bool:
    return entry.is_offered and entry.group == group


def _excerpt(text: str, words: Sequence[re.Pattern[str]]) -> str:
    """Return the sentences of `text` around the first match."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|[*`#]|```.*?```", r"\1", text)
    found = next((match for each in words if (match := each.search(plain.casefold()))), None)
    at = found.start() if found else 0
    start = max(plain.rfind(end, 0, at) for end in (". ", "? ", "\n\n", "\n-")) + 1
    return " ".join(plain[start : start + _EXCERPT].split())


def _rank(query: str, title: str) -> int:
    """Return 0 for the title itself, 1 for a whole word at its beginning, 2 for its beginning, 3 otherwise."""
    if query == _NAME.match(title)[0]:  # type: ignore[index]  # it matches every text
        return 0
    if not title.startswith(query):
        return 3
    return 1 + title[len(query) : len(query) + 1].isalnum()
