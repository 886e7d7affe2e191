"""Line of a file that a problem of a course is about, found by the key that the problem names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import ContentError
from tcptutor.course.lesson_file import LessonFile

_OF_FILE = re.compile(r"(?P<file>[^:]+\.(?:md|toml)): (?P<rest>.*)", re.DOTALL)
_TOML = re.compile(r"not valid TOML: .*\(at line (\d+), column \d+\)")
_TOML_END = re.compile(r"not valid TOML: .*\(at end of document\)")
_KEY = re.compile(r"[\w.\[\]-]+")
_NAMED = re.compile(
    r"(?P<table>question|example|figure|term) '?(?P<name>[^':]+)'?(?:[:.] ?(?P<key>[\w.\[\]-]+))?"
)
_QUOTED = re.compile(r"'(?:[^'/]*/)?([^']{3,})'|\*\*([^*]+)\*\*")
_FENCE = "+++"
_NAMES = ("id", "word")
"""Keys that name a table among others of its kind."""


class LocatedProblem(NamedTuple):
    """A problem of a course with its place."""

    file: str
    """Path in the course's folder; empty for a problem of no file."""
    line: int
    """Counted from 1; 0 if the problem is about no line."""
    text: str
    """The key, the reason and the remedy."""

    @property
    def place(self) -> str:
        """File and line, as editors open them."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.file else self.text


def locate(problem: str, root: Path) -> LocatedProblem:
    """Return a problem, as the linter words it, with the line that it is about.

    Args:
        problem: "FOLDER/PATH: KEY: REASON".
        root: Folder of the course.
    """
    found = _OF_FILE.fullmatch(problem.removeprefix(f"{root.name}/"))
    if found is None:
        return LocatedProblem("", 0, problem)
    file, rest = found["file"], found["rest"]
    try:
        lines = LessonFile(root / file, root).text().splitlines()
    except ContentError:
        return LocatedProblem(file, 0, rest)
    return LocatedProblem(file, _line(lines, rest), rest)


def _line(lines: Sequence[str], rest: str) -> int:
    """Return the line of a problem, counted from 1; 0 if unknown."""
    if at := _TOML.search(rest):
        return min(int(at[1]), len(lines))
    end = next((number for number, line in enumerate(lines[1:], 2) if line.rstrip() == _FENCE), len(lines))
    if _TOML_END.search(rest):
        return end
    named, key = _NAMED.match(rest), rest.partition(": ")[0]
    if named:
        start = _table_named(lines[:end], named["table"], named["name"])
        line = _below(lines[:end], start, named["table"], named["key"] or "") if start else 0
    elif key == "prose":
        line = next((n for n in range(end + 1, len(lines) + 1) if lines[n - 1].strip()), 0)
        return _quoted(lines, rest, line) or line
    else:
        line = _below(lines[:end], 0, "", key) if _KEY.fullmatch(key) else 0
    return line or _quoted(lines, rest, 1) or min(1, len(lines))


def _table_named(lines: Sequence[str], table: str, name: str) -> int:
    """Return the line of the table with that id; 0 if not found."""
    headers = [number for number, line in enumerate(lines, 1) if _is_header(line, table)]
    for start, end in zip(headers, [*headers[1:], len(lines) + 1], strict=True):
        if any(
            re.match(rf"""\s*(?:{"|".join(_NAMES)})\s*=\s*["']{re.escape(name)}["']""", each)
            for each in lines[start : end - 1]
        ):
            return start
    return 0


def _below(lines: Sequence[str], start: int, table: str, key: str) -> int:
    """Return the line of the deepest existing part of a dotted key, after the line `start`; 0 if not found."""
    line = start
    for part in filter(None, key.split(".")):
        name, _, number = part.partition("[")
        wanted = int(number.rstrip("]")) if number.rstrip("]").isdigit() else 1
        full = f"{table}.{name}".lstrip(".")
        headers = [each for each in range(line + 1, len(lines) + 1) if _is_header(lines[each - 1], full)]
        if line and table:  # not in the next table of the same kind
            until = next(
                (each for each in range(line + 1, len(lines) + 1) if _is_header(lines[each - 1], table)),
                len(lines) + 1,
            )
            headers = [each for each in headers if each < until]
        if len(headers) >= wanted:
            line, table = headers[wanted - 1], full
            continue
        # A key of this table: up to the next header.
        last = next(
            (n for n in range(line + 1, len(lines) + 1) if lines[n - 1].lstrip().startswith("[")),
            len(lines) + 1,
        )
        assigned = (
            n
            for n in range(line + 1, last)
            if re.match(rf"""\s*["']?{re.escape(name)}["']?\s*[.=]""", lines[n - 1])
        )
        found = next(assigned, 0)
        if not found:
            break
        line = found
    return line


def _is_header(line: str, table: str) -> bool:
    return re.fullmatch(rf"\s*\[\[?\s*{re.escape(table)}\s*\]?\]\s*(?:#.*)?", line) is not None


def _quoted(lines: Sequence[str], reason: str, first: int) -> int:
    """Return the first line that contains a text quoted in the reason; 0 if not found."""
    for quoted in (one or other for one, other in _QUOTED.findall(reason)):
        for number in range(max(first, 1), len(lines) + 1):
            if quoted in lines[number - 1]:
                return number
    return 0
