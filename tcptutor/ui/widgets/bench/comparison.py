"""Measured, each model, and the student's own prediction, side by side in words."""

from __future__ import annotations

from textual.content import Content

from tcptutor import units
from tcptutor.analysis.model import Compared, Report
from tcptutor.journal import Kept
from tcptutor.ui import words

WITHIN, OUTSIDE = "✓", "✗"


def table(report: Report, own: Kept | None, own_is_rate: bool) -> Content:
    """One line each."""
    label = max([len("measured"), *(len(each.prediction.label) for each in report.compared)])
    rows = [
        Content.assemble("measured".ljust(label + 2), (units.rate(report.throughput_bps).rjust(12), "bold"))
    ]
    for number, each in enumerate(report.compared):
        rate = units.rate(each.prediction.throughput_bps).rjust(12)
        rows.append(
            Content.assemble(
                each.prediction.label.ljust(label + 2), rate, "   ", _judgement(each, number == 0)
            )
        )
    if own and own.value is not None:
        rows.append(
            Content.assemble(
                "you".ljust(label + 2), _own(own.text, own.value, own_is_rate, report.throughput_bps)
            )
        )
    return Content("\n").join(rows)


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
        off = units.signed_percent(own.value / report.throughput_bps - 1) if report.throughput_bps else ""
        parts.append(Content(f"you {own.text} ({off})"))
    return Content("   ").join(parts)


def _judgement(each: Compared, binding: bool) -> Content:
    where = words.above_or_below(each.ratio)
    measured = "measured the same" if where == "the same" else f"measured {where}"
    tolerance = words.tolerance(each.prediction.tolerance)
    if each.within:
        return Content.assemble(f"{measured}, within {tolerance}  ", (WITHIN, "$success bold"))
    if binding:
        return Content.assemble(f"{measured}, outside {tolerance}  ", (OUTSIDE, "$error bold"))
    # A model that would allow more is not wrong: something else was the limit.
    return (
        Content(f"{measured}: not the limit here")
        if each.ratio < 1
        else Content.assemble(f"{measured}, outside {tolerance}  ", (OUTSIDE, "$error bold"))
    )


def _own(text: str, value: float, is_rate: bool, measured: float) -> Content:
    if not is_rate or not measured:
        return Content(text.rjust(12))
    where = words.above_or_below(value / measured)
    said = "what was measured" if where == "the same" else f"{where} what was measured"
    return Content(f"{text.rjust(12)}   {said}")
