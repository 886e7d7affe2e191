"""Tables of a run, for the views of its panel: a row per model, a row per flow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from math import isnan

from tcptutor.analysis import FlowFigures, Judgement, ModelComparison, Report
from tcptutor.base import ratios, units
from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.base.columns import wrapped
from tcptutor.figures.axes import rounded_up
from tcptutor.figures.lines import BAD, GOOD, MUTED, STRONG, TEXT, Line
from tcptutor.spec import Experiment
from tcptutor.study import words
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.axes import rate_unit
from tcptutor.ui.widgets.chart.chart import flow_style
from tcptutor.ui.widgets.chart.flows import flow_names
from tcptutor.ui.widgets.chart.history import History, interpolate
from tcptutor.ui.widgets.chart.scene import OwnPrediction
from tcptutor.ui.widgets.chart.strips import BLOCKS
from tcptutor.ui.widgets.panel.ruler import BEYOND, WITHIN, figure, order_models, uncapped_sum

_INDENT = "  "
_NOT_THE_LIMIT = "not the limit"
_JUDGEMENT_TEXT: dict[Judgement, str] = {
    "not-the-limit": _NOT_THE_LIMIT,
    "undecided": "no verdict",
    "capped": "capped by the link",
}


def model_table(
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
    deviation = "" if each.judgement == "capped" else ratios.above_or_below(each.ratio)
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
            judgement = ((f"for {algorithm_name(prediction.model.algorithm)}", MUTED),)
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
    for line in wrapped(text, width, _INDENT):
        yield Line.of((line, MUTED))


def _own_row(report: Report, own: OwnPrediction | None, name: int) -> Iterator[Line]:
    if own is not None:
        measured = report.throughput_bps
        deviation = ratios.too_high_or_low(own.bps / measured) if measured else ""
        yield Line.of(
            ("you".ljust(name), "you"), (f"  {units.rate(own.bps):>12}  {deviation:>11}".rstrip(), TEXT)
        )


_COLUMNS = (7, 7, 7, 7, 8, 6)
"""Column widths of throughput, share, retransmissions, losses, RTT, CoV."""


def flow_table(live: Live, history: History, width: int, room: int) -> list[Line]:
    """Return a line per flow, at most `room` lines in all; flows that do not fit are counted."""
    flows = sorted(history.flows)
    names = flow_names(live.run.experiment, flows)
    figures = {each.flow: each for each in live.report.flows} if live.report else {}
    highest = max(
        [each.throughput_bps for each in figures.values()]
        or [_last_second_bps(history, flow) for flow in flows]
        or [1.0]
    )
    scale, unit = rate_unit(highest)
    name = max([4, *map(len, names)]) + 1
    trajectory = max(0, width - name - sum(_COLUMNS))
    lines = [_head(live, unit, name, trajectory)]
    summary = [*_datagrams(live, width), *_totals(live, width)]
    visible = (
        flows[: max(1, room - len(lines) - len(summary) - 1)]
        if len(flows) + len(lines) + len(summary) > room
        else flows
    )
    full = rounded_up(max([1.0, *(v for flow in flows for v in history.flows[flow].high if not isnan(v))]))
    start = math.ceil(live.run.experiment.flows.warmup / history.step)
    measured = [v for flow in flows for v in history.flows[flow].high[start:] if not isnan(v)]
    full = rounded_up(max([1.0, *measured])) if measured else full
    for number, flow in enumerate(visible):
        cells = _figure_cells(figures.get(flow), scale) or (
            figure(_last_second_bps(history, flow) / scale),
            "",
            f"{history.flows[flow].total_retransmits}",
            "",
            "",
            "",
        )
        lines.append(
            Line.of(
                (names[number].ljust(name), flow_style(number)),
                (_cwnd_blocks(history.flows[flow].last, trajectory, full), flow_style(number)),
                ("".join(text.rjust(columns) for text, columns in zip(cells, _COLUMNS, strict=True)), TEXT),
            )
        )
    if len(visible) < len(flows):
        lines.append(Line.of((f"and {len(flows) - len(visible)} more flows in a taller window", MUTED)))
    return [*lines, *summary][:room]


def _head(live: Live, unit: str, name: int, trajectory: int) -> Line:
    ended = live.report is not None
    words = (unit, "share", "again", "losses", "RTT ms", "CoV") if ended else ("now", "", "again", "", "", "")
    if not ended:
        words = (f"{unit}", "", "again", "", "", "")
    titles = "".join(word.rjust(columns) for word, columns in zip(words, _COLUMNS, strict=True))
    return Line.of(
        ("flow".ljust(name), MUTED), ("cwnd"[:trajectory].ljust(trajectory), MUTED), (titles, MUTED)
    )


def _figure_cells(flow: FlowFigures | None, scale: float) -> tuple[str, ...]:
    if flow is None:
        return ()
    return (
        figure(flow.throughput_bps / scale),
        f"{100 * flow.share:.0f} %",
        units.or_dash(flow.retransmits),
        units.or_dash(flow.losses),
        figure(flow.mean_rtt_s * 1e3) if flow.mean_rtt_s else units.UNKNOWN,
        f"{flow.cov:.2f}" if flow.cov is not None else "–",
    )


def _last_second_bps(history: History, flow: int) -> float:
    known = [rate for rate in history.throughput(flow) if not isnan(rate)]
    last = known[-max(1, math.ceil(1 / history.step)) :]
    return sum(last) / len(last) if last else 0.0


def _cwnd_blocks(values: Sequence[float], columns: int, full: float) -> str:
    interpolated, blocks = interpolate(values), []
    for column in range(columns - 1):
        first, last = (at * len(interpolated) // (columns - 1) for at in (column, column + 1))
        known = [value for value in interpolated[first : max(first + 1, last)] if not isnan(value)]
        level = round(sum(known) / len(known) / full * 7) if known else 0
        blocks.append(BLOCKS[min(7, max(1, level))] if known else " ")
    return "".join(blocks).ljust(columns)


def _datagrams(live: Live, width: int) -> Iterator[Line]:
    for each in live.run.udp:
        parts = [
            f"UDP {each.flow + 1}: {units.or_dash(each.received_bps, units.rate)}"
            f" of {units.or_dash(each.sent_bps, units.rate)} arrive",
            f"{units.or_dash(each.lost)} of {units.or_dash(each.datagrams)} lost",
            *([f"jitter {units.seconds(each.jitter_s)}"] if each.jitter_s is not None else []),
            *([f"{each.out_of_order} out of order"] if each.out_of_order is not None else []),
        ]
        while len(parts) > 1 and len(", ".join(parts)) > width:
            parts.pop()
        yield Line.of((", ".join(parts)[:width], TEXT))


def _totals(live: Live, width: int) -> Iterator[Line]:
    report = live.report
    if report is None or not report.flows:
        return
    has_peers = len(report.flows) > 1
    during = "" if report.shared_s is None else f" from {report.shared_s[0]:g} to {report.shared_s[1]:.4g} s"
    parts = (
        [f"Jain's index {report.jain_index:.3f}{during}"]
        if has_peers and report.jain_index is not None
        else []
    )
    parts += [f"{each.direction} {units.rate(each.throughput_bps)}" for each in report.directions]
    if report.cov_between is not None:
        parts.append(f"CoV between flows {report.cov_between:.2f}")
    parts += [
        f"{units.or_dash(report.retransmits)} retransmitted",
        f"{units.or_dash(report.loss_events)} losses",
    ]
    while len(parts) > 1 and len(" · ".join(parts)) > width:
        parts.pop()
    yield Line.of((" · ".join(parts)[:width], STRONG))
    yield from (Line.of((text[:width], MUTED)) for text in _footnotes(has_peers) if len(text) <= width)


def _footnotes(has_peers: bool) -> Iterator[str]:
    yield "of the measured time; CoV: spread of a flow's own seconds over their mean"
    if has_peers:
        yield "Jain's index: 1 if all get the same, 1/n if one of n gets all"
