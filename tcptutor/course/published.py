"""The published figures that lessons set beside ours: assets/published/DOCUMENT.toml."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import ContentError
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.toml import COLLECTION


class _Result(msgspec.Struct, frozen=True):
    """`[[result]]`, with keys of the document's own."""

    name: str = ""


class _Document(msgspec.Struct, frozen=True):
    """What has a form in a document; everything else is the document's own."""

    citation: str = ""
    result: tuple[_Result, ...] = ()


@cache
def _read() -> tuple[dict[str, dict[str, Any]], tuple[ContentError, ...]]:
    return read_documents(places.assets() / "published")


def read_documents(folder: Path) -> tuple[dict[str, dict[str, Any]], tuple[ContentError, ...]]:
    """Each document as it stands in its file, and what is wrong with those that cannot be read."""
    found, wrong = {}, []
    for path in sorted(folder.glob("*.toml")):
        file = LessonFile(path, folder)
        try:
            table = file.tables(COLLECTION)
            file.converted(table, _Document)
            found[path.stem] = table
        except ContentError as error:
            wrong.append(error)
    return found, tuple(wrong)


def _documents() -> dict[str, dict[str, Any]]:
    return _read()[0]


def damaged() -> tuple[ContentError, ...]:
    """Why documents cannot be read."""
    return _read()[1]


def documents() -> dict[str, frozenset[str]]:
    """The names of each document's results, by document. A document may have none with a name."""
    return {
        name: frozenset(result["name"] for result in table.get("result", ()) if "name" in result)
        for name, table in _documents().items()
    }


def unresolved(source: str) -> str:
    """Why `source`, "document" or "document: result", leads nowhere; empty when it does not."""
    document, _, result = (part.strip() for part in source.partition(":"))
    if document not in documents():
        return f"no document {document!r} in assets/published: there are {', '.join(documents())}"
    if result and result not in documents()[document]:
        return f"{document} has no result {result!r}"
    return ""


class PublishedCurve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[sweep.published]`: points of a document, set beside those that a sweep measures."""

    source: str | tuple[str, ...]
    """ "document: result", by the name of a result or of a table such as "experiment1". Several are put together."""
    name: str = ""
    """What stands beside the points: "Hacker and Athey 2001, table 1"; by default who published the document."""
    x: str
    """The key of the axis' values there, a number or a list; parts of a table with dots: "throughput.receiver"."""
    y: str
    """The key of the values that belong to them; of a list for each point, its sum counts."""
    x_scale: float = 1.0
    """What makes a published x one in the base unit of the axis: 1000 for a window in kB."""
    y_scale: float = 1.0
    """What makes a published y one of ours, in base units."""
    scaled: str = ""
    """Why it is scaled, in words that stand beside the points."""

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,) if isinstance(self.source, str) else self.source

    @property
    def called(self) -> str:
        """Where the points come from, for the screen."""
        document = self.sources[0].partition(":")[0].strip()
        citation = str(_documents().get(document, {}).get("citation", document))
        return self.name or citation.partition(":")[0]

    def points(self) -> list[tuple[float, float]]:
        """As they are drawn, in base units; those without a number are left out. Empty for what leads nowhere."""
        return [point for source in self.sources for point in self._points(source)]

    def problems(self) -> Iterator[tuple[str, str]]:
        """Key and reason of what leads nowhere."""
        for source in self.sources:
            document, _, result = (part.strip() for part in source.partition(":"))
            table = _table(source)
            if table is None:
                known = _names(document)
                there = f"there are {', '.join(known)}" if known else unresolved(document)
                yield "source", f"{document} has no result or table {result!r}: {there}"
                continue
            for key, name in (("x", self.x), ("y", self.y)):
                if _value(table, name) is None:
                    yield key, f"{source} has no key {name!r}: its keys are {', '.join(table)}"
        if self.scaled and self.x_scale == self.y_scale == 1:
            yield "scaled", "nothing is scaled: leave it out, or give y_scale"
        if self.y_scale != 1 and not self.scaled.strip():
            yield "scaled", "is missing: say in words why the published values are scaled"
        if not self.points() and all(_table(source) is not None for source in self.sources):
            yield "y", "has no number that goes with a number of x"

    def _points(self, source: str) -> Iterator[tuple[float, float]]:
        table = _table(source) or {}
        xs, ys = (_numbers(_value(table, key)) for key in (self.x, self.y))
        for x, y in zip(xs, ys, strict=False):
            if x is not None and y is not None:
                yield x * self.x_scale, y * self.y_scale


def _names(document: str) -> list[str]:
    """What a source may name in that document."""
    table = _documents().get(document, {})
    results = [result["name"] for result in table.get("result", ()) if "name" in result]
    return [*results, *(key for key, value in table.items() if isinstance(value, dict))]


def _table(source: str) -> dict[str, Any] | None:
    """What `source` names; None for what is not there."""
    document, _, name = (part.strip() for part in source.partition(":"))
    whole = _documents().get(document)
    if whole is None:
        return None
    for result in whole.get("result", ()):
        if result.get("name") == name:
            return dict(result)
    found = whole.get(name)
    return found if isinstance(found, dict) else None


def _value(table: dict[str, Any], key: str) -> Any:
    found: Any = table
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _numbers(value: Any) -> list[float | None]:
    """A number for each point; None where there is none."""
    return [_number(each) for each in (value if isinstance(value, list) else [value])]


def _number(value: Any) -> float | None:
    if isinstance(value, list):
        return float(sum(value)) if value and all(isinstance(each, (int, float)) for each in value) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
