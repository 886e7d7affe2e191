"""Names of keys: as a user writes them, as Textual names them, and as the app shows them."""

from __future__ import annotations

import re
import unicodedata

from tcptutor.base.errors import UsageError, near, quoted

_NAMED = {
    "esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown", "pgdown": "pagedown", "del": "delete",
    "ins": "insert", "bs": "backspace", "plus": "+", "comma": ",", "minus": "-", "period": ".", "slash": "/",
    **{name: name for name in ("escape", "enter", "space", "tab", "backspace", "delete", "insert", "home", "end",
                               "pageup", "pagedown", "up", "down", "left", "right")},
    **{f"f{number}": f"f{number}" for number in range(1, 25)},
}  # fmt: skip
"""Names that a user may write, and ours."""
_SHORT = {"solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus",
          "plus_sign": "plus", "low_line": "underscore"}  # fmt: skip
"""Textual's own names of characters."""
_SAME_BYTE = {"i": "Tab", "m": "Enter", "[": "Esc", "h": "Backspace"}
"""Keys that send the same byte as Ctrl and the letter."""
_MODIFIER = re.compile(r"(ctrl|control|alt|shift|super|cmd|meta|option)\+(?=.)", re.IGNORECASE)
_SHOWN = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "delete": "Del", "backspace": "Backspace",
          "up": "↑", "down": "↓", "left": "←", "right": "→"}  # fmt: skip


def parse_key(text: str) -> str:
    """Return Textual's name of a key written like "r", "?", "F5", "ctrl+r", "alt+x" or "shift+tab".

    Raises:
        UsageError: No key has that name, or terminals do not send it.
    """
    rest, modifiers = text.strip() or text, list[str]()
    while match := _MODIFIER.match(rest):
        modifiers.append({"control": "ctrl", "option": "alt"}.get(match[1].lower(), match[1].lower()))
        rest = rest[match.end() :]
    if rest == " ":
        rest = "space"
    name = rest if len(rest) == 1 else _NAMED.get(rest.lower(), "")
    if not name or not name.isprintable():
        hint = near(rest.lower(), _NAMED) or "write a character, or a name such as f5, ctrl+r or pageup"
        raise UsageError(f"no key {quoted(text)}: {hint}")
    return _combined(text, modifiers, name)


def _combined(text: str, modifiers: list[str], name: str) -> str:
    if {"super", "cmd", "meta"} & {*modifiers}:
        raise UsageError(f"a terminal does not send {quoted(text)}: use ctrl, alt or a function key")
    if len(name) > 1:
        return "+".join([*sorted({*modifiers}, key=("alt", "ctrl", "shift").index), name])
    if "shift" in modifiers:
        if not name.isalpha() or {*modifiers} != {"shift"}:
            raise UsageError(f"a terminal does not send {quoted(text)}: write the character that it types")
        name, modifiers = name.upper(), []
    if "ctrl" in modifiers:
        name = name.lower()
        if name in _SAME_BYTE:
            raise UsageError(f"a terminal sends {_SAME_BYTE[name]} for {quoted(text)}: use another key")
        if not ("a" <= name <= "z"):
            raise UsageError(f"a terminal does not send {quoted(text)}: ctrl needs a letter")
    return "+".join([*sorted({*modifiers}, key=("alt", "ctrl").index), _character_name(name)])


def _character_name(character: str) -> str:
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return _SHORT.get(name, name)


_ASCII = {_character_name(chr(code)): chr(code) for code in range(0x20, 0x7F)}


def character_of(key: str) -> str:
    """Return the character that a key types; empty for a key that types none."""
    if len(key) == 1 or key in _ASCII:
        return _ASCII.get(key, key)
    if "+" in key or key in _NAMED:
        return ""
    try:
        return unicodedata.lookup(key.replace("_", " "))
    except KeyError:
        return ""


def written_key(key: str) -> str:
    """Return a key as it is written in the file: "r", "?", "f5", "ctrl+r"."""
    modifiers, _, last = key.rpartition("+")
    character = "" if last == "space" else character_of(last)
    return f"{modifiers}+{character or last}" if modifiers else character or last


def shown_key(key: str) -> str:
    """Return a key as the app's texts show it: "r", "?", "F5", "ctrl+r", "→"."""
    modifiers, _, last = key.rpartition("+")
    name = _SHOWN.get(last) or written_key(last)
    name = name.capitalize() if len(name) > 1 and name.islower() else name
    return f"{modifiers}+{name}" if modifiers else name
