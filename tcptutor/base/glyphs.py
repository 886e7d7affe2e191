"""Character sets of terminals, and substitutes for characters outside of them. The app's first frame needs it."""

from __future__ import annotations

import codecs
import locale
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

Glyphs = Literal["all", "console", "ascii"]
"""Character sets: everything, the fonts of the Linux console, ASCII."""

CONSOLE_FONT = frozenset(
    "░▒█■│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌▲▼♦•←↑→↓≈≤≥±°·²½¼µ«»÷£§¬¶ÄÅÆÇÉÑÖÜßàáâäåæçèéêëìíîïñòóôöùúûüÿπ"
    "\N{NO-BREAK SPACE}"
)
"""Characters besides ASCII in the kernel's own font and in the fonts of Debian's console-setup for Western languages.

These fonts, Lat15 among them, have no half blocks, no braille and no ticks.
"""
_EMPTY = 0x2800
_LEFT, _RIGHT = (0, 1, 2, 6), (3, 4, 5, 7)
"""Bits of the dots in each column of a braille character, from the top."""
_SOLID = 6
"""Dots from which a braille character counts as filled."""

_CONSOLE = {
    "✓": "v", "√": "v", "✗": "x", "×": "x", "□": ".", "▸": ">", "▶": ">", "►": ">", "▷": ">", "›": ">", "◂": "<",
    "‹": "<", "◃": "<", "◄": "<", "●": "•", "○": "o", "◇": "o", "◆": "♦", "▾": "▼", "△": "▲", "▣": "■", "▤": "■",
    "☐": ".", "☑": "■", "★": "*", "◐": "°", "▪": ".", "↕": "|", "↳": "└", "↻": "r", "⏎": "<", "⚠": "!", "✂": "x",
    "…": ".",
    "┈": "-", "┅": "-", "╌": "-", "╍": "-", "┊": "│", "┆": "│", "╏": "│", "┃": "│", "╎": "│", "━": "─", "╸": "─",
    "╺": "─", "╹": "│", "╻": "│", "▔": "─", "▏": "│", "▎": "│", "▕": "│",
    "╋": "┼", "╂": "┼", "╆": "┼", "╅": "┼", "╄": "┼", "╃": "┼", "┠": "├", "┣": "├", "┢": "├", "┡": "├", "┨": "┤",
    "┫": "┤", "┪": "┤", "┩": "┤", "┲": "┬", "┱": "┬", "┯": "┬", "┺": "┴", "┹": "┴", "┻": "┴", "┏": "┌", "┓": "┐",
    "┗": "└", "┛": "┘", "╭": "┌", "╮": "┐", "╰": "└", "╯": "┘",
    "▁": "_", "▂": "_", "▃": "░", "▄": "▒", "▅": "▒", "▆": "█", "▇": "█", "▀": "▒", "▓": "▒", "▍": "▒", "▌": "█",
    "▐": "█", "▋": "█", "▊": "█", "▉": "█", "▘": "░", "▝": "░", "▖": "░", "▗": "░", "▞": "▒", "▚": "▒", "▛": "█",
    "▜": "█", "▙": "█", "▟": "█",
    "−": "-", "⁻": "-", "–": "-", "—": "-", "“": '"', "„": '"', "”": '"', "’": "'", "‘": "'", "‰": "%", "∛": "3",
    "Σ": "S", "Δ": "D", "β": "b", "ν": "v",
}  # fmt: skip
_ASCII = {
    "•": "*", "♦": "*", "■": "#", "▼": "v", "▲": "^", "█": "#", "▒": "=", "░": "-", "·": ".", "±": "~", "µ": "u",
    "→": ">", "←": "<", "↑": "^", "↓": "v", "≤": "<", "≥": ">", "°": "o", "≈": "~", "═": "=", "│": "|", "─": "-",
    "\N{NO-BREAK SPACE}": " ",
}  # fmt: skip
_WORDS = {
    "√": "sqrt ", "∛": "cbrt", "¼": "1/4", "½": "1/2", "¾": "3/4", "⅔": "2/3", "⅜": "3/8", "²": "^2", "³": "^3",
    "‰": "/1000", "±": "+-", "≤": "<=", "≥": ">=",
}  # fmt: skip
"""Words for signs whose substitute of a single cell would say something else, for lines with room at their end."""
_JOINT = "┼├┤┬┴┌┐└┘╡╢╖╕╣║╗╝╜╛╞╟╚╔╩╦╠╬╧╨╤╥╙╘╒╓╫╪"


def for_terminal(environment: Mapping[str, str], initial: Mapping[str, str] | None = None) -> Glyphs:
    """Return the character set for a terminal with these environment variables.

    Args:
        environment: Environment variables now.
        initial: Those with which the process was started; by default this process's.
    """
    if environment.get("TEXTUAL_DRIVER"):
        return "all"  # a browser, whatever the locale of the server
    if not is_utf8() or is_c_chosen(environment, initial):
        return "ascii"
    return "console" if environment.get("TERM", "") == "linux" else "all"


def is_c_chosen(environment: Mapping[str, str], initial: Mapping[str, str] | None = None) -> bool:
    """Check whether the user chose the locale C, which Python replaces by C.UTF-8 at its start (PEP 538).

    Without any locale Python does the same, and most terminals show everything. The arguments are those of
    `for_terminal`.
    """
    if environment.get("LC_ALL") or environment.get("LANG") not in ("C", "POSIX"):
        return False
    before = _initial_environment() if initial is None else initial
    return bool(environment.get("LC_CTYPE")) and not before.get("LC_CTYPE")


def _initial_environment() -> dict[str, str]:
    try:
        pairs = Path("/proc/self/environ").read_text(errors="replace").split("\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


@lru_cache(maxsize=4096)
def substitute(text: str, glyphs: Glyphs) -> str:
    """Substitute characters outside `glyphs`, keeping every cell in place."""
    if text.isascii() or glyphs == "all":
        return text
    return "".join(
        character if character.isascii() else _substitute_character(character, glyphs) for character in text
    )


def substitute_line(texts: Sequence[str], glyphs: Glyphs) -> list[str]:
    """Substitute in a line of several texts: a sign may become a word, which takes the spaces at the line's end."""
    room = len(texts[-1]) - len(texts[-1].rstrip(" ")) - 1 if texts else 0
    result = []
    for text in texts:
        shown = text
        for sign in sorted(set(text) & _WORDS.keys()) if glyphs != "all" and room > 0 else ():
            growth = text.count(sign) * (len(_WORDS[sign]) - 1)
            if growth <= room and not (glyphs == "console" and sign in CONSOLE_FONT):
                shown, room = shown.replace(sign, _WORDS[sign]), room - growth
        result.append(substitute(shown, glyphs))
    if surplus := sum(map(len, result)) - sum(map(len, texts)):
        result[-1] = result[-1][:-surplus]
    return result


@lru_cache(maxsize=1024)
def _substitute_character(character: str, glyphs: Glyphs) -> str:
    dots = ord(character) - _EMPTY
    found = _stroke(dots) if 0 <= dots < 256 else _CONSOLE.get(character, character)
    is_shown = found in CONSOLE_FONT or found.isalpha() or _cells(found) != 1
    if found.isascii() or (glyphs == "console" and is_shown):
        return found
    if found in _ASCII:
        return _ASCII[found]
    if found in _JOINT:
        return "+"
    plain = unicodedata.normalize("NFKD", found).encode("ascii", "ignore").decode()
    return (plain or "?")[:1] * _cells(character)


def _stroke(dots: int) -> str:
    """Return the character most like a braille character: a line of its slope and height, or a block."""
    rows = [[row for row, bit in enumerate(column) if dots & 1 << bit] for column in (_LEFT, _RIGHT)]
    left, right = rows
    if not dots:
        return " "
    if len(left) + len(right) >= _SOLID:
        return "█"
    if max(len(left), len(right)) > 2:  # more than half of the cell's height
        return "│"
    if left and right:
        slope = sum(left) / len(left) - sum(right) / len(right)
        if abs(slope) >= 1:
            return "/" if slope > 0 else "\\"
    height = sum(left + right) / (len(left) + len(right))
    upper, middle, lower = ('"', "-", "_") if left and right else ("'", "·", ".")
    return upper if height < 0.75 else lower if height > 2.25 else middle  # rows 0 to 3


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
