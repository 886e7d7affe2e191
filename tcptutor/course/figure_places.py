"""Places of figures in texts: lines such as `![](figure:ID)`, where the page has a `[[figure]]` with that id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tcptutor.figures.figure import Figure

_PLACE = re.compile(r"^[ \t]*!\[[^\]\n]*\]\(figure:(?P<id>[^()\s]*)\)[ \t]*$", re.MULTILINE)


def placed(text: str) -> list[str]:
    """Return the ids of the figures placed in `text`, in order."""
    return [match["id"] for match in _PLACE.finditer(text)]


def is_place(text: str) -> bool:
    """Return whether `text` is the place of a figure."""
    return _PLACE.fullmatch(text.strip("\n")) is not None


def without_figures(text: str) -> str:
    """Return `text` without the lines that place figures."""
    return _PLACE.sub("", text) if "](figure:" in text else text


def split(text: str, figures: Sequence[Figure]) -> Iterator[str | Figure]:
    """Split `text` at the figures it places, and yield texts and figures in order.

    A place without a figure in `figures` is skipped.
    """
    by_id = {figure.id: figure for figure in figures}
    end = 0
    for match in _PLACE.finditer(text):
        yield from filter(None, [text[end : match.start()].strip()])
        yield from filter(None, [by_id.get(match["id"])])
        end = match.end()
    yield from filter(None, [text[end:].strip()])
