"""Plots of a sweep: measured points with confidence intervals, and the binding model's prediction as a line."""

from __future__ import annotations

import filecmp
import itertools
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcptutor import spec
from tcptutor.base import units
from tcptutor.base.errors import TutorError, UnitError, UsageError, near, unknown
from tcptutor.exchange.plot import COLORS, check_target, save
from tcptutor.sweep.confidence import LEVEL
from tcptutor.sweep.grid import SEED, Axis, parameter_name
from tcptutor.sweep.points import QUANTITIES, Point, points
from tcptutor.sweep.results_file import SweepTable

USUAL = "throughput"
"""Default quantity."""
_MAX_LINES = 20
_MARKERS = "os^Dv<>PX*"
_UNITS = {
    "rate": (1e6, "Mbit/s"),
    "time": (1e-3, "ms"),
    "ratio": (1e-2, "%"),
    "size": (1e3, "kB"),
    "window": (1e3, "kB"),
}
_SIZES = ("size", "window")
_BDP = "BDP"
"""Unit that depends on the cell's own path."""
_SUSPECT = "#8C96A0"
"""Color of points with suspect runs: gray, and hollow to be visible without color."""
_LABELS = {
    "throughput": (1e6, "throughput, Mbit/s"),
    "loss_rate": (1e-2, "loss events per segment, %"),
    "losses": (1, "loss events"),
    "retransmits": (1, "retransmissions"),
    "rtt": (1e-3, "mean RTT, ms"),
    "cwnd": (1, "mean cwnd, segments"),
    "jain": (1, "Jain's fairness index"),
    "completion": (1, "completion time, s"),
}


def check(axes: Sequence[Axis], x: str | None, y: str, group: str | None, path: Path) -> str:
    """Return the name of the x axis, after checking the request before anything runs.

    Raises UsageError, or TutorError without matplotlib.
    """
    if y not in QUANTITIES:
        raise UsageError(unknown("quantity", y, QUANTITIES))
    names = [axis.name for axis in axes if axis.name != SEED]
    if not names:
        raise UsageError("a plot needs an axis besides the seed: add another --grid")
    for name in (x, group):
        if name is not None and parameter_name(name) not in names:
            raise UsageError(
                f"{name!r} is not an axis of this sweep: {near(name, names) or 'the axes are ' + ', '.join(names)}"
            )
    chosen = parameter_name(x) if x else next((name for name in names if _is_number(name)), names[0])
    if group is not None and parameter_name(group) == chosen:
        raise UsageError(f"{group!r} is on the x axis already: group by another one")
    lines = math.prod(len(axis.values) for axis in axes if axis.name not in (SEED, chosen))
    if lines > _MAX_LINES:
        raise UsageError(
            f"{lines} lines are too many for one plot (at most {_MAX_LINES}): sweep fewer values"
        )
    check_target(path)
    return chosen


def draw(table: SweepTable, x: str | None, path: Path, y: str = USUAL, group: str | None = None) -> None:
    """Draw quantity `y` over axis `x` (None: the first numeric axis) into `path`, with a line for each other setting.

    Lines with the same value of axis `group` share a color. An axis with about equal ratios of its values is
    logarithmic. Raises UsageError; TutorError for a table without rows, an unwritable `path`, or a missing
    matplotlib.
    """
    x = check(table.definition.axes, x, y, group, path)
    drawn = [point for point in points(table.sorted_rows()) if QUANTITIES[y] in point.measured]
    if not drawn:
        raise TutorError(f"no cell of this sweep has a result for {y}: finish the sweep")
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    # Reproducible ids in SVG, and text that stays text.
    with mpl.rc_context({"svg.hashsalt": "tcptutor", "svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(7.0, 4.5), layout="constrained")
        plot = figure.subplots()
        x_axis = _XAxis(drawn, x)
        _draw_lines(plot, drawn, x_axis, y, parameter_name(group) if group else None)
        _draw_axes(plot, drawn, x_axis, y)
        plot.set_title(_title(table), fontsize="medium")
        save(figure, path, "give another place")


def is_drawn(table: SweepTable, x: str | None, path: Path, y: str = USUAL, group: str | None = None) -> bool:
    """Check that the file `path` is byte for byte the output of `draw`, so that no user has edited it."""
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder, f"plot{path.suffix}")
        try:
            draw(table, x, again, y, group)
            return filecmp.cmp(again, path, shallow=False)
        except (OSError, TutorError):
            return False


class _XAxis:
    """The x axis: numbers in the field's unit, sizes in the unit they were written in, or evenly spaced names."""

    def __init__(self, drawn: Sequence[Point], x: str) -> None:
        known = spec.PARAMETERS.get(x)
        self.name = x
        kind = known.kind if known else ""
        self.numbers = all(isinstance(point.values[x], (int, float)) for point in drawn)
        self.texts = list(dict.fromkeys(point.point[x] for point in drawn))
        self._scale, unit = _UNITS.get(kind, (1, ""))
        written = _common_unit(self.texts) if self.numbers else ""
        self._in_bdp = written == _BDP
        if self._in_bdp:
            unit = _BDP
        elif written and kind in _SIZES:
            self._scale, unit = units.parse(f"1 {written}", "size"), written
        title = "delay added to the RTT" if x == "delay" else x
        self.label = f"{title}, {unit}" if unit and self.numbers else title

    def __call__(self, point: Point) -> float:
        value = point.values[self.name]
        if self._in_bdp:
            return units.split(point.point[self.name])[0]
        return float(value or 0) / self._scale if self.numbers else self.texts.index(point.point[self.name])


def _common_unit(texts: Sequence[str]) -> str:
    try:
        written = {unit for number, unit in map(units.split, texts) if number or unit}
    except UnitError:
        return ""
    return written.pop() if len(written) == 1 else ""


def _draw_lines(plot: Any, drawn: Sequence[Point], x_axis: _XAxis, y: str, group: str | None) -> None:
    scale, _ = _LABELS[y]
    lines: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for point in drawn:
        others = tuple((name, value) for name, value in point.point.items() if name != x_axis.name)
        lines.setdefault(others, []).append(point)
    color_keys = list(dict.fromkeys(_color_key(others, group) for others in lines))
    for (others, line), marker in zip(lines.items(), itertools.cycle(_MARKERS)):
        color = COLORS[color_keys.index(_color_key(others, group)) % len(COLORS)]
        line.sort(key=x_axis)
        at, summaries = [x_axis(point) for point in line], [point.measured[QUANTITIES[y]] for point in line]
        plot.errorbar(
            at, [summary.mean / scale for summary in summaries],
            yerr=[(summary.half_width or 0.0) / scale for summary in summaries],
            fmt=marker, color=color, capsize=3, markersize=5,
            label=", ".join(f"{name} {value}" for name, value in others) or "measured",
        )  # fmt: skip
        suspect = [
            (x, summary.mean / scale)
            for x, summary, point in zip(at, summaries, line, strict=True)
            if point.doubtful
        ]
        if suspect:
            plot.plot(
                *zip(*suspect, strict=True),
                marker,
                color=_SUSPECT,
                markerfacecolor="white",
                markersize=7,
                zorder=3,
            )
        if y == "throughput":
            plot.plot(
                at,
                [_binding_throughput(point) / scale for point in line],
                "-",
                color=color,
                alpha=0.7,
                linewidth=1.2,
            )
    if y == "throughput":
        plot.plot([], [], "-", color="#555555", label="binding model")
    if any(point.doubtful for point in drawn):
        plot.plot([], [], "o", color=_SUSPECT, markerfacecolor="white", markersize=7, label="suspect")


def _binding_throughput(point: Point) -> float:
    """Return the throughput that the binding model predicts, bit/s; NaN without a model."""
    return next((model.throughput_bps for model in point.models.values()), math.nan)


def _draw_axes(plot: Any, drawn: Sequence[Point], x_axis: _XAxis, y: str) -> None:
    scale, label = _LABELS[y]
    at = sorted({x_axis(point) for point in drawn})
    means = [point.measured[QUANTITIES[y]].mean / scale for point in drawn]
    if x_axis.numbers and is_geometric(at):
        plot.set_xscale("log")
        if min(means) > 0 and max(means) > 10 * min(means):
            plot.set_yscale("log")
    if plot.get_yscale() == "linear":
        # The interval of two runs may be many times the mean: cut its bar rather than flatten the points.
        highest = 2 * max(
            means + [_binding_throughput(point) / scale for point in drawn if y == "throughput"]
        )
        plot.set_ylim(0, min(highest, plot.get_ylim()[1]) or 1)
    if not x_axis.numbers:
        plot.set_xticks(at, x_axis.texts)
    elif len(at) <= 10:
        plot.set_xticks(at, [f"{value:.4g}" for value in at])
        plot.xaxis.minorticks_off()
    several = any(len(point.seeds) > 1 for point in drawn)
    plot.set(xlabel=x_axis.label, ylabel=label + (f"; bars: {LEVEL:.0%} confidence" if several else ""))
    plot.grid(visible=True, alpha=0.3)
    plot.legend(fontsize="small")


def _color_key(others: tuple[tuple[str, str], ...], group: str | None) -> object:
    return others if group is None else dict(others)[group]


def _is_number(name: str) -> bool:
    known = spec.PARAMETERS.get(name)
    return known is None or (known.kind not in ("name", "changes") and not known.many)


def is_geometric(values: Sequence[float]) -> bool:
    """Check whether the ratios of successive values vary less than their differences."""
    ordered = sorted(set(values))
    if len(ordered) < 3 or ordered[0] <= 0:
        return False
    differences = [high - low for low, high in itertools.pairwise(ordered)]
    ratios = [math.log(high / low) for low, high in itertools.pairwise(ordered)]
    return max(ratios) / min(ratios) < max(differences) / min(differences)


def _title(table: SweepTable) -> str:
    definition = table.definition
    settings = ", ".join(f"{name} {value}" for name, value in definition.settings.items())
    missing = definition.cells - len(table.rows)
    parts = [
        definition.experiment,
        settings,
        f"{missing} of {definition.cells} cells are missing" if missing else "",
    ]
    return " · ".join(part for part in parts if part)
