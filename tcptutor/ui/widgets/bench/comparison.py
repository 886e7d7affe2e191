"""Measured, each model, and the student's own prediction, side by side in words."""

from __future__ import annotations

from textual.content import Content

from tcptutor import units
from tcptutor.analysis.model import Compared, Report
from tcptutor.journal import Kept
from tcptutor.ui import words

WITHIN, OUTSIDE = "✓", "✗"


def table(report: Report, own: Kept | None, own_is_rate: bool) -> Content:
    """One line each: what is said, and where the measurement lies beside it."""
    label = max([len("measured"), *(len(each.prediction.label) for each in report.compared)])
    rows = [
        Content.styled(f"{'':{label}}  {'throughput':>12}   measured is", "$text-muted"),
        *(_row(each, label, number == 0) for number, each in enumerate(report.compared)),
    ]
    if own and own.value and own_is_rate:
        where = words.above_or_below(report.throughput_bps / own.value)
        rows.append(Content(f"{'you':{label}}  {own.text:>12}   {where}"))
    rows.append(
        Content.assemble(f"{'measured':{label}}  ", (f"{units.rate(report.throughput_bps):>12}", "bold"))
    )
    return Content("\n").join(rows)


def _row(each: Compared, label: int, binding: bool) -> Content:
    prediction = each.prediction
    where = words.above_or_below(each.ratio)
    start = f"{prediction.label:{label}}  {units.rate(prediction.throughput_bps):>12}   {where:<12}"
    if not each.within and not binding and each.ratio < 1:
        # A model that would allow more is not wrong: something else was the limit.
        return Content(f"{start}  not the limit")
    mark = (WITHIN, "$success bold") if each.within else (OUTSIDE, "$error bold")
    word = "within" if each.within else "outside"
    return Content.assemble(f"{start}  {word} {words.tolerance(prediction.tolerance)} ", mark)


def line(report: Report, own: Kept | None, own_is_rate: bool) -> Content:
    """The same in one line, the binding model only: for small terminals."""
    parts = [Content.assemble("measured ", (units.rate(report.throughput_bps), "bold"))]
    if report.compared:
        binding = report.compared[0]
        mark = WITHIN if binding.within else OUTSIDE
        difference = units.signed_percent(binding.ratio - 1)
        parts.append(
            Content.assemble(
                f"{binding.prediction.label} {units.rate(binding.prediction.throughput_bps)} ",
                f"({difference}, {words.tolerance(binding.prediction.tolerance)}) ",
                (mark, "$success" if binding.within else "$error"),
            )
        )
    if own and own.value is not None and own_is_rate:
        off = f" ({units.signed_percent(report.throughput_bps / own.value - 1)})" if own.value else ""
        parts.append(Content(f"you {own.text}{off}"))
    return Content("   ").join(parts)
