"""Plots of a sweep: measured points with confidence intervals, and the binding model's prediction as a line."""

from __future__ import annotations

import filecmp
import itertools
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tcptutor import spec
from tcptutor.base import units
from tcptutor.base.chart import (
    COLORS,
    GRAY,
    MARKERS,
    SUSPECT,
    Chart,
    ChartAxis,
    ChartPanel,
    ChartSeries,
    check_target,
)
from tcptutor.base.confidence import LEVEL
from tcptutor.base.errors import TutorError, UnitError, UsageError, near, unknown
from tcptutor.exchange.plot import save_chart
from tcptutor.sweep import grid
from tcptutor.sweep.grid import SEED, parameter_name
from tcptutor.sweep.results import QUANTITIES, Point, points
from tcptutor.sweep.results_file import SweepTable

USUAL = "throughput"
"""Default quantity."""
_MAX_LINES = 20
_MOST_TICKS = 10
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
_LABELS = {
    "throughput": (1e6, "throughput, Mbit/s"),
    "utilization": (1e-2, "utilization of the link, %"),
    "share": (1e-2, "share of flow 1, %"),
    "loss_rate": (1e-2, "loss events per segment, %"),
    "losses": (1, "loss events"),
    "retransmits": (1, "retransmissions"),
    "rtt": (1e-3, "mean RTT, ms"),
    "rtt_p95": (1e-3, "95th percentile of the smoothed RTT, ms"),
    "queueing": (1e-3, "mean queueing delay, ms"),
    "queueing_p95": (1e-3, "95th percentile of the queueing delay, ms"),
    "cwnd": (1, "mean cwnd, segments"),
    "jain": (1, "Jain's fairness index"),
    "completion": (1, "completion time, s"),
}


def check(axes: Sequence[grid.Axis], x: str | None, y: str, group: str | None) -> str:
    """Return the name of the x axis, after checking the request before anything runs.

    Raises UsageError.
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
    return chosen


def chart(table: SweepTable, x: str | None, y: str = USUAL, group: str | None = None) -> Chart:
    """Return quantity `y` over axis `x` (None: the first numeric axis), with a line for each other setting.

    Lines with the same value of axis `group` share a color. An axis with about equal ratios of its values is
    logarithmic. Raises UsageError, and TutorError for a table without results.
    """
    x = check(table.definition.axes, x, y, group)
    drawn = [point for point in points(table.sorted_rows()) if QUANTITIES[y] in point.measured]
    if not drawn:
        raise TutorError(f"no cell of this sweep has a result for {y}: {_remedy(table, y)}")
    x_axis = _XAxis(drawn, x)
    panel = _panel(drawn, x_axis, y, parameter_name(group) if group else None)
    return Chart(title=[_title(table)], panels=[panel], x=x_axis.axis(drawn))


def _remedy(table: SweepTable, y: str) -> str:
    if len(table.rows) < table.definition.cells:
        return "finish the sweep"
    return "sweep with --set bytes=1MB" if y == "completion" else "choose another quantity with --y"


def draw(table: SweepTable, x: str | None, path: Path, y: str = USUAL, group: str | None = None) -> None:
    """Draw the chart into the file `path`. Raises like `chart`, and TutorError for an unwritable `path`."""
    check_target(path)
    save_chart(chart(table, x, y, group), path)


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
        places = sorted(set(map(self, drawn)))
        self.is_log = self.numbers and is_geometric(places)
        title = "delay added to the RTT" if x == "delay" else x
        self.label = f"{title}, {unit}" if unit and self.numbers else title

    def axis(self, drawn: Sequence[Point]) -> ChartAxis:
        """Return the axis with a tick at each value of a few, and a margin at its ends."""
        places = sorted(set(map(self, drawn)))
        names = [f"{place:.4g}" for place in places] if self.numbers else self.texts
        ticks = [*zip(places, names, strict=True)] if len(places) <= _MOST_TICKS or not self.numbers else []
        low, high = places[0], places[-1]
        if self.is_log:
            margin = (high / low) ** 0.04
            return ChartAxis(low=low / margin, high=high * margin, label=self.label, is_log=True, ticks=ticks)
        margin = 0.04 * (high - low) or 0.5
        return ChartAxis(low=low - margin, high=high + margin, label=self.label, ticks=ticks)

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


def _panel(drawn: Sequence[Point], x_axis: _XAxis, y: str, group: str | None) -> ChartPanel:
    scale, label = _LABELS[y]
    lines: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for point in drawn:
        others = tuple((name, value) for name, value in point.point.items() if name != x_axis.name)
        lines.setdefault(others, []).append(point)
    color_keys = list(dict.fromkeys(_color_key(others, group) for others in lines))
    models: list[ChartSeries] = []
    measured: list[ChartSeries] = []
    suspect: list[tuple[float, float]] = []
    for (others, line), marker in zip(lines.items(), itertools.cycle(MARKERS)):
        color = COLORS[color_keys.index(_color_key(others, group)) % len(COLORS)]
        line.sort(key=x_axis)
        summaries = [point.measured[QUANTITIES[y]] for point in line]
        places = [
            (x_axis(point), summary.mean / scale) for point, summary in zip(line, summaries, strict=True)
        ]
        spread = [(summary.half_width or 0.0) / scale for summary in summaries]
        name = ", ".join(f"{name} {value}" for name, value in others) or "measured"
        measured.append(
            ChartSeries(
                points=places, label=name, color=color, marker=marker, is_connected=False, spread=spread
            )
        )
        suspect += [place for place, point in zip(places, line, strict=True) if point.doubtful]
        if y in _PREDICTED:
            label_of_model, of_point = _PREDICTED[y]
            predicted = [(x_axis(point), of_point(point) / scale) for point in line]
            shared = COLORS[0] if len(lines) == 1 else color
            if not all(math.isnan(value) for _, value in predicted):
                models.append(ChartSeries(points=predicted, label=label_of_model, color=shared))
    doubted = ChartSeries(points=suspect, label="suspect", color=GRAY, marker=SUSPECT, is_connected=False)
    several = any(len(point.seeds) > 1 for point in drawn)
    return ChartPanel(
        heading=label + (f"; bars: {LEVEL:.0%} confidence" if several else ""),
        series=[*models, *measured, *([doubted] if suspect else [])],
        y=_y_axis([value for series in (*measured, *models) for _, value in series.points if math.isfinite(value)],
                  measured, x_axis.is_log),
    )  # fmt: skip


def _y_axis(values: Sequence[float], measured: Sequence[ChartSeries], may_be_log: bool) -> ChartAxis:
    means = [mean for series in measured for _, mean in series.points]
    if may_be_log and min(means) > 0 and max(means) > 10 * min(means):
        positive = [value for value in values if value > 0]
        return ChartAxis(low=min(positive) / 1.5, high=max(positive) * 1.5, is_log=True)
    ends = [
        mean + spread
        for series in measured
        for (_, mean), spread in zip(series.points, series.spread, strict=True)
    ]
    # The interval of two runs may be many times the mean: cut its bar rather than flatten the points.
    return ChartAxis(high=min(2 * max(values), 1.05 * max(*ends, *values)) or 1.0)


def _binding_throughput(point: Point) -> float:
    """Return the throughput that the binding model predicts, bit/s; NaN without a model."""
    return next((model.throughput_bps for model in point.models.values()), math.nan)


def _queue_limit(point: Point) -> float:
    """Return the queueing delay of a full queue, or CoDel's target, s; NaN if unknown."""
    return math.nan if point.queue_limit_s is None else point.queue_limit_s


_PREDICTED: dict[str, tuple[str, Callable[[Point], float]]] = {
    "throughput": ("binding model", _binding_throughput),
    "queueing": ("full queue, or CoDel's target", _queue_limit),
    "queueing_p95": ("full queue, or CoDel's target", _queue_limit),
}
"""Label and value of a predicted line, by quantity."""


def _color_key(others: tuple[tuple[str, str], ...], group: str | None) -> object:
    return others if group is None else dict(others)[group]


def _is_number(name: str) -> bool:
    known = spec.PARAMETERS.get(name)
    return known is None or (known.kind not in ("name", "changes") and not known.is_list)


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
