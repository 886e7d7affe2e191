"""Text for screen readers and plain terminals: no drawings, only characters of the terminal's encoding."""

from __future__ import annotations

import os
import re
import unicodedata

from tcptutor.base import glyphs, printable

FIRST_DRAWING, LAST_DRAWING = "\u2500", "\u28ff"
"""Range of box drawings, blocks, geometric shapes, dingbats and braille; screen readers spell out or skip these."""
_DRAWINGS = re.compile(f" ?[{FIRST_DRAWING}-{LAST_DRAWING}]+ ?")
_WORDS = {
    "✓": "yes",
    "✗": "no",
    "■": "square",
    "□": "empty square",
    "●": "dot",
    "○": "circle",
}
"""Words for symbols that texts mention."""
_BETWEEN_HOSTS = re.compile(r" → ")
_ASCII = {
    "×": "x", "→": "->", "←": "<-", "↑": "up", "↓": "down", "√": "sqrt ", "∛": "cube root of ", "·": "*", "•": "*",
    "…": "...", "−": "-", "–": "-", "—": "-", "“": '"', "„": '"', "”": '"', "’": "'", "‘": "'", "±": "+/-", "µ": "u",
    "μ": "u", "≤": "<=", "≥": ">=", "≈": "about ", "≠": "not ", "Δ": "delta ", "Σ": "sum of ", "°": " degrees",
    "‰": " per mille", "²": "^2", "³": "^3", "½": "1/2", "¼": "1/4", "¾": "3/4", "⅜": "3/8", "‹": "<", "›": ">",
    "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ", "\N{THIN SPACE}": " ",
}  # fmt: skip
"""ASCII replacements for characters that lessons use."""


def encoding_of_terminal() -> str:
    """Return Python's name of the locale's encoding: "utf-8", "ascii", "iso8859-1"."""
    if glyphs.is_c_chosen(os.environ):
        return "ascii"
    return glyphs.locale_encoding() or "ascii"


def readable(text: str, encoding: str = "utf-8") -> str:
    """Return `text` without drawings, control characters, and characters that `encoding` lacks."""
    text = _BETWEEN_HOSTS.sub(" to ", printable.escaped(text, lines=True))
    text = _DRAWINGS.sub(_without_drawing, text)
    if text.isascii() or encoding == "utf-8":
        return text
    return "".join(_encodable(character, encoding) for character in text)


def _without_drawing(found: re.Match[str]) -> str:
    words = " ".join(_WORDS[each] for each in found[0] if each in _WORDS)
    has_space = found[0].startswith(" "), found[0].endswith(" ")
    if words:
        return f"{' ' * has_space[0]}{words}{' ' * has_space[1]}"
    return " " if any(has_space) else ""


def _encodable(character: str, encoding: str) -> str:
    if character.isascii():
        return character
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        pass
    else:
        return character
    if character in _ASCII:
        return _ASCII[character]
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or unicodedata.name(character, "sign").lower().removeprefix("greek small letter ")
