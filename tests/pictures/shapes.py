"""Characters of lines, blocks, dots and signs as paths: fonts draw them with gaps, or not at all."""

from __future__ import annotations

import re
from typing import NamedTuple


class _Size(NamedTuple):
    width: int
    height: int


CELL = _Size(9, 20)
_DOTS = ((1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (3, 2), (1, 3), (3, 3))
"""Places of a Braille character's dots: quarters of a cell from the left, and the row."""
_ARMS = {
    "─": "lr", "━": "LR", "│": "ud", "┃": "UD", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "udr", "┤": "udl",
    "┬": "lrd", "┴": "lru", "┼": "lrud", "╂": "lrUD", "╋": "LRUD", "┨": "UDl", "┠": "UDr", "┣": "UDR", "┫": "UDL",
    "┏": "RD", "┓": "LD", "┗": "RU", "┛": "LU", "┳": "LRD", "┻": "LRU", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu",
    "╸": "L", "╺": "R", "╹": "U", "╻": "D", "╴": "l", "╶": "r", "╵": "u", "╷": "d",
}  # fmt: skip
"""Directions in which a line leaves the middle of its cell; heavy ones in capitals."""
_SIGNS = {
    "◂": "M7 6v8l-6-4z",
    "◀": "M8.5 5v10l-8-5z",
    "▸": "M2 6v8l6-4z",
    "▶": "M.5 5v10l8-5z",
    "▲": "M4.5 5l4 9h-8z",
    "▼": "M4.5 15l4-9h-8z",
    "▾": "M4.5 13l3-6h-6z",
    "▴": "M4.5 7l3 6h-6z",
    "◆": "M4.5 5l4 5-4 5-4-5z",
    "●": "M4.5 6a4 4 0 0 1 0 8a4 4 0 0 1 0-8z",
    "■": "M1 7h7v8h-7z",
    "▪": "M2.5 8h4v4h-4z",
    "═": "M0 6h9v2h-9zM0 12h9v2h-9z",
    "┈": "M0 9.5h1v1h-1zM3 9.5h1v1h-1zM6 9.5h1v1h-1z",
    "▀": "M0 0h9v10h-9z",
    "▐": "M4.5 0h4.5v20h-4.5z",
}
"""Paths of other characters, from the corner of their cell."""
_START = re.compile(r"M([\d.]+) ([\d.]+)")


def is_shape(character: str) -> bool:
    """Return whether a character is drawn as a path."""
    return character in _ARMS or character in _SIGNS or _is_block(character) or _is_braille(character)


def filled(character: str, x: int) -> str:
    """Return the path to fill for a character whose cell begins at `x` in its row; empty if there is none."""
    if character in _SIGNS:
        return _moved(_SIGNS[character], x)
    if _is_block(character):
        eighths = ord(character) - 0x2580
        if eighths <= 8:
            high = CELL.height * eighths / 8
            return _box(x, CELL.height - high, CELL.width, high)
        return _box(x, 0, CELL.width * (16 - eighths) / 8, CELL.height)
    return "".join(_arm(arm, x) for arm in _ARMS.get(character, ""))


def stroked(character: str, x: int) -> str:
    """Return the path of a Braille character's dots, each a line without length."""
    if not _is_braille(character):
        return ""
    bits = ord(character) - 0x2800
    lit = (place for number, place in enumerate(_DOTS) if bits >> number & 1)
    return "".join(f"M{x + CELL.width * quarter / 4:g} {2.5 + 5 * row:g}h0" for quarter, row in lit)


def _is_block(character: str) -> bool:
    return 0x2581 <= ord(character) <= 0x258F


def _is_braille(character: str) -> bool:
    return 0x2800 <= ord(character) <= 0x28FF


def _arm(arm: str, x: int) -> str:
    half = 1.0 if arm.isupper() else 0.5
    middle_x, middle_y = x + CELL.width / 2, CELL.height / 2
    match arm.lower():
        case "l":
            return _box(x, middle_y - half, CELL.width / 2 + half, 2 * half)
        case "r":
            return _box(middle_x - half, middle_y - half, CELL.width / 2 + half, 2 * half)
        case "u":
            return _box(middle_x - half, -0.5, 2 * half, CELL.height / 2 + half + 0.5)
        case _:
            return _box(middle_x - half, middle_y - half, 2 * half, CELL.height / 2 + half)


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"


def _moved(path: str, x: int) -> str:
    """Move a path whose only absolute commands are M."""
    return _START.sub(lambda start: f"M{x + float(start[1]):g} {start[2]}", path)
