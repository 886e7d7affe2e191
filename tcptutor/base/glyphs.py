"""Character sets of terminals, and substitutes for characters outside of them. The app's first frame needs it."""

from __future__ import annotations

import codecs
import locale
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

Glyphs = Literal["all", "console", "ascii"]
"""Character sets: everything, the fonts of the Linux console, ASCII."""

_EMPTY = 0x2800
_UPPER = 0b00011011
"""Dots in the upper two rows of a braille character."""

_CONSOLE = {
    "✓": "√", "✗": "x", "□": ".", "▸": ">", "›": ">", "◂": "<", "‹": "<", "●": "•", "○": "o", "◇": "o", "◆": "♦",
    "▾": "▼", "△": "▲", "╏": "│", "┃": "│", "╎": "│", "┈": "-", "━": "─", "╋": "┼", "╂": "┼", "┠": "├", "┨": "┤",
    "▁": "_", "▂": "_", "▃": "▄", "▅": "▄", "▆": "█", "▇": "█", "▏": "│", "▎": "│", "▍": "█", "▌": "█", "▋": "█",
    "▊": "█", "▉": "█", "▕": "│", "☐": ".", "☑": "■", "↕": "|", "⚠": "!", "✂": "x", "…": ".", "⏎": "<",
    "┏": "┌", "┓": "┐", "┗": "└", "┛": "┘", "┣": "├", "┫": "┤", "┻": "┴", "╸": "─", "╺": "─", "╹": "│", "╻": "│",
    "↳": "└", "◃": "<", "▷": ">", "★": "*", "◐": "°", "▪": ".", "▣": "■", "▤": "■", "┅": "-", "╍": "-", "┆": "│",
    "┊": "│", "↻": "r", "∛": "3", "Σ": "S", "⅜": "3", "╭": "┌", "╮": "┐", "╰": "└", "╯": "┘",
    "┲": "┬", "┱": "┬", "┺": "┴", "┹": "┴", "┢": "├", "┡": "├", "┪": "┤", "┩": "┤", "╆": "┼", "╅": "┼", "╄": "┼",
    "╃": "┼", "▘": "▀", "▝": "▀", "▖": "▄", "▗": "▄", "▞": "█", "▚": "█", "▛": "█", "▜": "█", "▙": "█", "▟": "█",
    "▐": "█", "▔": "─",
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
    return (plain or "?")[:1] * _cells(character)


def _block_for_dots(dots: int) -> str:
    upper, lower = (dots & _UPPER).bit_count(), (dots & ~_UPPER).bit_count()
    if not upper and not lower:
        return " "
    if dots.bit_count() == 1:
        return "·"
    return "▀" if not lower else "▄" if not upper else "█"


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def is_utf8() -> bool:
    """Check whether this process's locale writes UTF-8."""
    return locale_encoding() == "utf-8"


def locale_encoding() -> str:
    """Return Python's name of the locale's encoding; empty when the locale is not installed."""
    try:
        locale.setlocale(locale.LC_CTYPE, "")
        return codecs.lookup(locale.nl_langinfo(locale.CODESET)).name
    except (locale.Error, LookupError):
        return ""
