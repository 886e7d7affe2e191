"""Plots of runs as SVG, PDF or PNG: cwnd, RTT, throughput, retransmissions, bytes and queue.

matplotlib is the extra `plot` and takes half a second to import: it is imported when a plot is made. The same run
gives the same bytes: no date, and ids from a fixed salt.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcptutor.analysis import explain, is_imported, total_throughput
from tcptutor.base import files, units
from tcptutor.base.errors import TutorError, UsageError, unknown
from tcptutor.exchange.curves import FEW, QUANTITIES, Curve
from tcptutor.exchange.drawing import install_command
from tcptutor.run import Run
from tcptutor.spec import ALGORITHMS, Experiment, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {"Software": None}}
"""Formats, with the metadata that would differ by day or machine."""

# Okabe and Ito's palette, distinguishable with any color vision; yellow is too faint for a line.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_FAINT = "#8C96A0"
_MOST_RUNS = 8
"""Runs in a plot; more cannot be distinguished."""
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
_TITLES = {
    "cwnd": "Congestion window",
    "rtt": "Smoothed RTT",
    "throughput": "Throughput",
    "retransmissions": "Retransmissions so far",
    "bytes": "Payload acknowledged so far",
    "queue": "Queue at the bottleneck",
    "udp": "UDP received",
    "udp-lost": "UDP datagrams lost so far",
    "udp-jitter": "UDP jitter",
}
_PHASES: dict[str, tuple[str, dict[str, Any]]] = {
    "slow-start": ("slow start", {"facecolor": "none", "edgecolor": "#C9D3DC", "hatch": "//"}),
    "recovery": ("recovery", {"facecolor": "#F6E3C8"}),
    "timeout": ("timeout", {"facecolor": "none", "edgecolor": "#D9A7A0", "hatch": "xx"}),
}
"""Label and style of shaded phases; congestion avoidance stays white."""
_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "cwnd": ((1.0, "segments"),),
    "rtt": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "throughput": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "retransmissions": ((1.0, "segments"),),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
    "udp": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "udp-lost": ((1.0, "datagrams"),),
    "udp-jitter": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "queue": ((1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
}


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
    unknown_names = [name for name in what if name not in QUANTITIES]
    if unknown_names:
        raise UsageError(unknown("quantity", unknown_names[0], QUANTITIES))
    if len(runs) > _MOST_RUNS:
        raise UsageError(f"{len(runs)} runs in one plot cannot be distinguished: give {_MOST_RUNS} at most")
    with plot_style():
        save(_figure(runs, what), target)


def plot_style() -> AbstractContextManager[None]:
    """Apply tcptutor's plot style in the block."""
    import matplotlib as mpl  # noqa: PLC0415

    # Include the defaults: a user's matplotlibrc must not change a plot.
    style: Any = {**mpl.rcParamsDefault, **_STYLE}
    return mpl.rc_context(style)


def check_target(target: Path) -> None:
    """Raise UsageError for a suffix that no plot has, and TutorError without matplotlib."""
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{target}: a plot's name ends in {', '.join(SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise TutorError(f"a plot needs matplotlib: run {install_command()}") from None


def save(figure: Figure, target: Path, elsewhere: str = "give another place with -o") -> None:
    """Write the figure atomically; the same figure gives the same bytes. Raises TutorError."""
    kind = target.suffix.lower()
    with files.atomic(target, elsewhere) as temporary, warnings.catch_warnings():
        # Ignore warnings about clipped texts and missing glyphs: the figure is drawn nevertheless.
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(temporary, format=kind[1:], dpi=150, metadata=SUFFIXES[kind])


def _figure(runs: Sequence[Run], what: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415

    overlaid = len(runs) > 1
    drawn = {name: [QUANTITIES[name](run, overlaid) for run in runs] for name in what or QUANTITIES}
    drawn = {name: curves for name, curves in drawn.items() if any(curves)}
    if not drawn:
        requested = f" of {', '.join(what)}" if what else ""
        raise TutorError(f"nothing{requested} was measured here that could be plotted: {_advice(runs)}")
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
    figure.suptitle(_title(runs), x=0.01, ha="left", fontsize=15, fontweight="bold", linespacing=1.5)
    handles, labels = _legend(runs, axes)
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower left", ncols=1 if overlaid else min(len(labels), 7))
    return figure


def _advice(runs: Sequence[Run]) -> str:
    if any(flow.received_bps is None for run in runs for flow in run.udp):
        return "this file lacks the received UDP: use its receiver's"
    if any(is_imported(run) and run.udp and not run.udp_samples for run in runs):
        return "this file has only totals of the received UDP: use its receiver's, or --get-server-output"
    if any(is_imported(run) and not run.samples for run in runs):
        return "this file has only totals: use one with intervals"
    return "give another run"


def _panel(axis: Axes, name: str, runs: Sequence[Run], curves: Sequence[Sequence[Curve]]) -> None:
    peak = max((value for each in curves for curve in each for _, value in curve.points), default=0.0)
    scale, unit = next((one for one in _SCALES[name] if peak >= one[0]), _SCALES[name][-1])
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
    axis.set_title(f"{_TITLES[name]}, {unit}", loc="left")
    end = max(max(run.experiment.seconds, run.experiment_s) for run in runs)
    axis.set_xlim(0, end)
    axis.set_ylim(bottom=0)
    warmup = runs[0].experiment.flows.warmup
    if warmup and all(run.experiment.flows.warmup == warmup for run in runs):
        axis.axvspan(0, warmup, color="#EEF1F4", zorder=0, linewidth=0, label="warm-up, not in the means")
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
    later = early = 0.0
    for run, each in zip(runs, curves, strict=True):
        for curve in (one for one in each if one.role != "trajectory"):
            for t, value in curve.points:
                if t < run.experiment.flows.warmup:
                    early = max(early, value / scale)
                else:
                    later = max(later, value / scale)
    if later and early > 2.5 * later:
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
        "total": {"color": "#000000", "linewidth": 2.6, "label": "total" if flows > 1 else "flow 1"},
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
    mixed = len({experiment.algorithm(each) for each in range(flows)}) > 1
    colored = len(COLORS) - 1
    kind = "UDP flow" if role == "udp" else "flow"
    if flows > colored + 2:
        return {"color": _FAINT, "linewidth": 0.9, "alpha": 0.8, "label": "each flow"}
    color = "#000000" if flows == 1 else COLORS[flow % colored]
    if role == "ssthresh":
        color = "#D55E00" if flows == 1 else color
        return {"color": color, "linewidth": 1.3, "linestyle": ":", "label": "ssthresh"}
    return {
        "color": color,
        "linestyle": _DASHES[flow % len(_DASHES)],
        "linewidth": 2.0 if flows <= FEW else 1.4,
        "label": f"{kind} {flow + 1}, {experiment.algorithm(flow)}"
        if mixed and role != "udp"
        else f"{kind} {flow + 1}",
    }


def _legend(runs: Sequence[Run], axes: Sequence[Axes]) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = {f"run {number}": name for number, name in enumerate(_names(runs))} if len(runs) > 1 else {}
    return list(found.values()), [names.get(label, label) for label in found]


def _title(runs: Sequence[Run]) -> str:
    """Return the experiments, and their lab if it is the same; for a single run also its throughput."""
    lines = list(dict.fromkeys(f"{run.experiment.name}: {_description(run.experiment)}" for run in runs))
    places = {_lab_of(run) for run in runs}
    if len(places) == 1:
        measured = f"{_rate(runs[0])} · " if len(runs) == 1 else ""
        lines.append(measured + places.pop())
    return "\n".join(lines)


def _description(experiment: Experiment) -> str:
    """Return the experiment's title, with the algorithms if its words do not name them."""
    controls = dict.fromkeys(experiment.algorithm(flow) for flow in range(experiment.total_streams))
    named = {word.lower() for word in re.findall(r"\w+", experiment.title)} & set(ALGORITHMS)
    is_named = set(controls) <= named if named else len(controls) < 2
    return experiment.title if is_named else f"{experiment.title}, here with {' + '.join(controls)}"


def _lab_of(run: Run) -> str:
    environment = run.environment
    ran = (
        environment.reason
        if environment.backend == "imported"
        else f"{environment.backend}, {environment.clock} clock"
    )
    cut = "" if run.complete else "cut short · "
    return f"{cut}{ran}, {environment.system} · fidelity {run.fidelity.status}"


def _rate(run: Run) -> str:
    return units.rate(total_throughput(run))


def _names(runs: Sequence[Run]) -> list[str]:
    """Return a label for each run: differing experiment, settings, seed and lab, or the id."""
    texts = [
        {
            "": run.experiment.name,
            **settings(run.experiment),
            "seed": str(run.experiment.seed),
            "on": _lab_of(run),
        }
        for run in runs
    ]
    keys = list(dict.fromkeys(key for text in texts for key in text))
    differing = [key for key in keys if len({text.get(key) for text in texts}) > 1]
    labels = [", ".join(f"{key} {text.get(key, 'default')}".strip() for key in differing) for text in texts]
    if len(set(labels)) < len(labels):
        labels = [f"{run.id} {name}".strip() for run, name in zip(runs, labels, strict=True)]
    return [f"{name}: {_rate(run)}" for run, name in zip(runs, labels, strict=True)]
