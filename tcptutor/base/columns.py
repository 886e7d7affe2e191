"""Tables of text: cells in columns, the same on a terminal and in a pipe. Colours take no room."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import zip_longest

WIDTH = 80
"""Characters of a line that is meant to be folded."""

_NARROWEST = 20
"""Of a column that is folded, however little room there is."""

_QUANTITY = re.compile(r"(?<=\d) (?=\S)")
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


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
    """`rows` in columns, a line each, without blanks at its end.

    widths: of the columns, the last of which may be left out; without any, as wide as the widest cell.
    indent: blanks before a line; gap: blanks between columns. right: cells stand at the right of their column, of all
    columns or of each. fold: cells that are too wide go on below, in lines of `width` characters.
    """
    if not rows:
        return []
    sides = [right] * len(rows[0]) if isinstance(right, bool) else right
    if not widths:
        widest = [max(map(length, column)) for column in zip(*rows, strict=True)]
        widths = widest if any(sides) else widest[:-1]
    rest = max(_NARROWEST, width - indent - sum(widths) - gap * len(widths))
    lines = []
    for row in rows:
        room = [*widths, rest][: len(row)]
        cells = [
            wrapped(cell, most) or [""] if fold and length(cell) > most else [cell]
            for cell, most in zip(row, room, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (_padded(*each) for each in zip(parts, room, sides, strict=False))
            lines.append((" " * indent + (" " * gap).join(padded)).rstrip())
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of that many characters; a number and its unit stay together."""
    lines = textwrap.wrap(_QUANTITY.sub("\N{NO-BREAK SPACE}", text), width)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def length(text: str) -> int:
    """The characters of `text` that show."""
    return len(_COLOUR.sub("", text))


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - length(text))
    return blanks + text if right else text + blanks
