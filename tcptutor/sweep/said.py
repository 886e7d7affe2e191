"""A sweep's points in words and as JSON: the text that commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tcptutor import units
from tcptutor.sweep.confidence import LEVEL, Summary
from tcptutor.sweep.points import Point, points
from tcptutor.sweep.table import Table


def duration(seconds: float) -> str:
    """ "40 s", "12 min" or "3.5 h"."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def count(number: int, what: str) -> str:
    """ "1 cell", "2 cells"."""
    return f"{number} {what}{'s' if number != 1 else ''}"


def with_interval(summary: Summary, scale: float, unit: str) -> str:
    """ "9.53 ± 0.21 Mbit/s": the mean and half the width of its confidence interval."""
    half = f" ± {summary.half_width / scale:.2g}" if summary.half_width is not None else ""
    return f"{summary.mean / scale:.3g}{half}{unit and ' '}{unit}"


def rate_with_interval(summary: Summary) -> str:
    """The same for a rate, in the prefix that suits the mean."""
    scale, unit = next(
        (one for one in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")) if summary.mean >= one[0]),
        (1.0, "bit/s"),
    )
    return with_interval(summary, scale, unit)


def difference(ratio: Summary) -> str:
    """ "−4 %" or "+6 ± 2 %": measured less predicted, over predicted, from their ratio."""
    rounded = units.signed_percent(ratio.mean - 1)
    if ratio.half_width is None:
        return rounded
    return f"{rounded.removesuffix(' %')} ± {100 * ratio.half_width:.2g} %"


def lines(table: Table) -> list[str]:
    """The table, a line for each point, in columns."""
    found = points(table.in_order())
    if not found:
        return []
    names = list(found[0].point)
    rows = [[*names, "runs", "throughput", "model", "difference", "limited by", ""]]
    rows += [_cells(point, names) for point in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    told = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if any(len(point.seeds) > 1 for point in found):
        told.append(f"± is half the {LEVEL:.0%} confidence interval of the mean over the seeds")
    return told


def _cells(point: Point, names: Sequence[str]) -> list[str]:
    model = next(iter(point.models.values()), None)
    return [
        *(point.point[name] for name in names),
        str(len(point.seeds)),
        rate_with_interval(point.measured["throughput_bps"]),
        model.label if model else "",
        difference(model.ratio) if model else "",
        ", ".join(point.limited_by),
        f"{point.doubtful} of {len(point.seeds)} not valid" if point.doubtful else "",
    ]


def document(table: Table, file: str) -> dict[str, Any]:
    """The table as plain JSON: what was asked for, each row, each failure, and the points with their intervals."""
    whole: dict[str, Any] = msgspec.to_builtins(
        {
            "file": file,
            "definition": table.definition,
            "confidence": LEVEL,
            "points": points(table.in_order()),
            "rows": table.in_order(),
            "failures": [table.failures[cell] for cell in sorted(table.failures)],
        }
    )
    for each in (*whole["rows"], *whole["failures"]):
        del each["type"]  # the file's own mark
    return whole
