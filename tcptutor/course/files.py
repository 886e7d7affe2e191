"""Lesson files as typed data. Every problem is a ContentError of one line: file, key, reason.

A step is TOML front matter between two `+++` lines, then Markdown; everything else is TOML alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tcptutor.course.activities import front_matter
from tcptutor.course.activity import ActivityTable, Setting
from tcptutor.course.claims import Claim
from tcptutor.course.explain import explain
from tcptutor.errors import ContentError

FORMAT_VERSION = 1
_FENCE = "+++"
_ENTRY = re.compile(r"(\d\d)-([a-z0-9]+(?:-[a-z0-9]+)*)")
T = TypeVar("T")


class CourseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """lessons/course.toml"""

    title: str
    modules: tuple[str, ...]
    """The modules' ids, in the order of the course."""
    format_version: int


class ModuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """lessons/NN-slug/module.toml"""

    title: str
    objectives: tuple[str, ...]
    minutes: int
    sources: tuple[str, ...]
    extra: tuple[str, ...] = ()


class ExperimentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """lessons/NN-slug/experiments/name.toml; the values themselves are spec.build's to check."""

    title: str
    parameters: dict[str, Setting]
    paper: dict[str, Setting] = {}
    """The values that the source printed, where they differ; `--scale paper` runs them."""
    pairs: int = 1
    seed: int = 1
    sources: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    """Rows of assets/documentation/settings.toml that it is, as `document: where`."""


StepFile = msgspec.defstruct(
    "StepFile",
    [("title", str), ("after", str, ""), ("claim", tuple[Claim, ...], ()), *front_matter()],
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
)
"""The front matter of lessons/NN-slug/NN-step.md"""


@dataclass(frozen=True)
class StepText:
    """A step's file, read."""

    title: str
    after: str
    claims: tuple[Claim, ...]
    prose: str
    tables: tuple[tuple[str, ActivityTable], ...]
    """What the student does, in the order of the page: key in the front matter, counted where there are several."""


def numbered(name: str) -> tuple[int, str] | None:
    """`(3, "parallel-streams")` from "03-parallel-streams"; None for a name of another form."""
    match = _ENTRY.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


@dataclass(frozen=True)
class LessonFile:
    """A file of the course, and how it is called in messages."""

    path: Path
    root: Path
    """The folder of all lessons."""

    def problem(self, reason: str, key: str = "") -> ContentError:
        """The error to raise: one line, whatever `reason` holds."""
        name = f"{self.root.name}/{self.path.relative_to(self.root).as_posix()}"
        return ContentError(": ".join(part for part in (name, key, " ".join(reason.split())) if part))

    def text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise self.problem("the file is missing") from None
        except (OSError, UnicodeDecodeError) as error:
            raise self.problem(f"cannot be read: {error}") from None

    def read(self, kind: type[T]) -> T:
        """A TOML file as `kind`. Raises ContentError."""
        return self._convert(self._toml(self.text()), kind)

    def read_step(self) -> StepText:
        """Front matter and Markdown of a step. Raises ContentError."""
        lines = self.text().split("\n")
        if lines[0].rstrip() != _FENCE:
            raise self.problem(f"the first line must be {_FENCE}: the front matter begins there")
        end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
        if end is None:
            raise self.problem(f"the second {_FENCE} line is missing: the front matter must end there")
        # An empty line in the fence's place keeps the parser's line numbers those of the file.
        front: Any = self._convert(self._toml("\n".join(["", *lines[1:end]])), StepFile)
        prose = "\n".join(lines[end + 1 :]).strip()
        return StepText(front.title, front.after.strip(), front.claim, prose, tuple(_tables(front)))

    def _toml(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise self.problem(f"not valid TOML: {error}") from None

    def _convert(self, table: dict[str, Any], kind: type[T]) -> T:
        try:
            return msgspec.convert(table, kind)
        except msgspec.ValidationError as error:
            raise self.problem(*reversed(explain(str(error), table, kind))) from None


def _tables(front: Any) -> Iterator[tuple[str, ActivityTable]]:
    for name, *_ in front_matter():
        found = getattr(front, name)
        if isinstance(found, tuple):
            for number, table in enumerate(found, 1):
                yield f"{name}[{number}]" if len(found) > 1 else name, table
        elif found is not None:
            yield name, found
