"""Bounded parsing of course TOML, so that an untrusted file is cheap to read and safe to use.

The result contains only tables, lists, printable texts and finite numbers, within limits. Untame reports a
rejected key with its reason.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import tomli

from tcptutor.base.printable import find_control

LONGEST_TEXT = 8000
"""Characters of a text."""
MOST_LINES = 300
"""Lines of a text: a screen lays each of them out."""
MOST_CELLS = 400
"""Bars in a text: each cell of a Markdown table is a widget."""
DEEPEST = 12
"""Nesting depth; pages use at most seven."""
LARGEST = 10**18
"""Largest magnitude of a number."""
_KEY_PARTS = 16
_LONG_KEY = re.compile(rf"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){{{_KEY_PARTS}}}""")
"""Dotted key with many parts: its cost grows with the square of their number."""
_ONE_LINE = frozenset({"title", "id", "word", "abbreviation", "synonyms", "name", "page", "compare_with"})
"""Keys of single-line texts."""


class FileBounds(NamedTuple):
    """Limits on the contents of a file."""

    size: int
    """Bytes."""
    entries: int
    """Entries in a list or table."""
    values: int
    """Values in total."""


PAGE = FileBounds(128 << 10, 100, 4000)
SMALL = FileBounds(64 << 10, 200, 1000)
"""For course.toml, module.toml and experiments."""
COLLECTION = FileBounds(256 << 10, 1000, 20_000)
"""For the glossary and published figures."""


class Untame(Exception):
    """Rejected value: the reason, and its key (empty for the file itself)."""

    def __init__(self, reason: str, key: str = "") -> None:
        super().__init__(reason)
        self.key, self.reason = key, reason


def parsed(text: str, bounds: FileBounds) -> dict[str, Any]:
    """Parse `text` into tables.

    Raises:
        Untame: The text is not TOML, or exceeds `bounds`.
    """
    if _LONG_KEY.search(text):
        raise Untame(f"a key has more than {_KEY_PARTS} parts: simplify it")
    try:
        table = tomli.loads(text)
    except RecursionError:
        raise Untame(f"lists or tables are nested more than {DEEPEST} deep: simplify them") from None
    except (
        ValueError,
        OverflowError,
    ) as error:  # tomli raises ValueError, and so does an integer of 5,000 digits
        raise Untame(f"not valid TOML: {error}") from None
    _Check(bounds).value(table, "", 0)
    return table


def check_text(text: str, key: str = "") -> None:
    """Check that a text is short and printable.

    Raises:
        Untame: It is too long, or contains terminal control characters.
    """
    if len(text) <= MOST_CELLS and text.isascii() and text.isprintable():
        return
    if len(text) > LONGEST_TEXT:
        raise Untame(f"has {len(text)} characters, at most {LONGEST_TEXT}: make it shorter", key)
    if (count := text.count("\n")) > MOST_LINES:
        raise Untame(f"has {count} lines, at most {MOST_LINES}: make it shorter", key)
    if (count := text.count("|")) > MOST_CELLS:
        raise Untame(f"has {count} of |, at most {MOST_CELLS}: make its table smaller", key)
    if found := find_control(text, lines=True):
        line = text.count("\n", 0, found.start()) + 1
        where = f"line {line}, " if "\n" in text else ""
        column = found.start() - text.rfind("\n", 0, found.start())
        raise Untame(
            f"{where}character {column} is U+{ord(found[0]):04X}, which is not printable: remove it", key
        )


class _Check:
    """Single pass over the values of a file."""

    def __init__(self, bounds: FileBounds) -> None:
        self._bounds, self._seen = bounds, 0

    def value(self, value: object, key: str, depth: int) -> None:
        self._seen += 1
        if self._seen > self._bounds.values:
            raise Untame(f"has more than {self._bounds.values} values: make it shorter")
        match value:
            case dict() | list():
                self._several(value, key, depth)
            case str():
                check_text(value, key)
                if "\n" in value and key.rpartition(".")[2].partition("[")[0] in _ONE_LINE:
                    raise Untame("has several lines: use one line", key)
            case bool():
                pass
            case int() | float():
                if not abs(value) <= LARGEST:  # also rejects NaN
                    raise Untame("is too large, or not a number", key)
            case _:
                raise Untame("is a date or a time: put it in quotes", key)

    def _several(self, value: dict[str, Any] | list[Any], key: str, depth: int) -> None:
        if depth >= DEEPEST:
            raise Untame(f"is nested more than {DEEPEST} deep: simplify it", key)
        if len(value) > self._bounds.entries:
            raise Untame(f"has {len(value)} entries, at most {self._bounds.entries}: remove some", key)
        if isinstance(value, dict):
            for name, each in value.items():
                check_text(name, f"{key}.(a key)".lstrip("."))
                self.value(each, f"{key}.{name}".lstrip("."), depth + 1)
        else:
            for number, each in enumerate(value, 1):
                self.value(each, f"{key}[{number}]" if len(value) > 1 else key, depth + 1)
