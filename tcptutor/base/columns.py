"""Tables of text: cells aligned in columns, the same on a terminal and in a pipe. Color codes have no width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import zip_longest

WIDTH = 80
"""Characters per line of folded text."""

_MIN_FOLDED = 20
"""Characters that a folded column gets at least."""

QUANTITY_BLANK = re.compile(
    r"(?<=\d) (?=(?:%|[kMGT]?bit(?:/s)?|[kKMGT]?i?B(?:/s)?|[mµn]?s|min|h|km|bits?|bytes?|BDPs?|RTTs?"
    r"|segments?|frames?|packets?|million|billion|seconds?|minutes?|years?|times)(?!\w))"
)
"""Blank between a number and its unit."""
_COLOR = re.compile("\x1b\\[[0-9;]*m")


def table(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int] = (),
    *,
    indent: int = 2,
    gap: int = 2,
    right: bool | Sequence[bool] = False,
    fold: bool = False,
    width: int = WIDTH,
) -> list[str]:
    """Lay out `rows` in columns and return a line per row, without trailing blanks.

    Args:
        rows: Cells, the same number in each row.
        widths: Column widths; the last may be omitted. Default: the widest cell of each column.
        indent: Blanks before a line.
        gap: Blanks between columns.
        right: Right-align all columns, or each as given.
        fold: Wrap cells that are too wide.
        width: Characters per line when folding.
    """
    if not rows:
        return []
    sides = [right] * len(rows[0]) if isinstance(right, bool) else right
    if not widths:
        widest = [max(map(length, column)) for column in zip(*rows, strict=True)]
        widths = widest if any(sides) else widest[:-1]
    rest = max(_MIN_FOLDED, width - indent - sum(widths) - gap * len(widths))
    lines = []
    for row in rows:
        room = [*widths, rest][: len(row)]
        cells = [
            wrapped(cell, limit) or [""] if fold and length(cell) > limit else [cell]
            for cell, limit in zip(row, room, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (_padded(*each) for each in zip(parts, room, sides, strict=False))
            lines.append((" " * indent + (" " * gap).join(padded)).rstrip())
    return lines


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap `text` to lines of `width` characters, `indent` included; a number and its unit stay on the same line."""
    kept = QUANTITY_BLANK.sub("\N{NO-BREAK SPACE}", text)
    lines = textwrap.wrap(kept, max(width, _MIN_FOLDED), initial_indent=indent, subsequent_indent=indent)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def length(text: str) -> int:
    """Return the number of visible characters of `text`."""
    return len(_COLOR.sub("", text))


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - length(text))
    return blanks + text if right else text + blanks
