"""Characters that the terminal can show, in place of those that it cannot."""

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
"""What can be shown: everything; what the fonts of the Linux console have; ASCII."""

NOTICES: dict[Glyphs, str] = {
    "console": "The Linux console's font has no fine dots: charts are drawn in blocks. A terminal window shows them.",
    "ascii": "The locale is not UTF-8: charts are drawn in ASCII. `export LC_ALL=C.UTF-8`, "
    "in GNU screen `screen -U`, shows them whole.",
}
"""One line at the start for each way that shows less."""

_EMPTY = 0x2800
_UPPER = 0b00011011
"""The dots of the upper two rows of a braille character."""

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
    """Return what a terminal can show that has these environment variables."""
    console = environment.get("TERM", "") == "linux"
    # Other terminals take UTF-8 whatever the locale says; GNU screen reads each byte as a character.
    screen = "STY" in environment or environment.get("TERM", "").startswith("screen.")
    if (console or screen) and not is_utf8():
        return "ascii"
    return "console" if console else "all"


class GlyphFilter(LineFilter):
    """Draws each cell with a character of `glyphs`; no cell moves."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            Segment(shown(segment.text, self._glyphs), segment.style, segment.control) for segment in segments
        ]


@lru_cache
def glyph_filter(glyphs: Glyphs) -> GlyphFilter:
    """Return the one filter for these characters: Textual keeps what it filtered by it."""
    return GlyphFilter(glyphs)


@lru_cache(maxsize=4096)
def shown(text: str, glyphs: Glyphs) -> str:
    """Return `text` in characters of `glyphs`, each cell where it was."""
    if text.isascii() or glyphs == "all":
        return text
    return "".join(character if character.isascii() else _other(character, glyphs) for character in text)


@lru_cache(maxsize=1024)
def _other(character: str, glyphs: Glyphs) -> str:
    dots = ord(character) - _EMPTY
    found = _block(dots) if 0 <= dots < 256 else _CONSOLE.get(character, character)
    if glyphs == "console" or found.isascii():
        return found
    if found in _ASCII:
        return _ASCII[found]
    plain = unicodedata.normalize("NFKD", found).encode("ascii", "ignore").decode()
    return (plain or "?")[:1] * cell_len(character)


def _block(dots: int) -> str:
    """A braille character's dots as a block: which half of the cell they are in."""
    upper, lower = (dots & _UPPER).bit_count(), (dots & ~_UPPER).bit_count()
    if not upper and not lower:
        return " "
    if dots.bit_count() == 1:
        return "·"
    return "▀" if not lower else "▄" if not upper else "█"
