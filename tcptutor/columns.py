"""Tables of text: cells in columns, the same on a terminal and in a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

WIDTH = 80
"""Characters of a line that is meant to be folded."""


def table(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int] = (),
    *,
    indent: int = 2,
    gap: int = 2,
    right: bool = False,
    fold: bool = False,
) -> list[str]:
    """`rows` in columns, a line each, without blanks at its end.

    widths: of the columns, the last of which may be left out; without any, as wide as the widest cell.
    indent: blanks before a line; gap: blanks between columns. right: cells stand at the right of their column.
    fold: cells that are too wide go on below, in lines of WIDTH columns.
    """
    if not widths:
        widest = [max(map(len, column)) for column in zip(*rows, strict=True)]
        widths = widest if right else widest[:-1]
    rest = WIDTH - indent - sum(widths) - gap * len(widths)
    lines = []
    for row in rows:
        room = [*widths, rest][: len(row)]
        cells = [
            textwrap.wrap(cell, width) or [""] if fold else [cell]
            for cell, width in zip(row, room, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (
                part.rjust(width) if right else part.ljust(width)
                for part, width in zip(parts, room, strict=True)
            )
            lines.append((" " * indent + (" " * gap).join(padded)).rstrip())
    return lines
