"""Substitutes for characters that a terminal cannot show."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tcptutor.install.encoding import is_utf8

Glyphs = Literal["all", "console", "ascii"]
"""Character sets: everything, the fonts of the Linux console, ASCII."""

NOTICES: dict[Glyphs, str] = {
    "console": "The Linux console's font has no fine dots: charts are drawn in blocks. A terminal window shows them.",
    "ascii": "The locale is not UTF-8: charts are drawn in ASCII. `export LC_ALL=C.UTF-8`, "
    "in GNU screen `screen -U`, shows them whole.",
}

_EMPTY = 0x2800
_UPPER = 0b00011011
"""Dots in the upper two rows of a braille character."""

_CONSOLE = {
    "✓": "√", "✗": "x", "□": ".", "▸": ">", "›": ">", "◂": "<", "‹": "<", "●": "•", "○": "o", "◇": "o", "◆": "♦",
    "▾": "▼", "△": "▲", "╏": "│", "┃": "│", "╎": "│", "┈": "-", "━": "─", "╋": "┼", "╂": "┼", "┠": "├", "┨": "┤",
    "▁": "_", "▂": "_", "▃": "▄", "▅": "▄", "▆": "█", "▇": "█", "▏": "│", "▎": "│", "▍": "█", "▌": "█", "▋": "█",
    "▊": "█", "▉": "█", "▕": "│", "☐": ".", "☑": "■", "↕": "|", "⚠": "!", "✂": "x", "…": ".", "⏎": "<",
    "∛": "3", "Σ": "S", "⅜": "3", "╭": "┌", "╮": "┐", "╰": "└", "╯": "┘",
}  # fmt: skip
_ASCII = {
    "√": "v", "x": "x", "▶": ">", "►": ">", "•": "*", "♦": "*", "■": "#", "▪": "#", "▼": "v", "▲": "^", "│": "|",
    "─": "-", "═": "=", "┼": "+", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┌": "+", "┐": "+", "└": "+", "┘": "+",
    "▄": "o", "█": "#", "▀": "'", "×": "x", "·": ".", "±": "~", "µ": "u", "−": "-", "–": "-", "—": "-", "→": ">",
    "←": "<", "↑": "^", "↓": "v", "“": '"', "”": '"', "’": "'", "‘": "'", "≤": "<", "≥": ">", "°": "o", "‰": "%",
    "Δ": "D", "²": "2", "³": "3", "\N{NO-BREAK SPACE}": " ",
}  # fmt: skip


def for_terminal(environment: Mapping[str, str]) -> Glyphs:
    """Return the character set for a terminal with these environment variables."""
    console = environment.get("TERM", "") == "linux"
    # Most terminals accept UTF-8 regardless of the locale; GNU screen treats each byte as a character.
    screen = "STY" in environment or environment.get("TERM", "").startswith("screen.")
    if (console or screen) and not is_utf8():
        return "ascii"
    return "console" if console else "all"


class GlyphFilter(LineFilter):
    """Filter that substitutes characters without moving any cell."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            Segment(substitute(segment.text, self._glyphs), segment.style, segment.control)
            for segment in segments
        ]


@lru_cache
def glyph_filter(glyphs: Glyphs) -> GlyphFilter:
    """Return the shared filter: Textual caches its results per filter."""
    return GlyphFilter(glyphs)


@lru_cache(maxsize=4096)
def substitute(text: str, glyphs: Glyphs) -> str:
    """Substitute characters outside `glyphs`, keeping every cell in place."""
    if text.isascii() or glyphs == "all":
        return text
    return "".join(
        character if character.isascii() else _substitute_character(character, glyphs) for character in text
    )


@lru_cache(maxsize=1024)
def _substitute_character(character: str, glyphs: Glyphs) -> str:
    dots = ord(character) - _EMPTY
    found = _block_for_dots(dots) if 0 <= dots < 256 else _CONSOLE.get(character, character)
    if glyphs == "console" or found.isascii():
        return found
    if found in _ASCII:
        return _ASCII[found]
    plain = unicodedata.normalize("NFKD", found).encode("ascii", "ignore").decode()
    return (plain or "?")[:1] * cell_len(character)


def _block_for_dots(dots: int) -> str:
    upper, lower = (dots & _UPPER).bit_count(), (dots & ~_UPPER).bit_count()
    if not upper and not lower:
        return " "
    if dots.bit_count() == 1:
        return "·"
    return "▀" if not lower else "▄" if not upper else "█"
