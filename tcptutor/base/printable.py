"""Printable versions of text from run files, lessons or names, safe to show in a terminal.

A terminal executes control characters: they move the cursor, set the clipboard or the title. Unicode's
direction marks change the order in which a text reads. All of them are escaped.
"""

from __future__ import annotations

import re
from typing import Any

_CONTROLS = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks of direction
    "\u2028\u2029"  # separators, which some programs treat as line ends
    "\ufff9-\ufffb"  # annotations
    "\U000e0000-\U000e007f"  # invisible tags
    "\ud800-\udfff"  # surrogates, which cannot be encoded
)
_ANY = re.compile(f"[{_CONTROLS}]")
_BUT_LINES = re.compile(f"(?![\n\t])[{_CONTROLS}]")


def find_control(text: str, *, lines: bool = False) -> re.Match[str] | None:
    """Find the first control or invisible character of `text`; None when all is printable.

    With `lines` newlines and tabs count as printable.
    """
    return (_BUT_LINES if lines else _ANY).search(text)


def is_printable(text: str, *, lines: bool = False) -> bool:
    """Return True if `text` can be shown unchanged; `lines` permits newlines and tabs."""
    return find_control(text, lines=lines) is None


def escaped(text: str, *, lines: bool = False) -> str:
    r"""Escape unprintable characters the way Python does, e.g. `\x1b`; `lines` leaves newlines and tabs."""
    return (_BUT_LINES if lines else _ANY).sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text
    )


def escape_tree(value: Any) -> Any:
    """Escape all strings in nested lists and tables, keys included, except for newlines and tabs."""
    if isinstance(value, str):
        return escaped(value, lines=True)
    if isinstance(value, dict):
        return {escape_tree(key): escape_tree(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [escape_tree(each) for each in value]
    return value
