"""xterm's byte sequences for keys (by Textual's names), pastes and the mouse wheel."""

from __future__ import annotations

import re

_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_NUMBERED = {
    "insert": 2, "delete": 3, "pageup": 5, "pagedown": 6, "f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21,
    "f11": 23, "f12": 24,
}  # fmt: skip
_FUNCTION = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_PLAIN = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "space": " ", "return": "\r"}
_CONTROL = {
    "at": "\x00", "@": "\x00", "space": "\x00", "2": "\x00", "left_square_bracket": "\x1b", "3": "\x1b",
    "backslash": "\x1c", "4": "\x1c", "right_square_bracket": "\x1d", "5": "\x1d", "circumflex_accent": "\x1e",
    "6": "\x1e", "underscore": "\x1f", "slash": "\x1f", "7": "\x1f", "minus": "\x1f", "backspace": "\x08",
    "question_mark": "\x7f", "8": "\x7f", "j": "\n",
}  # fmt: skip
_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4}

_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
_UNPASTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters removed from a paste, which types text and must not trigger keys."""

WHEEL_LINES = 3
"""Lines scrolled per notch of the wheel."""


def encode_key(key: str, character: str | None = None, *, application: bool = False) -> bytes:
    """Return the bytes that xterm sends for a key; empty if it sends none.

    Args:
        key: Textual's name of the key, with modifiers.
        character: Printable character of the key, if any.
        application: Whether the program has set application cursor keys (DECCKM).
    """
    if character is not None and character.isprintable() and not key.startswith(("ctrl+", "alt+")):
        return character.encode()
    *names, name = key.split("+") if key != "+" else [key]
    modifiers = sum(_MODIFIERS.get(each, 0) for each in names)
    if sequence := _special_key(name, modifiers, application):
        return sequence.encode()
    sent = _character_key(name, character, bool(modifiers & 4), bool(modifiers & 1))
    return (("\x1b" if modifiers & 2 and sent else "") + sent).encode()


def _special_key(name: str, modifiers: int, application: bool) -> str:
    final = _CURSOR.get(name) or _FUNCTION.get(name)
    if final and modifiers:
        return f"\x1b[1;{1 + modifiers}{final}"
    if final:
        return f"\x1b{'O' if application or name in _FUNCTION else '['}{final}"
    if name in _NUMBERED:
        return f"\x1b[{_NUMBERED[name]}{f';{1 + modifiers}' if modifiers else ''}~"
    return "\x1b[Z" if (name, modifiers) == ("tab", 1) else ""


def _character_key(name: str, character: str | None, control: bool, shift: bool) -> str:
    if control:
        if len(name) == 1 and name.isascii() and name.isalpha():
            return chr(ord(name.upper()) & 0x1F)
        return _CONTROL.get(name, "")
    if name in _PLAIN:
        return _PLAIN[name]
    if character is not None:
        return character
    return (name.upper() if shift else name) if len(name) == 1 else ""


def encode_paste(text: str, *, bracketed: bool) -> bytes:
    """Return the bytes of a paste: line ends become Enter, and `bracketed` adds the markers of mode 2004."""
    text = _UNPASTABLE.sub("", text.replace("\r\n", "\r").replace("\n", "\r"))
    return f"{_PASTE_START}{text}{_PASTE_END}".encode() if bracketed else text.encode()


def encode_wheel(up: bool, column: int, line: int, *, sgr: bool) -> bytes:
    """Return a mouse report for a wheel notch at a cell, counted from 0."""
    button = 64 if up else 65
    if sgr:
        return f"\x1b[<{button};{column + 1};{line + 1}M".encode()
    if max(column, line) > 222:
        return b""
    return b"\x1b[M" + bytes((32 + button, 33 + column, 33 + line))


def encode_wheel_as_arrows(up: bool, *, application: bool) -> bytes:
    """Return arrow keys for a wheel notch, for alternate-screen programs without mouse support."""
    return WHEEL_LINES * encode_key("up" if up else "down", application=application)
