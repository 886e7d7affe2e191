"""Titled edges of a panel's parts, with the keys that act there.

─ cwnd, segments ───────────────────── i look ─ c chart ─
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.figures.lines import FRAME, MUTED, STRONG, Line, Piece

MIN_HEIGHT = 30
"""Lines of a panel from which its parts have edges."""

_RULE = "─"

Keys = tuple[tuple[str, str], ...]
"""(key as shown, label), in order."""


class EdgeKeys(NamedTuple):
    """Keys in the edges of a panel."""

    chart: Keys = ()
    views: Keys = ()
    """Keys that switch the view."""


def edge(title: Line, width: int, keys: Keys = ()) -> Line:
    """Return the upper edge of a part, `width` columns wide; its keys lose their labels where room is scarce."""
    head = Line.of((f"{_RULE} ", FRAME), *title.pieces(), (" ", FRAME))
    with_labels, bare = (Line.of(*_pieces(keys, labels)) for labels in (True, False))
    tail = with_labels if head.width + with_labels.width <= width else bare
    rule = Line.of((_RULE * max(0, width - head.width - tail.width), FRAME))
    return Line.of(*head.pieces(), *rule.pieces(), *tail.pieces()).fit(width)


def room(width: int, keys: Keys = ()) -> int:
    """Return the columns of a title in an edge."""
    return width - 3 - Line.of(*_pieces(keys, False)).width


def named(name: str, width: int, keys: Keys = ()) -> Line:
    """Return the upper edge of a part with a name."""
    return edge(Line.of((name, STRONG)), width, keys)


def _pieces(keys: Sequence[tuple[str, str]], labels: bool) -> list[Piece]:
    pieces: list[Piece] = []
    for key, label in keys:
        words: list[Piece] = [(f" {label}", MUTED)] if labels else []
        pieces += [(" ", FRAME), (key, STRONG), *words, (f" {_RULE}", FRAME)]
    return pieces
