"""Published figures lessons compare with ours: assets/published/DOCUMENT.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import ContentError, UsageError
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.quantities import quantities


class _Result(msgspec.Struct, frozen=True):
    """Common keys of a `[[result]]`."""

    name: str = ""


class _Document(msgspec.Struct, frozen=True):
    """Common keys of every document."""

    citation: str = ""
    names: tuple[str, ...] = ()
    """Names by which texts refer to it: "Lab 6"."""
    result: tuple[_Result, ...] = ()


@cache
def _read() -> tuple[dict[str, dict[str, Any]], tuple[ContentError, ...]]:
    return read_documents(places.assets() / "published")


def read_documents(folder: Path) -> tuple[dict[str, dict[str, Any]], tuple[ContentError, ...]]:
    """Read all documents; return the tables by name, and the errors of unreadable files."""
    found, wrong = {}, []
    for path in sorted(folder.glob("*.toml")):
        file = LessonFile(path, folder)
        try:
            table = file.tables(file.text())
            file.convert_table(table, _Document)
            found[path.stem] = table
        except ContentError as error:
            wrong.append(error)
    return found, tuple(wrong)


def _documents() -> dict[str, dict[str, Any]]:
    return _read()[0]


def damaged() -> tuple[ContentError, ...]:
    """Return the errors of unreadable documents."""
    return _read()[1]


@cache
def document_names() -> dict[str, tuple[str, ...]]:
    """Return the names by which texts refer to each document: "Lab 6"."""
    return {name: tuple(table.get("names", ())) for name, table in _documents().items()}


@cache
def document_numbers(document: str) -> frozenset[float]:
    """Return all numbers of a document, and the quantities in its texts in base units."""
    return frozenset(_numbers_in(_documents().get(document, {})))


ETHERNET_SHARE = 1460 / 1538
"""Largest share of an Ethernet's rate that TCP data can take: MTU 1500, no timestamps."""
SHAPED_SHARE = 1460 / 1514
"""The same for a rate that `tbf` keeps, which counts no preamble, check sum and gap."""
_RATES_OF_LINKS = frozenset({"rate", "link", "pacing_rate", "aggregate_pacing_rate"})


def implausible(documents: Mapping[str, dict[str, Any]] | None = None) -> Iterator[str]:
    """Yield published figures above the capacity of their link, in tables without a key `above_link`.

    Args:
        documents: Tables by name; default: the tables of assets/published.
    """
    for name, table in (_documents() if documents is None else documents).items():
        path = table.get("path", {})
        link = table.get("link") or path.get("rate")
        if link:
            limit = link * (SHAPED_SHARE if "tbf" in path else ETHERNET_SHARE)
            for key, value in _above(table, limit, 10 * link, ""):
                yield (
                    f"{name}: {key}: {value:g} is more than the link's {link:g} bit/s can carry, {limit:.4g}:"
                    " correct it, or explain it in above_link"
                )


def _above(value: Any, limit: float, most: float, key: str) -> Iterator[tuple[str, float]]:
    """Yield key and number of each figure above `limit`; numbers above `most` have a different unit."""
    match value:
        case dict() if "above_link" not in value:
            for name, each in value.items():
                if name not in _RATES_OF_LINKS:
                    yield from _above(each, limit, most, f"{key}.{name}".lstrip("."))
        case list():
            for number, each in enumerate(value):
                yield from _above(each, limit, most, f"{key}.{number}")
        case int() | float() if limit < value < most:
            yield key, float(value)


def published_values(entry: str) -> frozenset[float]:
    """Return the numbers of an entry, "DOCUMENT: key.key", in which tables of a list are counted from 0.

    Raises:
        UsageError: The entry does not exist or has no numbers.
    """
    document, _, path = (part.strip() for part in entry.partition(":"))
    found: Any = _documents().get(document)
    if found is None:
        raise UsageError(unresolved(entry))
    for key in path.split("."):
        if isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, dict) and key in found:
            found = found[key]
        else:
            keys = ", ".join(found) if isinstance(found, dict) else f"0 to {len(found) - 1}"
            raise UsageError(f"{document} has no {key!r} in {path!r}: choose from {keys}")
    if not (numbers := frozenset(_numbers_in(found))):
        raise UsageError(f"{entry!r} has no number")
    return numbers


def _numbers_in(value: Any) -> Iterator[float]:
    match value:
        case dict():
            for each in value.values():
                yield from _numbers_in(each)
        case list():
            for each in value:
                yield from _numbers_in(each)
            if value and all(isinstance(each, int | float) for each in value):
                yield float(sum(value))
        case str():
            yield from (each.value for each in quantities(value))
        case int() | float() if not isinstance(value, bool):
            yield float(value)


def documents() -> dict[str, frozenset[str]]:
    """Return the named results of each document."""
    return {
        name: frozenset(result["name"] for result in table.get("result", ()) if "name" in result)
        for name, table in _documents().items()
    }


def is_of_document(source: str) -> bool:
    """Return whether `source` names a document of assets/published, rather than the author's own."""
    return source.partition(":")[0].strip() in documents()


def is_citation(source: str) -> bool:
    """Return whether `source` cites a work by its year, "author: title, 1991", and no document of assets/published."""
    return re.search(r", (19|20)\d\d$", source) is not None and not is_of_document(source)


def unresolved(source: str) -> str:
    """Return why `source`, "document" or "document: result", cannot be resolved, or an empty string."""
    document, _, result = (part.strip() for part in source.partition(":"))
    if document not in documents():
        return f"no document {document!r} in assets/published: choose from {', '.join(documents())}"
    if result and result not in documents()[document]:
        return f"{document} has no result {result!r}"
    return ""


class PublishedCurve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Published points drawn next to a sweep: `[sweep.published]`."""

    source: str | tuple[str, ...]
    """"document: result", by the name of a result or of a table such as "experiment1"; several are combined.
    """
    name: str = ""
    """Label of the points: "Hacker and Athey 2001, table 1"; defaults to the document's publisher."""
    x: str
    """Key of the axis values, a number or a list; dots separate nested tables: "throughput.receiver"."""
    y: str
    """Key of the matching values; a list per point is summed."""
    x_scale: float = 1.0
    """Factor from a published x to the axis' base unit: 1000 for a window in kB."""
    y_scale: float = 1.0
    """Factor from a published y to our base unit."""
    scale_reason: str = ""
    """Reason for the scaling, shown next to the points."""

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,) if isinstance(self.source, str) else self.source

    @property
    def called(self) -> str:
        """Label of the points on the screen."""
        document = self.sources[0].partition(":")[0].strip()
        citation = str(_documents().get(document, {}).get("citation", document))
        return self.name or citation.partition(":")[0]

    def points(self) -> list[tuple[float, float]]:
        """Return the points in base units, leaving out incomplete points."""
        return [point for source in self.sources for point in self._points(source)]

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield key and reason of every reference that cannot be resolved."""
        for source in self.sources:
            document, _, result = (part.strip() for part in source.partition(":"))
            table = _table(source)
            if table is None:
                known = _names(document)
                hint = f"choose from {', '.join(known)}" if known else unresolved(document)
                yield "source", f"{document} has no result or table {result!r}: {hint}"
                continue
            for key, name in (("x", self.x), ("y", self.y)):
                if _value(table, name) is None:
                    yield key, f"{source} has no key {name!r}: its keys are {', '.join(table)}"
        if self.scale_reason and self.x_scale == self.y_scale == 1:
            yield "scale_reason", "has no effect without a scale: remove it, or set x_scale or y_scale"
        if self.y_scale != 1 and not self.scale_reason.strip():
            yield "scale_reason", "is missing: explain why the published values are scaled"
        if not self.points() and all(_table(source) is not None for source in self.sources):
            yield "y", "has no number that matches a number of x"

    def _points(self, source: str) -> Iterator[tuple[float, float]]:
        table = _table(source) or {}
        xs, ys = (_numbers(_value(table, key)) for key in (self.x, self.y))
        for x, y in zip(xs, ys, strict=False):
            if x is not None and y is not None:
                yield x * self.x_scale, y * self.y_scale


def _names(document: str) -> list[str]:
    table = _documents().get(document, {})
    results = [result["name"] for result in table.get("result", ()) if "name" in result]
    return [*results, *(key for key, value in table.items() if isinstance(value, dict))]


def _table(source: str) -> dict[str, Any] | None:
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
    return [_number(each) for each in (value if isinstance(value, list) else [value])]


def _number(value: Any) -> float | None:
    if isinstance(value, list):
        return float(sum(value)) if value and all(isinstance(each, (int, float)) for each in value) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
