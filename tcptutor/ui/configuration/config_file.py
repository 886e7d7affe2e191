"""A configuration file: its settings and keys, each with the line where it is, and a line for each problem."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tcptutor.base import files
from tcptutor.base.errors import quoted, unknown
from tcptutor.base.language_tags import normal_tag
from tcptutor.base.printable import escaped
from tcptutor.journal.saved import Preferences
from tcptutor.ui.configuration.keymap import KeyEntry

MOST_BYTES = 1 << 18
THEMES = ("dark", "light", "high-contrast", "ansi")
MOST_MINUTES = 1440
KEYS = "keys"
"""Name of the table of keys."""

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_ENTRY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)$")


class FileSetting(NamedTuple):
    """A setting that the file may have."""

    name: str
    """Its name in the file and in `Preferences`."""
    default: str
    """Its default, as written in the file."""
    values: str
    """Accepted values, in words."""
    about: str


SETTINGS = (
    FileSetting("theme", '"dark"', ", ".join(f'"{name}"' for name in THEMES), "colors of the app"),
    FileSetting("motion", "true", "true or false", "figures move; false: they stand still"),
    FileSetting("figures_in_words", "false", "true or false", "describe figures in sentences instead of drawing them"),
    FileSetting("daily_minutes", "0", f"0 to {MOST_MINUTES}", "goal for a day, in minutes; 0 for none"),
    FileSetting("language", '""', 'a tag such as "de", "pt-BR"; "" for that of the locale', "language of the lessons"),
    FileSetting("bell", "false", "true or false", "ring the terminal's bell at the end of a long run"),
)  # fmt: skip


class ConfigFile(NamedTuple):
    """Parsed configuration file."""

    path: Path
    exists: bool
    preferences: Preferences
    entries: tuple[KeyEntry, ...]
    problems: tuple[str, ...]
    lines: dict[str, int]
    """Line of each setting, by its name."""


def read_config(path: Path) -> ConfigFile:
    """Read a file. Never raises: mistakes become problems, and the remaining settings apply."""
    if not os.path.lexists(path):
        return _nothing(path)
    import tomllib  # noqa: PLC0415  # most users have no file

    try:
        text = files.read_plain(path, MOST_BYTES).decode()
        document = tomllib.loads(text)
    except FileNotFoundError:
        return _nothing(path, f"{path} is a link to a missing file: the defaults are used")
    except OSError as error:
        return _nothing(path, f"cannot read {path}: {error.strerror or error}: the defaults are used")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return _nothing(path, f"{path}:{line}: not UTF-8: save the file as UTF-8; the defaults are used")
    except (ValueError, RecursionError) as error:
        reason = escaped(" ".join(str(error).split()))[:200]
        match = _AT_LINE.search(reason)
        line = int(match[1]) if match else text.count("\n") + 1
        reason = reason[: match.start()] if match else reason.removesuffix(" (at end of document)")
        return _nothing(path, f"{path}:{line}: not TOML ({reason}): the defaults are used")
    return _Reader(path, _line_numbers(text)).read(document)


def _nothing(path: Path, *problems: str) -> ConfigFile:
    return ConfigFile(path, bool(problems), Preferences(), (), problems, {})


class _Reader:
    def __init__(self, path: Path, lines: dict[tuple[str, ...], int]) -> None:
        self._path, self._lines = path, lines
        self._problems: list[str] = []

    def read(self, document: dict[str, Any]) -> ConfigFile:
        known = {setting.name: setting for setting in SETTINGS}
        accepted: dict[str, Any] = {}
        entries: list[KeyEntry] = []
        for name, value in document.items():
            if name == KEYS and isinstance(value, dict):
                entries = [*self._key_entries(value, (KEYS,))]
            elif name == KEYS:
                self._problem(
                    (KEYS,), 'keys is a table: write [keys], and below it lines such as lesson.run = "f5"'
                )
            elif name not in known:
                self._problem((name,), unknown("setting", name, [*known, KEYS]))
            elif not _is_valid(name, value):
                self._problem((name,), f"{name} is {known[name].values}, not {quoted(value)}")
            else:
                accepted[name] = value
        return ConfigFile(
            self._path, True, Preferences(**accepted), (*entries,), (*self._problems,),
            {name: self._line((name,)) for name in accepted},
        )  # fmt: skip

    def _key_entries(self, table: dict[str, Any], path: tuple[str, ...]) -> Iterator[KeyEntry]:
        for name, value in table.items():
            here = (*path, name)
            id = ".".join(here[1:])
            if isinstance(value, dict):
                yield from self._key_entries(value, here)
                continue
            keys = [value] if isinstance(value, str) else value
            if isinstance(keys, list) and all(isinstance(key, str) for key in keys):
                yield KeyEntry(id, (*keys,), self._where(here))
            else:
                self._problem(here, f'the key of {quoted(id)} is a text such as "f5", or a list of texts')

    def _problem(self, path: tuple[str, ...], text: str) -> None:
        self._problems.append(f"{self._where(path)}: {escaped(text)}")

    def _where(self, path: tuple[str, ...]) -> str:
        return f"{self._path}:{self._line(path)}"

    def _line(self, path: tuple[str, ...]) -> int:
        return self._lines.get(path) or next(
            (n for full, n in self._lines.items() if full[: len(path)] == path), 1
        )


def _is_valid(name: str, value: object) -> bool:
    match name:
        case "theme":
            return value in THEMES
        case "language":
            return isinstance(value, str) and (not value or normal_tag(value) != "")
        case "daily_minutes":
            return type(value) is int and 0 <= value <= MOST_MINUTES
        case _:
            return type(value) is bool


def _line_numbers(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each key by its full path: the parser itself does not report lines."""
    table: tuple[str, ...] = ()
    lines: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if match := _TABLE.match(line):
            table = _path(match[1])
            lines.setdefault(table, number)
        elif match := _ENTRY.match(line):
            lines.setdefault((*table, *_path(match[1])), number)
    return lines


def _path(written: str) -> tuple[str, ...]:
    """Return the parts of a dotted key; quoted parts may contain dots."""
    return tuple(
        part[1:-1] if part[0] in "\"'" else part for part in re.findall(r'"[^"]*"|\'[^\']*\'|[\w-]+', written)
    )
