"""Throughput and cwnd of several runs over each other, with a line of text for each run."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tcptutor.base import units
from tcptutor.course.experiments import short_name
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import shown_settings
from tcptutor.study.live import ComparisonRun
from tcptutor.ui.widgets.chart import axes, chart
from tcptutor.ui.widgets.chart.comparison import setting_differences
from tcptutor.ui.widgets.chart.history import STEPS
from tcptutor.ui.widgets.chart.line_panel import LinePanel
from tcptutor.ui.widgets.chart.quantities import axis_top
from tcptutor.ui.widgets.chart.scene import WINDOW, FlowCurve, Points, Scene
from tcptutor.ui.widgets.history.run_table import LETTERS

Quantity = Literal["throughput", "cwnd"]
_QUANTITIES: tuple[Quantity, ...] = ("throughput", "cwnd")
_LEAST_FOR_BOTH = 7
"""Lines of a chart from which both charts are drawn."""
_AROUND = 4
"""Lines of a chart for its title and its time axis, with a blank line below."""
_LABEL = 8
"""Columns of a name at the right edge."""


@dataclass(frozen=True)
class OverlaidRun:
    """A run of the overlay."""

    figures: ComparisonRun
    name: str
    """Name given by the student; empty for none."""


class OverlayPanel(LinePanel):
    """The charts; on a small screen, `turn` switches between them."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: Sequence[OverlaidRun] | None = None
        self._first: Quantity = "throughput"

    def show(self, runs: Sequence[OverlaidRun]) -> None:
        """Draw the runs."""
        self._runs = runs
        self.draw()

    def turn(self) -> None:
        """Draw the other quantity first."""
        self._first = "cwnd" if self._first == "throughput" else "throughput"
        self.draw()

    def waiting(self, width: int, height: int) -> list[Line] | None:  # noqa: ARG002
        return [Line.of(("Reading the runs …", MUTED))] if self._runs is None else None

    def picture(self) -> Callable[[int, int], list[Line]]:
        runs, first = self._runs or (), self._first
        return lambda width, height: overlay_lines(runs, first, width, height)


def overlay_lines(runs: Sequence[OverlaidRun], first: Quantity, width: int, height: int) -> list[Line]:
    """Return both charts, or only the chart of `first` if space is short, then a line for each run."""
    room = height - len(runs)
    wanted = sorted(_QUANTITIES, key=lambda each: each != first)
    if room < 2 * (_LEAST_FOR_BOTH + _AROUND):
        wanted = wanted[:1]
    rows = max(2, room // len(wanted) - _AROUND)
    lines: list[Line] = []
    for quantity in wanted:
        scene = _scene(runs, quantity)
        if scene.curves:
            lines += [chart.title(scene, width, rows), *chart.render(scene, width, rows, ruled=True), Line()]
        else:
            lines += [Line.of((f"No {quantity} was measured in these runs.", MUTED)), Line()]
    return [*lines, *(_line(number, run, runs[0], width) for number, run in enumerate(runs))]


def _scene(runs: Sequence[OverlaidRun], quantity: Quantity) -> Scene:
    seconds = max(each.figures.experiment.seconds for each in runs)
    warmups = {each.figures.experiment.flows.warmup for each in runs}
    points = [each.figures.points if quantity == "throughput" else each.figures.window for each in runs]
    title, scale = WINDOW, 1.0
    if quantity == "throughput":
        scale, unit = axes.rate_unit(max((bps for each in points for _, bps in each), default=0.0) or 1.0)
        title = f"throughput of all flows, {unit}"
    elif any(each.figures.experiment.total_streams > 1 for each in runs):
        title = f"mean {WINDOW}"
    names = _labels([each.figures.experiment for each in runs], [each.name for each in runs])
    curves = [_curve(*each, scale, seconds) for each in zip(names, points, strict=True)]
    top, peak = axis_top(curves, int(max(warmups) / seconds * STEPS), ())
    return Scene(
        seconds=seconds,
        warmup=warmups.pop() if len(warmups) == 1 else 0.0,
        until=seconds,
        quantity=title,
        top=top,
        curves=tuple(curves) if any(points) else (),
        band=None,
        references=(),
        series={},
        peak=peak,
        flows=len(curves),
        ended=True,
    )


def _curve(name: str, points: Points, scale: float, seconds: float) -> FlowCurve:
    """Return the curve through the points; steps between them stay unknown, and are drawn as straight lines."""
    values = array("d", [math.nan]) * STEPS
    for t, value in points:
        values[min(STEPS - 1, int(t / seconds * STEPS))] = value / scale
    return FlowCurve(name, values, values, values)


def _labels(experiments: Sequence[Experiment], names: Sequence[str]) -> list[str]:
    """Return letter and name of each run; without a name its experiment or the setting in which the runs differ."""
    all_settings = [shown_settings(each) for each in experiments]
    differing = [
        name
        for name in dict.fromkeys(name for each in all_settings for name in each)
        if len({each.get(name) for each in all_settings}) > 1
    ]
    are_alike = len({each.name for each in experiments}) == 1
    result = []
    for letter, name, one, here in zip(LETTERS, names, experiments, all_settings, strict=False):
        usual = "".join(here.get(each, units.UNKNOWN) for each in differing[:1])
        label = name or (usual if are_alike else short_name(one.name))
        result.append(f"{letter} {label[:_LABEL]}".rstrip())
    return result


def _line(number: int, run: OverlaidRun, first: OverlaidRun, width: int) -> Line:
    """Return letter, sample of the line, throughput, cause, and name or settings of a run."""
    figures = run.figures
    measured = "nothing measured" if figures.throughput_bps is None else units.rate(figures.throughput_bps)
    cause = f", {figures.limited_by}" if figures.limited_by else ""
    about = short_name(figures.experiment.name)
    if run is not first:
        about = f"{setting_differences(figures.experiment, first.figures.experiment)}"
    line = Line.of(
        (f"{LETTERS[number]} ", STRONG),
        (chart.sample(number), chart.flow_style(number)),
        (f" {measured}{cause}: ", TEXT),
        (f"“{run.name}” " if run.name else "", STRONG),
        (about, MUTED),
    )
    return (
        line if line.width <= width else line.part(0, width - 1).append_at(width - 1, Line.of(("…", MUTED)))
    )
