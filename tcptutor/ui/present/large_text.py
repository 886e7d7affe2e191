"""Large letters and digits in blocks: three cells high, also half as wide, or five with rounded corners.

A half block is about as wide as high, so that a pixel of `large_glyphs` is a square in most fonts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Literal

from tcptutor.base.columns import wrapped
from tcptutor.ui.present.large_glyphs import ROWS, glyphs

Size = Literal[1, 2, 3, 5]
"""Ordinary text (1), or height of block letters above the base line, cells; 2 is 3 at half the width."""

OF_AXES: tuple[Size, Size] = (2, 3)
"""Sizes of the numbers of axes, narrow and wide."""

_BLANK_PIXELS = 2
"""Pixels of a blank, besides the pixel after each glyph."""
_BLOCKS = {"..": " ", "#.": "▀", ".#": "▄", "##": "█"}
_QUADRANTS = dict(
    zip(
        ("".join(each) for each in product(".#", repeat=4)),
        (" ", "▗", "▖", "▄", "▝", "▐", "▞", "▟", "▘", "▚", "▌", "▙", "▀", "▜", "▛", "█"),
        strict=True,
    )
)
"""Blocks by the upper two and the lower two of their quarters."""
_SAME = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "“": '"',
        "”": '"',
        "−": "-",
        "\N{NO-BREAK SPACE}": " ",
        "…": "...",
        "≤": "<=",
        "≥": ">=",
        "≈": "~",
    }
)


def is_drawable(text: str) -> bool:
    """Return True if every character has a block glyph, at least without its accent."""
    return all(character == " " or character in glyphs() for character in _folded(text))


def height(size: Size) -> int:
    """Return the lines of a text of this size, with descenders."""
    return {1: 1, 2: 3, 3: 3, 5: 6}[size]


def width(text: str, size: Size) -> int:
    """Return the width of a single-line text, columns."""
    if size == 1:
        return len(text)
    pixels = len(_pixels(_folded(text))[0]) - 1 if text else 0
    return (pixels + 1) // 2 if size == 2 else 2 * pixels if size == 5 else pixels


@lru_cache(256)
def draw(text: str, size: Size) -> tuple[str, ...]:
    """Return the lines of a text, all equally wide; `height` of them, or five of a large text without descenders."""
    if size == 1:
        return (text,)
    rows: Sequence[str] = [row[:-1] for row in _pixels(_folded(text))]
    if size == 5:
        rows = _doubled(rows if "#" in rows[-1] else rows[:-1])
    if size == 2:
        return tuple(
            "".join(
                _QUADRANTS[rows[at][x : x + 2].ljust(2, ".") + rows[at + 1][x : x + 2].ljust(2, ".")]
                for x in range(0, len(rows[at]), 2)
            )
            for at in range(0, len(rows), 2)
        )
    return tuple(
        "".join(_BLOCKS[upper + lower] for upper, lower in zip(rows[at], rows[at + 1], strict=True))
        for at in range(0, len(rows), 2)
    )


def wrap(text: str, columns: int, size: Size) -> list[str]:
    """Break a text into lines that are at most so wide; a longer word has a line of its own."""
    if size == 1:
        return wrapped(text, columns)
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _folded(text: str) -> str:
    """Return the text without typographic variants and, where a glyph lacks it, without accents."""
    text = text.translate(_SAME)
    if all(character == " " or character in glyphs() for character in text):
        return text
    return "".join(
        each
        for character in text
        for each in (character if character in glyphs() else unicodedata.normalize("NFKD", character))
        if not unicodedata.combining(each)
    )


def _pixels(text: str) -> list[str]:
    blank = ("." * _BLANK_PIXELS,) * ROWS
    return ["".join(f"{glyphs().get(each, blank)[row]}." for each in text) for row in range(ROWS)]


def _doubled(rows: Sequence[str]) -> list[str]:
    """Return twice as many pixels in both directions, with corners rounded by the rules of Scale2x."""
    result = []
    for y, row in enumerate(rows):
        upper, lower = [], []
        for x, here in enumerate(row):
            above, below = _pixel(rows, x, y - 1), _pixel(rows, x, y + 1)
            left, right = _pixel(rows, x - 1, y), _pixel(rows, x + 1, y)
            upper.append(above if left == above != right and left != below else here)
            upper.append(right if above == right != left and right != below else here)
            lower.append(left if below == left != right and left != above else here)
            lower.append(below if right == below != left and right != above else here)
        result += ["".join(upper), "".join(lower)]
    return result


def _pixel(rows: Sequence[str], x: int, y: int) -> str:
    return rows[y][x] if 0 <= y < len(rows) and 0 <= x < len(rows[y]) else "."
