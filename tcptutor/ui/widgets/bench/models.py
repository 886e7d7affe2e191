"""Table of models: each prediction next to the measurement, its formula, caps, and why it differs."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.analysis import Judgement, ModelComparison, Report
from tcptutor.base import units
from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.widgets.bench.axes import rate_unit
from tcptutor.ui.widgets.bench.lines import BAD, GOOD, MUTED, STRONG, TEXT, Line
from tcptutor.ui.widgets.bench.ruler import BEYOND, WITHIN, figure, order_models, uncapped_sum
from tcptutor.ui.widgets.bench.scene import OwnPrediction

_INDENT = "  "
_NOT_THE_LIMIT = "not the limit"
_JUDGEMENT_TEXT: dict[Judgement, str] = {
    "not-the-limit": _NOT_THE_LIMIT,
    "undecided": "cannot tell",
    "capped": "capped by the link",
}


def table(
    report: Report,
    experiment: Experiment,
    own: OwnPrediction | None,
    width: int,
    room: int,
    formula: str = "",
) -> list[Line]:
    """Return the table, the page's formula first; if it exceeds `room`, formulas of the last models go first."""
    models = order_models(report.comparisons, formula)
    names = [each.prediction.label for each in models]
    name = min(max([len("measured"), *map(len, names)]), max(10, width - 42))
    head = Line.of(
        ("measured".ljust(name), STRONG), (f"  {units.rate(report.throughput_bps):>12}", STRONG),
        ("  which is", MUTED),
    )  # fmt: skip
    own_rows = list(_own_row(report, own, name))
    # Consecutive models with the same reason show it once, under the last of them.
    after = [*(each.reason for each in models[1:]), ""]
    rows = [
        (
            _row(each, each is report.comparisons[0], name),
            list(_details(each, each.reason if each.reason != following else "", experiment, width)),
        )
        for each, following in zip(models, after, strict=True)
    ]
    for with_details in range(len(rows), -1, -1):
        lines = [head]
        for number, (row, details) in enumerate(rows):
            lines += [row, *(details if number < with_details else [])]
        if len(lines) + len(own_rows) <= room:
            break
    return [*lines, *own_rows][:room]


def _row(each: ModelComparison, is_binding: bool, name: int) -> Line:
    prediction = each.prediction
    label = prediction.label if len(prediction.label) <= name else f"{prediction.label[: name - 1]}…"
    deviation = "" if each.judgement == "capped" else words.above_or_below(each.ratio)
    figures = f"  {units.rate(prediction.throughput_bps):>12}  {deviation:>11}  "
    tolerance = words.tolerance(prediction.tolerance)
    judgement: tuple[tuple[str, str], ...]
    match each.judgement:
        case "explains":
            judgement = ((WITHIN, GOOD), (f" {tolerance}", TEXT))
        case "misses":
            judgement = ((BEYOND, BAD), (f" {tolerance}", TEXT))
        case "capped":
            figures, judgement = figures[:16], ((_JUDGEMENT_TEXT["capped"], MUTED),)
        case "other-algorithm":
            judgement = ((f"for {words.algorithm(prediction.model.algorithm)}", MUTED),)
        case _:
            judgement = ((_JUDGEMENT_TEXT[each.judgement], MUTED),)
    return Line.of((label.ljust(name), STRONG if is_binding else TEXT), (figures, TEXT), *judgement)


def _details(each: ModelComparison, reason: str, experiment: Experiment, width: int) -> Iterator[Line]:
    yield from _wrap_muted(capped_text(each, experiment) or each.prediction.formula, width)
    if reason and not reason.startswith(_NOT_THE_LIMIT):  # already in the row
        yield from _wrap_muted(reason, width)


def capped_text(each: ModelComparison, experiment: Experiment) -> str:
    """Return e.g. "8 × 9.58 = 76.6 Mbit/s, the link carries 47.8" if the link caps the formula; empty otherwise."""
    uncapped, flows = each.prediction.uncapped_bps, experiment.total_streams
    if uncapped is None:
        return ""
    scale, unit = rate_unit(uncapped)
    carried = figure(each.prediction.throughput_bps / scale)
    return f"{uncapped_sum(uncapped, flows, scale)} {unit}, the link carries {carried}"


def _wrap_muted(text: str, width: int) -> Iterator[Line]:
    for line in words.wrapped(text, width, _INDENT):
        yield Line.of((line, MUTED))


def _own_row(report: Report, own: OwnPrediction | None, name: int) -> Iterator[Line]:
    if own is not None:
        measured = report.throughput_bps
        deviation = words.too_high_or_low(own.bps / measured) if measured else ""
        yield Line.of(
            ("you".ljust(name), "you"), (f"  {units.rate(own.bps):>12}  {deviation:>11}".rstrip(), TEXT)
        )
