"""Measured, each model, and the student's own prediction, side by side in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from textual.content import Content

from tcptutor import units
from tcptutor.analysis import Compared, Report
from tcptutor.ui import words

WITHIN, BEYOND = "✓", "✗"
_SHORTEST_NAME = 8


class OwnPrediction(NamedTuple):
    """The throughput that the student predicted."""

    text: str
    """As typed."""
    bps: float


class _ModelRow(NamedTuple):
    """What stands in one line, and the reason under it."""

    who: str
    rate: str
    where: str
    """The measurement beside it: "6 % below"."""
    mark: str = ""
    word: str = ""
    tolerance: str = ""
    reason: str = ""


class _Widths(NamedTuple):
    """Columns of the table; `spelt` is whether there is room for words beside the marks."""

    who: int
    rate: int
    where: int
    spelt: bool


def table(report: Report, own: OwnPrediction | None, width: int, room: float = math.inf) -> Content:
    """A line for each model, the binding one first, and why it is not what was measured where that is known.

    Where that takes more than `room` lines, the last models are only counted.
    """
    models = [_row(each, number == 0) for number, each in enumerate(report.compared)]
    you = []
    if own and own.bps:
        you.append(_ModelRow("you", own.text, words.above_or_below(report.throughput_bps / own.bps)))
    measured = (units.rate(report.throughput_bps), "bold")
    if not (models or you):
        return Content.assemble("measured ", measured)
    widths = _widths(models + you, width)
    head = Content.assemble(
        (f"{'':{widths.who}}  {'predicted':>{widths.rate}}  {'measured ' * widths.spelt}", "$text-muted"),
        measured,
        (" is", "$text-muted"),
    )
    for kept in range(len(models), -1, -1):
        lines = [head, *_lines(models[:kept] + you, widths, width)]
        if left := len(models) - kept:
            lines.append(Content.styled(f"and {left} more in a taller window", "$text-muted"))
        if len(lines) <= room or kept <= 1:
            break
    return Content("\n").join(lines)


def line(report: Report, own: OwnPrediction | None, width: int) -> Content:
    """Measured, the binding model and the student in a line, the reason in another: for small terminals."""
    parts = [Content.assemble("measured ", (units.rate(report.throughput_bps), "bold"))]
    reason = []
    if report.compared:
        binding = report.compared[0]
        mark = WITHIN if binding.within else BEYOND
        difference = units.signed_percent(binding.difference).replace("±0 %", "the same")
        parts.append(
            Content.assemble(
                f"{binding.prediction.label} {units.rate(binding.prediction.throughput_bps)} ",
                f"({difference}, {words.tolerance(binding.prediction.tolerance)}) ",
                (mark, "$success" if binding.within else "$error"),
            )
        )
        reason = _reason(binding.reason, width)
    if own:
        off = f" ({units.signed_percent(report.throughput_bps / own.bps - 1)})" if own.bps else ""
        parts.append(Content(f"you {own.text}{off}"))
    return Content("\n").join([*_beside(parts, width), *reason])


def _beside(parts: Sequence[Content], width: int) -> list[Content]:
    """As many in a line as fit whole."""
    lines = [parts[0]]
    for part in parts[1:]:
        if lines[-1].cell_length + 3 + part.cell_length <= width:
            lines[-1] += "   " + part
        else:
            lines.append(part)
    return lines


def _row(each: Compared, binding: bool) -> _ModelRow:
    prediction = each.prediction
    told = prediction.label, units.rate(prediction.throughput_bps), words.above_or_below(each.ratio)
    tolerance = words.tolerance(prediction.tolerance)
    if each.within:
        return _ModelRow(*told, WITHIN, "within", tolerance, each.reason if binding else "")
    if not binding and each.ratio < 1:
        # A model that would allow more is not wrong: something else was the limit.
        return _ModelRow(*told, word="not the limit")
    return _ModelRow(*told, BEYOND, "beyond", tolerance, each.reason)


def _widths(rows: Sequence[_ModelRow], width: int) -> _Widths:
    """Words give way to what is beside them, then the names to all else."""
    who, rate, where = (max(len(row[column]) for row in rows) for column in range(3))
    rate = max(rate, len("predicted"))
    spelt = max(len(_judged(row, spelt=True)) for row in rows)
    short = max(len(_judged(row, spelt=False)) for row in rows)
    rest = rate + where + 6
    fits = who + rest + spelt <= width
    return _Widths(who if fits else max(_SHORTEST_NAME, min(who, width - rest - short)), rate, where, fits)


def _lines(rows: Sequence[_ModelRow], widths: _Widths, width: int) -> Iterator[Content]:
    """The rows; models in a row that differ for the same reason have it once, under the last of them."""
    for row, after in pairwise([*rows, _ModelRow("", "", "")]):
        who = row.who if len(row.who) <= widths.who else f"{row.who[: widths.who - 1]}…"
        judged = Content(_judged(row, widths.spelt))
        if row.mark:
            judged = judged.stylize("$success bold" if row.mark == WITHIN else "$error bold", 0, 1)
        yield (
            Content(f"{who:{widths.who}}  {row.rate:>{widths.rate}}  {row.where:>{widths.where}}  ") + judged
        )
        if row.reason != after.reason:
            yield from _reason(row.reason, width)


def _judged(row: _ModelRow, spelt: bool) -> str:
    """ "✓ within ±9 %", or "✓ ±9 %"."""
    return " ".join(
        part
        for part in (row.mark, row.word if spelt else "" if row.mark else "–" * bool(row.word), row.tolerance)
        if part
    )


def _reason(reason: str, width: int) -> list[Content]:
    return [Content.styled(text, "$text-muted") for text in words.wrapped(reason, width, "  ")]
