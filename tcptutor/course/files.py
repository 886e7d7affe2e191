"""Lesson files as typed data. Every problem is a ContentError of one line: file, key, reason.

A step is TOML front matter between two `+++` lines, then Markdown; everything else is TOML alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tcptutor.base.errors import unknown
from tcptutor.course import own
from tcptutor.course.activities import front_matter
from tcptutor.course.activity import ActivityTable, Setting
from tcptutor.course.claim import Claim
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.marks import MarkScheme
from tcptutor.course.toml import PAGE

FORMAT_VERSION = 1
_FENCE = "+++"
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ENTRY = re.compile(rf"([0-9][0-9])-({_SLUG.pattern})")


class CourseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """lessons/course.toml"""

    title: str
    modules: tuple[str, ...]
    """The modules' ids, in the order of the course."""
    format_version: int
    marks: MarkScheme = MarkScheme()


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
    [
        ("title", str),
        ("after", str, ""),
        ("claim", tuple[Claim, ...], ()),
        ("own", dict[str, tuple[str, ...]], msgspec.field(default_factory=dict)),
        ("own_as", str, ""),
        *front_matter(),
    ],
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
    own_as: str
    tables: tuple[tuple[str, ActivityTable], ...]
    """What the student does, in the order of the page: key in the front matter, counted where there are several."""


def numbered(name: str) -> tuple[int, str] | None:
    """`(3, "parallel-streams")` from "03-parallel-streams"; None for a name of another form."""
    match = _ENTRY.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


def is_slug(name: str) -> bool:
    """Whether `name` is small letters, digits and hyphens between them."""
    return _SLUG.fullmatch(name) is not None


def read_step(file: LessonFile) -> tuple[StepText, ...]:
    """Front matter and Markdown of a step, as each of its variants has them: the page's own first, and as a rule alone.

    Raises ContentError.
    """
    lines = file.text(PAGE).split("\n")
    if lines[0].rstrip() != _FENCE:
        raise file.problem(f"the first line must be {_FENCE}: the front matter begins there")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise file.problem(f"the second {_FENCE} line is missing: the front matter must end there")
    # An empty line in the fence's place keeps the parser's line numbers those of the file.
    front = "\n".join(["", *lines[1:end]])
    prose = "\n".join(lines[end + 1 :]).strip()
    file.check_text(prose, "prose")
    read: Any = file.convert(front, StepFile, PAGE)
    if not read.own and "{own." not in front + prose:
        return (_text(read, prose),)
    return tuple(_variants(file, front, prose, read))


def _variants(file: LessonFile, front: str, prose: str, read: Any) -> Iterator[StepText]:
    if wrong := own.contradiction(read.own):
        raise file.problem(wrong[1], wrong[0])
    asked = set(own.placeholders(front + prose))
    for name in sorted(asked - set(read.own)):
        raise file.problem(
            unknown("list", name, read.own) if read.own else f"there is no list {name!r}", "own"
        )
    for name in read.own:
        if name not in asked:
            raise file.problem(
                f"{{own.{name}}} stands nowhere on the page: use it, or leave it out", f"own.{name}"
            )
    if read.shell is not None:
        raise file.problem(
            "a page with a network to work on by hand is the same for all: leave it out", "own"
        )
    for variant in range(len(next(iter(read.own.values())))):
        text: Any = file.convert(own.filled(front, read.own, variant), StepFile, PAGE)
        yield _text(text, own.filled(prose, read.own, variant))


def _text(front: Any, prose: str) -> StepText:
    return StepText(front.title, front.after.strip(), front.claim, prose, front.own_as, tuple(_tables(front)))


def _tables(front: Any) -> Iterator[tuple[str, ActivityTable]]:
    for name, *_ in front_matter():
        found = getattr(front, name)
        if isinstance(found, tuple):
            for number, table in enumerate(found, 1):
                yield f"{name}[{number}]" if len(found) > 1 else name, table
        elif found is not None:
            yield name, found
