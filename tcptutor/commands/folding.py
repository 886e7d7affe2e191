"""Lines and rows of text folded at the width of the terminal: between words, further lines indented."""

from __future__ import annotations

from collections.abc import Sequence

from tcptutor.base.columns import length, table, wrapped
from tcptutor.commands.output import Tone, toned

_HANGING = "  "
"""Further indentation of a folded line."""
_GAP = 2
_LEAST = 28
"""Characters of the last column, below which it gets lines of its own."""
_HYPHEN, _UNBROKEN = "-", "\N{NON-BREAKING HYPHEN}"
"""Ids contain hyphens, and an id broken across lines cannot be copied."""


def fold_line(line: str, columns: int | None, tone: Tone | None = None) -> list[str]:
    """Fold an indented line of text; no-op if `columns` is None."""
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    lines = [line]
    if columns is not None and len(line) > columns:
        folded = wrapped(text.replace(_HYPHEN, _UNBROKEN), columns, f"{indent}{_HANGING}")
        lines = [each.replace(_UNBROKEN, _HYPHEN) for each in (folded[0].removeprefix(_HANGING), *folded[1:])]
    return lines if tone is None else [_toned(each, tone) for each in lines]


def _toned(line: str, tone: Tone) -> str:
    text = line.lstrip()
    return f"{line[: len(line) - len(text)]}{toned(text, tone)}"


def fold_rows(
    rows: Sequence[Sequence[str]], columns: int | None, indent: int = 2, right: Sequence[bool] = ()
) -> list[str]:
    """Lay out rows in columns, and fold the last column or put it below the rest if space is short.

    Args:
        rows: Cells, the same number in each row.
        columns: Width of the terminal; None to leave lines unfolded.
        indent: Blanks before a line.
        right: Whether each column is right-aligned; none by default.
    """
    if not rows:
        return []
    sides = right or [False] * len(rows[0])
    widest = [max(map(length, column)) for column in zip(*rows, strict=True)]
    if columns is None or indent + sum(widest) + _GAP * (len(widest) - 1) <= columns:
        return table(rows, indent=indent, right=sides)
    widths = widest[:-1]
    if columns - indent - sum(widths) - _GAP * len(widths) >= min(_LEAST, widest[-1]):
        unbroken = [[cell.replace(_HYPHEN, _UNBROKEN) for cell in row] for row in rows]
        lines = table(unbroken, widths, indent=indent, right=sides, fold=True, width=columns)
        return [line.replace(_UNBROKEN, _HYPHEN) for line in lines]
    found = []
    below = " " * (indent + widths[0] + _GAP)
    for *cells, last in rows:
        (whole,) = table([[*cells, last]], widths, indent=indent, right=sides)
        if length(whole) <= columns:
            found.append(whole)
        else:
            found += table([cells], widths, indent=indent, right=sides[:-1])
            found += fold_line(f"{below}{last}", columns)
    return found
