"""The room experiment on the stage: a bar per flow against an equal share, and the algorithms' shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tcptutor.base import units
from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.figures.axes import round_ticks
from tcptutor.figures.lines import MUTED, STRONG, TEXT
from tcptutor.room.percentages import whole_percentages
from tcptutor.room.talk import AlgorithmTotal, FlowBar, FlowsView, RunSource
from tcptutor.ui.present.block_raster import BOTH
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_chart import AXIS
from tcptutor.ui.present.stage_figures import GROUND, write_label
from tcptutor.ui.widgets.chart.chart import flow_style

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_DASH = "╌"
_GAP = 3
"""Columns between the key figures of two algorithms."""
_MOST_SHARES = 5
"""Upper end of the axis in equal shares, so that a few very fast flows do not dwarf other bars."""
_LARGE_FROM = 24
"""Lines from which figures are larger."""
_FEWEST_ROWS = 4
"""Rows below which no bars are drawn."""


def draw_flows(canvas: StageCanvas, view: FlowsView, source: RunSource) -> None:
    """Draw key figures, bars, and a line about the run with its label."""
    top = _draw_totals(canvas, view)
    line = canvas.text_height(1)
    if canvas.height - top - 2 * line >= _FEWEST_ROWS:
        _draw_bars(canvas, view, top + 1, canvas.height - line - 1)
    end = canvas.width
    if view.state != "ready":
        end = write_label(canvas, canvas.height - line, source) - _GAP
    canvas.write(0, canvas.height - line, _fitting(canvas, end, _status(view))[0], TEXT)


def _draw_totals(canvas: StageCanvas, view: FlowsView) -> int:
    """Draw each algorithm's part of all payload, next to the first vote's after a second; return the row below."""
    totals, earlier = _with_abandoned(view), {each.algorithm: each for each in view.earlier}
    everything = math.fsum(total.bps for total in totals)
    width = (canvas.width + _GAP) // max(1, len(totals)) - _GAP
    figures = [str(total.flows) for total in totals]
    if everything:
        rates = [total.bps for total in totals]
        figures = [_percent(*each) for each in zip(rates, whole_percentages(rates), strict=True)]
    size, line = _figure_size(canvas, width, figures), canvas.text_height(1)
    names = [algorithm_name(total.algorithm) for total in totals]
    if earlier:
        before = [earlier[each.algorithm].flows if each.algorithm in earlier else 0 for each in totals]
        flows = [
            f"{name}, {old} → {each.flows}" for name, old, each in zip(names, before, totals, strict=True)
        ]
    else:
        flows = [f"{name}, {total.flows}" for name, total in zip(names, totals, strict=True)]
    above = (
        [f"{each} of {len(view.flows)} flows" for each in flows],
        [f"{each} flows" for each in flows],
        names,
    )
    last = ["flows"] * len(totals)
    if earlier:
        changes = [_change(earlier.get(each.algorithm), each, view) for each in totals]
        last = [*_fitting(canvas, width, ([f"a flow: {each}" for each in changes], changes))]
    elif everything:
        means = [_mean(total) for total in totals]
        under = ([f"of all data, {mean} a flow" for mean in means], ["of all data"] * len(means))
        last = [*_fitting(canvas, width, under)]
    is_large = canvas.height >= _LARGE_FROM and all(canvas.text_width(each, 2) <= width for each in last)
    below: Size = 2 if is_large and earlier else 1
    first = _fitting(canvas, width, above)
    for number, total in enumerate(totals):
        left, style = number * (width + _GAP), _style(total.algorithm, view)
        canvas.write(left, 0, first[number], style)
        canvas.write(left, line, figures[number], style, size)
        canvas.write(left, line + size + (below > 1), last[number], STRONG if earlier else MUTED, below)
    return line + size + canvas.text_height(below) + (below > 1)


def _with_abandoned(view: FlowsView) -> list[AlgorithmTotal]:
    """Return the totals, with algorithms that only the first vote picked."""
    now = {each.algorithm: each for each in view.totals}
    for each in view.earlier:
        now.setdefault(each.algorithm, AlgorithmTotal(algorithm=each.algorithm, flows=0, voters=0))
    return sorted(now.values(), key=lambda each: view.offered.index(each.algorithm))


def _mean(total: AlgorithmTotal) -> str:
    return units.rate(total.bps / total.flows, 2)


def _change(before: AlgorithmTotal | None, now: AlgorithmTotal, view: FlowsView) -> str:
    """Return the mean rate of a flow in the first run and now; only the first before the second run."""
    old = _mean(before) if before is not None else "–"
    if view.state == "ready" and now.flows:
        return f"{old} → ?"
    new = _mean(now) if now.flows else "–"
    (figure, _, unit), same = old.partition(" "), new.partition(" ")[2]
    return f"{figure if unit == same else old} → {new}"


def _fitting(canvas: StageCanvas, width: int, forms: Iterable[Sequence[str]]) -> Sequence[str]:
    """Return the first form of texts in which all fit, or the last."""
    texts: Sequence[str] = ()
    for texts in forms:
        if all(canvas.text_width(text, 1) <= width for text in texts):
            break
    return texts


def _percent(bps: float, percentage: int) -> str:
    return "< 1 %" if bps and not percentage else f"{percentage} %"


def _figure_size(canvas: StageCanvas, width: int, figures: Sequence[str]) -> Size:
    sizes: tuple[Size, ...] = (5, 3) if canvas.height >= _LARGE_FROM else (3,)
    fitting = (size for size in sizes if all(canvas.text_width(text, size) <= width for text in figures))
    return next(fitting, 1)


def _draw_bars(canvas: StageCanvas, view: FlowsView, top: int, bottom: int) -> None:
    """Draw the bars on the rows from `top` to before `bottom`, which is the row of the axis."""
    rows, highest = bottom - top, max((bar.bps for bar in view.flows), default=0.0)
    upper = _round_up(max(1.2 * view.fair_bps, min(1.1 * highest, _MOST_SHARES * view.fair_bps)))
    gutter = _draw_axis(canvas, upper, top, bottom)
    fair = bottom - 1 - int(view.fair_bps / upper * rows)
    canvas.put(gutter, fair, _DASH * (canvas.width - gutter), STRONG)
    for column, width, bar in _columns(view.flows, gutter + 1, canvas.width - gutter - 1):
        style = _style(bar.algorithm, view)
        eighths = max(1, round(8 * rows * min(1.0, bar.bps / upper)))
        for row in range(math.ceil(eighths / 8)):
            canvas.put(column, bottom - 1 - row, _EIGHTHS[min(8, eighths - 8 * row)] * width, style)
        if eighths >= 8 * (bottom - fair):
            canvas.put(column, fair, _DASH * width, f"{GROUND}{BOTH}{style}")
        if bar.bps > upper:
            canvas.put_center(column, width, top, "▲".center(width), style)
    _name_line(canvas, "equal share", gutter, fair)


def _draw_axis(canvas: StageCanvas, upper: float, top: int, bottom: int) -> int:
    """Draw both axes, and return the first column right of the vertical axis."""
    rows, tall = bottom - top, canvas.text_height(1)
    scale, unit = units.axis_unit(upper, "rate")
    ticks = round_ticks(upper / scale, max(1, rows // 5))
    labels = [f"{tick:g}" for tick in ticks]
    labels[-1] += f" {unit}"
    gutter = max(canvas.text_width(label, 1) for label in labels) + 2
    canvas.column_of(gutter - 1, top, bottom - 1, "│", AXIS)
    canvas.put(gutter - 1, bottom, "└" + "─" * (canvas.width - gutter), AXIS)
    for tick, label in zip(ticks[1:], labels[1:], strict=True):
        row = bottom - round(tick * scale / upper * rows)
        canvas.put(gutter - 1, row, "┤", AXIS)
        canvas.write(gutter - 2 - canvas.text_width(label, 1), max(top, row - tall // 2), label, MUTED)
    return gutter


def _name_line(canvas: StageCanvas, name: str, left: int, row: int) -> None:
    """Write a name above the line on `row`, as far to the right as bars leave it room."""
    width, tall = canvas.text_width(name, 1), canvas.text_height(1)

    def is_free(column: int) -> bool:
        last = min(column + width + 1, canvas.width)
        cells = ((at, row - 1 - up) for at in range(column - 1, last) for up in range(tall))
        return all(canvas.at(*cell)[0] == " " for cell in cells)

    start = next(filter(is_free, range(canvas.width - width, left, -1)), None)
    if start is not None:
        canvas.write(start, row - tall, name, STRONG)


def _style(algorithm: str, view: FlowsView) -> str:
    return flow_style(view.offered.index(algorithm))


def _columns(flows: Sequence[FlowBar], left: int, across: int) -> Iterator[tuple[int, int, FlowBar]]:
    """Yield first column and width of each flow's bar, the fastest flow of each algorithm first."""
    groups = [
        sorted(group, key=lambda bar: -bar.bps) for _, group in groupby(flows, key=lambda bar: bar.algorithm)
    ]
    pitch = min(12.0, (across - 2 * len(groups)) / max(1, len(flows)))
    start = float(left)
    for group in groups:
        for bar in group:
            column, end = round(start), round(start + pitch)
            # Narrow bars touch, which makes an area of each algorithm.
            yield column, max(1, end - column - (pitch >= 3)), bar
            start += pitch
        start += 2


def _status(view: FlowsView) -> Iterator[tuple[str]]:
    """Yield descriptions of the run, the longest first."""
    link = f"{len(view.flows)} flows on {units.rate(view.link_bps)}"
    students = sum(bar.voters for bar in view.flows)
    if students > len(view.flows):
        link = f"{students} students share {link}"
    highest = max((bar.bps for bar in view.flows), default=0.0)
    fastest = f"fastest {units.rate(highest, 2)}" if highest else ""
    fairness = f"fairness {view.jain_index:.2f} of 1" if view.jain_index is not None else ""
    match view.state:
        case "ready":
            when = f"{view.seconds:g} s"
        case "running":
            when = f"at {view.t:.0f} s of {view.seconds:g} s"
        case "stopped":
            when = f"stopped at {view.t:.0f} s of {view.seconds:g} s"
        case "ended":
            when = f"mean from {view.warmup:g} s to {view.seconds:g} s"
    compared = "first vote → now" if view.earlier else ""
    parts = [part for part in (compared, link, when, fairness, fastest) if part]
    yield from ((" · ".join(parts[:number]),) for number in range(len(parts), 0, -1))


def _round_up(value: float) -> float:
    """Return 1, 1.5, 2, 3, 5 or 7 times a power of ten, so that scales rarely change."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 1.5, 2, 3, 5, 7) if step * power >= value), 10 * power)
