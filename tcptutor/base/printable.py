"""Text from elsewhere, such as a run file, a lesson or a name, as a terminal may be shown it.

A terminal obeys control characters: they move its cursor, set its clipboard or its title. Unicode's marks of direction
make a text read as something else. Neither ever leaves a reader.
"""

from __future__ import annotations

import re
from typing import Any

_OBEYED = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks of direction
    "\u2028\u2029"  # separators, which some take for the end of a line
    "\ufff9-\ufffb"  # annotations
    "\U000e0000-\U000e007f"  # tags, which nobody sees
    "\ud800-\udfff"  # halves of a character, which cannot be written
)
_ANY = re.compile(f"[{_OBEYED}]")
_BUT_LINES = re.compile(f"(?![\n\t])[{_OBEYED}]")


def obeyed(text: str, *, lines: bool = False) -> re.Match[str] | None:
    """The first character of `text` that a terminal would obey, or that cannot be seen; None when all is printable.

    With `lines` newlines and tabs are printable.
    """
    return (_BUT_LINES if lines else _ANY).search(text)


def is_printable(text: str, *, lines: bool = False) -> bool:
    """Whether `text` may be shown as it is; with `lines` it may have newlines and tabs."""
    return obeyed(text, lines=lines) is None


def escaped(text: str, *, lines: bool = False) -> str:
    r"""`text` with what is not printable written as Python does, such as `\x1b`; `lines` leaves newlines and tabs."""
    return (_BUT_LINES if lines else _ANY).sub(
        lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text
    )


def tree(value: Any) -> Any:
    """Lists and tables with all their texts escaped, keys too, but for newlines and tabs."""
    if isinstance(value, str):
        return escaped(value, lines=True)
    if isinstance(value, dict):
        return {tree(key): tree(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [tree(each) for each in value]
    return value
