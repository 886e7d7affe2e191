"""Keys as Textual names them, what is pasted, and the wheel, in the bytes that xterm sends for them."""

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

_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_NOT_PASTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""A paste types text, and no keys that do something."""

WHEEL_LINES = 3
"""Lines that a turn of the wheel moves."""


def typed(key: str, character: str | None = None, *, application: bool = False) -> bytes:
    """What `key`, as Textual calls it, sends; empty for one that sends nothing. `application`: of cursor keys."""
    if character is not None and character.isprintable() and not key.startswith(("ctrl+", "alt+")):
        return character.encode()
    *names, name = key.split("+") if key != "+" else [key]
    modifiers = sum(_MODIFIERS.get(each, 0) for each in names)
    if sequence := _sequence(name, modifiers, application):
        return sequence.encode()
    sent = _letter(name, character, bool(modifiers & 4), bool(modifiers & 1))
    return (("\x1b" if modifiers & 2 and sent else "") + sent).encode()


def _sequence(name: str, modifiers: int, application: bool) -> str:
    """Of keys that are no characters; empty for others."""
    final = _CURSOR.get(name) or _FUNCTION.get(name)
    if final and modifiers:
        return f"\x1b[1;{1 + modifiers}{final}"
    if final:
        return f"\x1b{'O' if application or name in _FUNCTION else '['}{final}"
    if name in _NUMBERED:
        return f"\x1b[{_NUMBERED[name]}{f';{1 + modifiers}' if modifiers else ''}~"
    return "\x1b[Z" if (name, modifiers) == ("tab", 1) else ""


def _letter(name: str, character: str | None, control: bool, shift: bool) -> str:
    """Without Alt; empty for what sends nothing."""
    if control:
        if len(name) == 1 and name.isascii() and name.isalpha():
            return chr(ord(name.upper()) & 0x1F)
        return _CONTROL.get(name, "")
    if name in _PLAIN:
        return _PLAIN[name]
    if character is not None:
        return character
    return (name.upper() if shift else name) if len(name) == 1 else ""


def pasted(text: str, *, bracketed: bool) -> bytes:
    """What is sent for pasted text: its lines end as Enter does; a program that asks for it is told that it is one."""
    text = _NOT_PASTED.sub("", text.replace("\r\n", "\r").replace("\n", "\r"))
    return f"{_PASTE_BEGINS}{text}{_PASTE_ENDS}".encode() if bracketed else text.encode()


def wheel(up: bool, column: int, line: int, *, sgr: bool) -> bytes:
    """A turn of the wheel for a program that asked for the mouse, at that cell from 0."""
    button = 64 if up else 65
    if sgr:
        return f"\x1b[<{button};{column + 1};{line + 1}M".encode()
    if max(column, line) > 222:
        return b""
    return b"\x1b[M" + bytes((32 + button, 33 + column, 33 + line))


def wheel_as_arrows(up: bool, *, application: bool) -> bytes:
    """A turn of the wheel for a program that has the screen for itself and knows of no mouse."""
    return WHEEL_LINES * typed("up" if up else "down", application=application)
