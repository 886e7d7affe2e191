"""The whole table of models beside the measurement: what each formula gives, what capped it, why it differs."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.analysis import Compared, Judgement, Report
from tcptutor.base import units
from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.widgets.bench.lines import BAD, GOOD, MUTED, STRONG, TEXT, Line
from tcptutor.ui.widgets.bench.ruler import BEYOND, WITHIN, figure, leading, uncapped_sum
from tcptutor.ui.widgets.bench.scales import rate_unit
from tcptutor.ui.widgets.bench.scene import OwnPrediction

_INDENT = "  "
_NOT_THE_LIMIT = "not the limit"
_TOLD: dict[Judgement, str] = {
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
    """The page's formula first. Where all does not fit in `room` lines the formulas of the last ones give way."""
    models = leading(report.comparisons, formula)
    names = [each.prediction.label for each in models]
    name = min(max([len("measured"), *map(len, names)]), max(10, width - 42))
    head = Line.of(
        ("measured".ljust(name), STRONG), (f"  {units.rate(report.throughput_bps):>12}", STRONG),
        ("  which is", MUTED),
    )  # fmt: skip
    you = list(_you(report, own, name))
    # Models in a row that differ for the same reason have it once, under the last of them.
    after = [*(each.reason for each in models[1:]), ""]
    rows = [
        (
            _row(each, each is report.comparisons[0], name),
            list(_below(each, each.reason if each.reason != following else "", experiment, width)),
        )
        for each, following in zip(models, after, strict=True)
    ]
    for explained in range(len(rows), -1, -1):
        lines = [head]
        for number, (row, below) in enumerate(rows):
            lines += [row, *(below if number < explained else [])]
        if len(lines) + len(you) <= room:
            break
    return [*lines, *you][:room]


def _row(each: Compared, judged: bool, name: int) -> Line:
    prediction = each.prediction
    label = prediction.label if len(prediction.label) <= name else f"{prediction.label[: name - 1]}…"
    off = "" if each.judgement == "capped" else words.above_or_below(each.ratio)
    where = f"  {units.rate(prediction.throughput_bps):>12}  {off:>11}  "
    tolerance = words.tolerance(prediction.tolerance)
    told: tuple[tuple[str, str], ...]
    match each.judgement:
        case "explains":
            told = ((WITHIN, GOOD), (f" {tolerance}", TEXT))
        case "misses":
            told = ((BEYOND, BAD), (f" {tolerance}", TEXT))
        case "capped":
            where, told = where[:16], ((_TOLD["capped"], MUTED),)
        case "of-others":
            told = ((f"for {words.algorithm(prediction.model.algorithm)}", MUTED),)
        case _:
            told = ((_TOLD[each.judgement], MUTED),)
    return Line.of((label.ljust(name), STRONG if judged else TEXT), (where, TEXT), *told)


def _below(each: Compared, reason: str, experiment: Experiment, width: int) -> Iterator[Line]:
    """Formula, cap, reason."""
    yield from _muted(capped(each, experiment) or each.prediction.formula, width)
    if reason and not reason.startswith(_NOT_THE_LIMIT):  # it stands in the row already
        yield from _muted(reason, width)


def capped(each: Compared, experiment: Experiment) -> str:
    """ "8 × 9.58 = 76.6 Mbit/s, the link carries 47.8" where the link takes from what a formula gives; else empty."""
    uncapped, flows = each.prediction.uncapped_bps, experiment.total_streams
    if uncapped is None:
        return ""
    scale, unit = rate_unit(uncapped)
    carried = figure(each.prediction.throughput_bps / scale)
    return f"{uncapped_sum(uncapped, flows, scale)} {unit}, the link carries {carried}"


def _muted(text: str, width: int) -> Iterator[Line]:
    for line in words.wrapped(text, width, _INDENT):
        yield Line.of((line, MUTED))


def _you(report: Report, own: OwnPrediction | None, name: int) -> Iterator[Line]:
    if own is not None:
        measured = report.throughput_bps
        off = words.too_high_or_low(own.bps / measured) if measured else ""
        yield Line.of(("you".ljust(name), "you"), (f"  {units.rate(own.bps):>12}  {off:>11}".rstrip(), TEXT))
