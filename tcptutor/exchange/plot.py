"""Runs on paper and on the wall: cwnd, RTT, throughput, retransmissions, bytes and queue as SVG, PDF or PNG.

matplotlib is the extra `plot` and takes half a second to import: it comes in when a plot is made. The same run gives
the same bytes: no date, and ids from a fixed salt.
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
"""What can be written, and the metadata that would differ from day to day or from one machine to the next."""

# Okabe and Ito's colours, which people with any colour vision tell apart; yellow is too faint for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_FAINT = "#8C96A0"
_MOST_RUNS = 8
"""Overlaid; more cannot be told apart."""
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
"""Name and look of the phases that are shaded; congestion avoidance stays white."""
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
    """Write the panels `what`, by default all that were measured, of one run or of several over each other.

    The suffix of `target` says what it becomes. Raises UsageError, MissingTool without matplotlib, and TutorError when
    it cannot be made.
    """
    check_target(target)
    strange = [name for name in what if name not in QUANTITIES]
    if strange:
        raise UsageError(unknown("quantity", strange[0], QUANTITIES))
    if len(runs) > _MOST_RUNS:
        raise UsageError(f"{len(runs)} runs in one plot cannot be told apart: give {_MOST_RUNS} at most")
    with styled():
        save(_figure(runs, what), target)


def styled() -> AbstractContextManager[None]:
    """Plots that are made in this block look as all of ours."""
    import matplotlib as mpl  # noqa: PLC0415

    # The defaults as well: a matplotlibrc of the user's must not change what a run looks like.
    style: Any = {**mpl.rcParamsDefault, **_STYLE}
    return mpl.rc_context(style)


def check_target(target: Path) -> None:
    """Raise UsageError for a name that no plot can have, and TutorError without matplotlib."""
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{target}: a plot's name ends in {', '.join(SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise TutorError(f"a plot needs matplotlib: run {install_command()}") from None


def save(figure: Figure, target: Path, elsewhere: str = "give another place with -o") -> None:
    """Write it whole or not at all; the same figure gives the same bytes. Raises TutorError."""
    kind = target.suffix.lower()
    with files.atomic(target, elsewhere) as beside, warnings.catch_warnings():
        # Of texts without room, or of characters that its font lacks: it is drawn all the same.
        warnings.simplefilter("ignore", UserWarning)
        figure.savefig(beside, format=kind[1:], dpi=150, metadata=SUFFIXES[kind])


def _figure(runs: Sequence[Run], what: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415

    overlaid = len(runs) > 1
    drawn = {name: [QUANTITIES[name](run, overlaid) for run in runs] for name in what or QUANTITIES}
    drawn = {name: curves for name, curves in drawn.items() if any(curves)}
    if not drawn:
        asked = f" of {', '.join(what)}" if what else ""
        raise TutorError(f"nothing{asked} was measured here that could be plotted: {_instead(runs)}")
    across = 1 if len(drawn) < 4 else 2
    down = math.ceil(len(drawn) / across)
    figure = Figure(figsize=(14, 2.9 * down + 1.6), layout="constrained")
    grid = figure.add_gridspec(down, across)
    # The first of an odd number gets the whole width, so that no place stays empty.
    first = len(drawn) % across
    places = [grid[0, :]] * first + [
        grid[place // across, place % across] for place in range(2 * first, down * across)
    ]
    axes = [figure.add_subplot(place) for place in places]
    for axis, (name, curves) in zip(axes, drawn.items(), strict=True):
        _panel(axis, name, runs, curves)
    for axis in axes[-across:]:
        axis.set_xlabel("time, s")
    figure.suptitle(_title(runs), x=0.01, ha="left", fontsize=15, fontweight="bold", linespacing=1.5)
    handles, labels = _legend(runs, axes)
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower left", ncols=1 if overlaid else min(len(labels), 7))
    return figure


def _instead(runs: Sequence[Run]) -> str:
    """What to do where there is nothing to draw."""
    if any(flow.received_bps is None for run in runs for flow in run.udp):
        return "this file does not tell what arrived of UDP: take its receiver's"
    if any(is_imported(run) and run.udp and not run.udp_samples for run in runs):
        return "this file has only totals of what arrived of UDP: take its receiver's, or --get-server-output"
    if any(is_imported(run) and not run.samples for run in runs):
        return "this file has only totals: take one with intervals"
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
            how = _line(curve, number if len(runs) > 1 else None, run.experiment)
            step = "steps-post" if name == "retransmissions" else "default"
            axis.plot(t, values, drawstyle=step, **how)
    axis.set_title(f"{_TITLES[name]}, {unit}", loc="left")
    end = max(max(run.experiment.seconds, run.experiment_s) for run in runs)
    axis.set_xlim(0, end)
    axis.set_ylim(bottom=0)
    warmup = runs[0].experiment.flows.warmup
    if warmup and all(run.experiment.flows.warmup == warmup for run in runs):
        axis.axvspan(0, warmup, color="#EEF1F4", zorder=0, linewidth=0, label="warm-up, not in the means")
    _cut_off(axis, runs, curves, scale)
    if name == "cwnd" and len(runs) == 1 and runs[0].experiment.total_streams == 1:
        _phases(axis, runs[0])


def _phases(axis: Axes, run: Run) -> None:
    """What the one flow's congestion control was doing, behind its window; by hatching, so never by colour alone."""
    for flow in explain(run).flows:
        for phase in flow.phases:
            if phase.name in _PHASES:
                label, look = _PHASES[phase.name]
                axis.axvspan(phase.start, phase.end, label=label, zorder=0.5, linewidth=0, **look)
            elif phase.name == "hystart-exit":
                axis.axvline(
                    phase.start, color="#5B6770", linewidth=1.2, linestyle="-.", label="HyStart exit"
                )


def _cut_off(axis: Axes, runs: Sequence[Run], curves: Sequence[Sequence[Curve]], scale: float) -> None:
    """Slow start may overshoot twenty times what counts: such a peak in the warm-up is told, not drawn."""
    later = early = 0.0
    for run, each in zip(runs, curves, strict=True):
        for curve in (one for one in each if one.role != "course"):
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
    """Colour, dashes and name: never colour alone."""
    flows = experiment.total_streams
    if run is not None:
        colour, dashes = COLOURS[run % len(COLOURS)], _DASHES[run % len(_DASHES)]
        return {"color": colour, "linestyle": dashes, "label": f"run {run}"}
    if curve.flow is not None:
        return _flow_line(curve.flow, curve.role, experiment)
    by_role: dict[str, dict[str, Any]] = {
        "together": {"color": "#000000", "linewidth": 2.6, "label": "together" if flows > 1 else "flow 1"},
        "mean": {
            "color": "#000000",
            "linewidth": 2.6,
            "linestyle": (0, (4, 1)),
            "label": "mean of the flows",
        },
        "limit": {"color": "#D55E00", "linewidth": 1.6, "linestyle": (0, (6, 3)), "label": curve.name},
        "expected": {"color": "#009E73", "linewidth": 1.6, "linestyle": (0, (6, 3)), "label": curve.name},
        "course": {
            "color": "#009E73",
            "linewidth": 1.1,
            "linestyle": (0, (2, 2)),
            "zorder": 1.5,
            "label": curve.name,
        },
    }
    return by_role[curve.role]


def _flow_line(flow: int, role: str, experiment: Experiment) -> dict[str, Any]:
    """Of one flow; many are told by their mean or sum, and are faint themselves."""
    flows = experiment.total_streams
    mixed = len({experiment.algorithm(each) for each in range(flows)}) > 1
    coloured = len(COLOURS) - 1
    kind = "UDP flow" if role == "udp" else "flow"
    if flows > coloured + 2:
        return {"color": _FAINT, "linewidth": 0.9, "alpha": 0.8, "label": "each flow"}
    colour = "#000000" if flows == 1 else COLOURS[flow % coloured]
    if role == "ssthresh":
        colour = "#D55E00" if flows == 1 else colour
        return {"color": colour, "linewidth": 1.3, "linestyle": ":", "label": "ssthresh"}
    return {
        "color": colour,
        "linestyle": _DASHES[flow % len(_DASHES)],
        "linewidth": 2.0 if flows <= FEW else 1.4,
        "label": f"{kind} {flow + 1}, {experiment.algorithm(flow)}"
        if mixed and role != "udp"
        else f"{kind} {flow + 1}",
    }


def _legend(runs: Sequence[Run], axes: Sequence[Axes]) -> tuple[list[Any], list[str]]:
    """One entry for each name, in order; several runs by what differs between them."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = {f"run {number}": name for number, name in enumerate(_names(runs))} if len(runs) > 1 else {}
    return list(found.values()), [names.get(label, label) for label in found]


def _title(runs: Sequence[Run]) -> str:
    """The experiments, and where they ran if that is one place; of one run what it measured as well."""
    lines = list(dict.fromkeys(f"{run.experiment.name}: {_described(run.experiment)}" for run in runs))
    places = {_where(run) for run in runs}
    if len(places) == 1:
        measured = f"{_rate(runs[0])} · " if len(runs) == 1 else ""
        lines.append(measured + places.pop())
    return "\n".join(lines)


def _described(experiment: Experiment) -> str:
    """The experiment's title, and the algorithms that sent where these are others than it names."""
    controls = dict.fromkeys(experiment.algorithm(flow) for flow in range(experiment.total_streams))
    named = {word.lower() for word in re.findall(r"\w+", experiment.title)} & set(ALGORITHMS)
    is_said = set(controls) <= named if named else len(controls) < 2
    return experiment.title if is_said else f"{experiment.title}, here with {' + '.join(controls)}"


def _where(run: Run) -> str:
    """ "guest, virtual clock, Linux 6.12 · fidelity valid"."""
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
    """What tells each run from the others: experiment, settings, seed and place where they differ, else the id."""
    texts = [
        {
            "": run.experiment.name,
            **settings(run.experiment),
            "seed": str(run.experiment.seed),
            "on": _where(run),
        }
        for run in runs
    ]
    keys = list(dict.fromkeys(key for text in texts for key in text))
    differing = [key for key in keys if len({text.get(key) for text in texts}) > 1]
    told = [", ".join(f"{key} {text.get(key, 'default')}".strip() for key in differing) for text in texts]
    if len(set(told)) < len(told):
        told = [f"{run.id} {name}".strip() for run, name in zip(runs, told, strict=True)]
    return [f"{name}: {_rate(run)}" for run, name in zip(runs, told, strict=True)]
