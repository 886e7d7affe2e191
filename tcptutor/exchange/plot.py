"""Plots of runs as SVG, PDF or PNG: cwnd, RTT, throughput, retransmissions, bytes and queue.

matplotlib is the extra `plot` and takes half a second to import: it is imported when a plot is made. The same run
gives the same bytes: no date, and ids from a fixed salt.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcptutor.analysis import explain
from tcptutor.base import chart, files
from tcptutor.base.chart import (
    MARKERS,
    SUSPECT,
    Chart,
    ChartAxis,
    ChartPanel,
    ChartSeries,
    check_matplotlib,
    check_target,
)
from tcptutor.exchange.curves import FEW, Curve
from tcptutor.exchange.run_chart import (
    OVERSHOOT,
    change_label,
    common_changes,
    end_of,
    flow_label,
    heading,
    measured_curves,
    peaks,
    run_names,
    title,
)
from tcptutor.run import Run
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_METADATA = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {"Software": None}}
"""Metadata of each format that would differ by day or machine."""

# Okabe and Ito's palette, distinguishable with any color vision; yellow is too faint for a line.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_ON_PAPER: dict[int | None, str] = {
    None: "#000000",
    **dict(zip(chart.COLORS, COLORS, strict=True)),
    chart.RED: "#D55E00",
    chart.GRAY: "#8C96A0",
}
_MARKERS = "o^sDv><*"
_LETTERS = 40
"""Largest number of letters on strokes of a kind."""
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_FAINT = "#8C96A0"
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#D8DDE2",
    "grid.linewidth": 0.8,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "legend.fontsize": 11,
    "path.simplify": True,
    "svg.hashsalt": "tcptutor",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
_PHASES: dict[str, tuple[str, dict[str, Any]]] = {
    "slow-start": ("slow start", {"facecolor": "none", "edgecolor": "#C9D3DC", "hatch": "//"}),
    "recovery": ("recovery", {"facecolor": "#F6E3C8"}),
    "timeout": ("timeout", {"facecolor": "none", "edgecolor": "#D9A7A0", "hatch": "xx"}),
}
"""Label and style of shaded phases; congestion avoidance stays white."""


def plot(runs: Sequence[Run], target: Path, what: Sequence[str] = ()) -> None:
    """Write a plot of one run, or of several runs overlaid.

    Args:
        runs: The runs.
        target: The file; its suffix selects the format.
        what: Names of the panels; by default all measured quantities.

    Raises:
        UsageError: A name or the number of runs is wrong.
        TutorError: The plot cannot be made; MissingTool without matplotlib.
    """
    check_target(target)
    with plot_style():
        save(_figure(runs, what), target)


def run_figure(run: Run, what: Sequence[str] = ()) -> Figure:
    """Return a matplotlib figure of a run, as `plot` writes it. Raises UsageError, or TutorError without matplotlib."""
    check_matplotlib()
    with plot_style():
        return _figure([run], what)


def plot_style() -> AbstractContextManager[None]:
    """Apply tcptutor's plot style in the block."""
    import matplotlib as mpl  # noqa: PLC0415

    # Include the defaults: a user's matplotlibrc must not change a plot.
    style: Any = {**mpl.rcParamsDefault, **_STYLE}
    return mpl.rc_context(style)


def save(figure: Figure, target: Path, elsewhere: str = "give another place with -o") -> None:
    """Write the figure atomically; the same figure gives the same bytes. Raises TutorError."""
    kind = target.suffix.lower()
    with files.atomic(target, elsewhere) as temporary, warnings.catch_warnings():
        # Ignore warnings about clipped texts and missing glyphs: the figure is drawn nevertheless.
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(temporary, format=kind[1:], dpi=150, metadata=_METADATA[kind])


def save_chart(drawn: Chart, target: Path, size: tuple[float, float] | None = None) -> None:
    """Draw a chart into a file; `size` is in inches. Raises TutorError."""
    check_target(target)
    with _chart_style():
        save(_chart_figure(drawn, size), target, "give another place")


def chart_figure(drawn: Chart) -> Figure:
    """Return a matplotlib figure of a chart, as `save_chart` writes it. Raises TutorError without matplotlib."""
    check_matplotlib()
    with _chart_style():
        return _chart_figure(drawn, None)


def _chart_style() -> AbstractContextManager[None]:
    import matplotlib as mpl  # noqa: PLC0415

    # Reproducible ids in SVG, and text that stays text.
    return mpl.rc_context({"svg.hashsalt": "tcptutor", "svg.fonttype": "none", "text.parse_math": False})


def _chart_figure(drawn: Chart, size: tuple[float, float] | None) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415

    panels = drawn.panels
    figure = Figure(figsize=size or (7.0, 2.5 + 2.0 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        _chart_panel(axis, drawn.x, panel)
    axes[0].set_title("\n".join(textwrap.fill(line, 90) for line in drawn.title), fontsize="medium")
    axes[-1].set_xlabel("\n".join([drawn.x.label or f"time, {drawn.x.unit}", *drawn.notes]))
    return figure


def _chart_panel(axis: Axes, x: ChartAxis, panel: ChartPanel) -> None:
    for each in panel.series:
        _series(axis, each, panel.has_bars)
    for which, own, edges in (("x", x, axis.set_xlim), ("y", panel.y, axis.set_ylim)):
        if own.is_log:
            axis.set(**{f"{which}scale": "log"})
        edges(own.low, own.high)
        if own.ticks or own.is_log:
            axis.set(**{f"{which}ticks": [at for at, _ in own.named(6)]})
            axis.set(**{f"{which}ticklabels": [name for _, name in own.named(6)]})
            (axis.xaxis if which == "x" else axis.yaxis).minorticks_off()
    axis.set_ylabel(panel.heading)
    axis.grid(visible=True, alpha=0.3)
    if len(axis.get_legend_handles_labels()[1]) > 1:
        axis.legend(fontsize="small")


def _series(axis: Axes, series: ChartSeries, has_bars: bool) -> None:
    color = _ON_PAPER[series.color]
    known = axis.get_legend_handles_labels()[1]
    label = series.label if series.label not in known else None
    across, up = zip(*series.points, strict=True)
    if has_bars:
        axis.bar(across, up, width=0.8 * (across[1] - across[0]), color=color)
    elif series.is_connected:
        dashes = "--" if series.marker else "-"
        axis.plot(across, up, dashes, color=color, alpha=0.7, linewidth=1.2, label=label)
    elif series.marker == SUSPECT:
        axis.plot(across, up, "o", color=color, markerfacecolor="white", markersize=7, zorder=3, label=label)
    elif series.marker not in MARKERS or not series.marker:
        width = 3.0 if series.marker else 1.6
        axis.errorbar(across, up, yerr=series.spread, fmt="none", ecolor=color, elinewidth=width, label=label)
        if series.marker:
            step = -(-len(across) // _LETTERS)
            axis.plot(across[::step], up[::step], marker=f"${series.marker}$", linestyle="none", color=color)
    else:
        marker = _MARKERS[MARKERS.index(series.marker)]
        axis.errorbar(
            across,
            up,
            yerr=series.spread or None,
            fmt=marker,
            color=color,
            capsize=3,
            markersize=5,
            label=label,
        )


def _figure(runs: Sequence[Run], what: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415

    overlaid = len(runs) > 1
    drawn = measured_curves(runs, what)
    columns = 1 if len(drawn) < 4 else 2
    rows = math.ceil(len(drawn) / columns)
    figure = Figure(figsize=(14, 2.9 * rows + 1.6), layout="constrained")
    grid = figure.add_gridspec(rows, columns)
    # The first of an odd number of panels gets the full width, so that no cell stays empty.
    first = len(drawn) % columns
    places = [grid[0, :]] * first + [
        grid[place // columns, place % columns] for place in range(2 * first, rows * columns)
    ]
    axes = [figure.add_subplot(place) for place in places]
    for axis, (name, curves) in zip(axes, drawn.items(), strict=True):
        _panel(axis, name, runs, curves)
    for axis in axes[-columns:]:
        axis.set_xlabel("time, s")
    figure.suptitle(title(runs), x=0.01, ha="left", fontsize=15, fontweight="bold", linespacing=1.5)
    handles, labels = _legend(runs, axes)
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower left", ncols=1 if overlaid else min(len(labels), 7))
    return figure


def _panel(axis: Axes, name: str, runs: Sequence[Run], curves: Sequence[Sequence[Curve]]) -> None:
    text, scale = heading(name, curves)
    for number, (run, each) in enumerate(zip(runs, curves, strict=True)):
        for curve in each:
            t, values = (
                zip(*((t, value / scale) for t, value in curve.points), strict=True)
                if curve.points
                else ((), ())
            )
            style = _line(curve, number if len(runs) > 1 else None, run.experiment)
            step = "steps-post" if name == "retransmissions" else "default"
            axis.plot(t, values, drawstyle=step, **style)
    axis.set_title(text, loc="left")
    axis.set_xlim(0, end_of(runs))
    axis.set_ylim(bottom=0)
    warmup = runs[0].experiment.flows.warmup
    if warmup and all(run.experiment.flows.warmup == warmup for run in runs):
        axis.axvspan(0, warmup, color="#EEF1F4", zorder=0, linewidth=0, label="warm-up, not in the means")
    marks = common_changes(runs)
    for at, _ in marks:
        axis.axvline(at, color="#5B6770", linewidth=1.2, linestyle=":", label=change_label(marks))
    _limit_overshoot(axis, runs, curves, scale)
    if name == "cwnd" and len(runs) == 1 and runs[0].experiment.total_streams == 1:
        _phases(axis, runs[0])


def _phases(axis: Axes, run: Run) -> None:
    """Shade the phases of the only flow's congestion control, with hatching as well as color."""
    for flow in explain(run).flows:
        for phase in flow.phases:
            if phase.name in _PHASES:
                label, look = _PHASES[phase.name]
                axis.axvspan(phase.start, phase.end, label=label, zorder=0.5, linewidth=0, **look)
            elif phase.name == "hystart-exit":
                axis.axvline(
                    phase.start, color="#5B6770", linewidth=1.2, linestyle="-.", label="HyStart exit"
                )


def _limit_overshoot(
    axis: Axes, runs: Sequence[Run], curves: Sequence[Sequence[Curve]], scale: float
) -> None:
    """Limit the y-axis if slow start overshoots in the warm-up, and write the peak as text."""
    early, later = (peak / scale for peak in peaks(runs, curves))
    if later and early > OVERSHOOT * later:
        axis.set_ylim(0, 1.3 * later)
        end = max(run.experiment.flows.warmup for run in runs)
        axis.text(end, 1.29 * later, f" ← peak {early:.0f} in the warm-up", va="top", fontsize=11)


def _line(curve: Curve, run: int | None, experiment: Experiment) -> dict[str, Any]:
    """Return color, dashes and label of a curve: dashes distinguish curves without color."""
    flows = experiment.total_streams
    if run is not None:
        color, dashes = COLORS[run % len(COLORS)], _DASHES[run % len(_DASHES)]
        return {"color": color, "linestyle": dashes, "label": f"run {run}"}
    if curve.flow is not None:
        return _flow_line(curve.flow, curve.role, experiment)
    by_role: dict[str, dict[str, Any]] = {
        "total": {
            "color": "#000000",
            "linewidth": 2.6,
            "label": curve.name or ("total" if flows > 1 else "flow 1"),
        },
        "second": {"color": COLORS[0], "linewidth": 2.0, "linestyle": _DASHES[1], "label": curve.name},
        "mean": {
            "color": "#000000",
            "linewidth": 2.6,
            "linestyle": (0, (4, 1)),
            "label": "mean of the flows",
        },
        "limit": {"color": "#D55E00", "linewidth": 1.6, "linestyle": (0, (6, 3)), "label": curve.name},
        "expected": {"color": "#009E73", "linewidth": 1.6, "linestyle": (0, (6, 3)), "label": curve.name},
        "trajectory": {
            "color": "#009E73",
            "linewidth": 1.1,
            "linestyle": (0, (2, 2)),
            "zorder": 1.5,
            "label": curve.name,
        },
    }
    return by_role[curve.role]


def _flow_line(flow: int, role: str, experiment: Experiment) -> dict[str, Any]:
    """Return the style of a flow's curve; many flows are faint, next to their mean or sum."""
    flows = experiment.total_streams
    colored = len(COLORS) - 1
    label = flow_label(flow, role, experiment)
    if flows > colored + 2:
        return {"color": _FAINT, "linewidth": 0.9, "alpha": 0.8, "label": label}
    color = "#000000" if flows == 1 else COLORS[flow % colored]
    if role == "ssthresh":
        color = "#D55E00" if flows == 1 else color
        return {"color": color, "linewidth": 1.3, "linestyle": ":", "label": "ssthresh"}
    return {
        "color": color,
        "linestyle": _DASHES[flow % len(_DASHES)],
        "linewidth": 2.0 if flows <= FEW else 1.4,
        "label": label,
    }


def _legend(runs: Sequence[Run], axes: Sequence[Axes]) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = {f"run {number}": name for number, name in enumerate(run_names(runs))} if len(runs) > 1 else {}
    return list(found.values()), [names.get(label, label) for label in found]
