"""The report's plots as SVG: the same results give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tcptutor import theory
from tcptutor.exchange.plot import save
from tests.validation import judge, models, plan
from tests.validation.kept import Result

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito: told apart with any colour vision; the markers differ as well."""
MARKERS = "osD^v<>"
NAMES = {"reno": "Reno", "cubic": "CUBIC", "htcp": "H-TCP", "bbr": "BBR"}
_STYLE = {
    "svg.hashsalt": "tcptutor",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
_FORMULA = {"reno": models.sender, "cubic": models.sender, "htcp": models.sender}


def draw(found: Sequence[Result], folder: Path) -> list[Path]:
    """Every plot that the results are enough for, in `folder`."""
    made = []
    with mpl.rc_context(_STYLE):
        for name, plot in _PLOTS.items():
            figure = plot(found)
            if figure is not None:
                save(figure, folder / f"{name}.svg")
                made.append(folder / f"{name}.svg")
    return made


def of(found: Sequence[Result], *studies: str) -> list[Result]:
    return [result for result in found if result.study in studies]


def _figure(
    rows: int, columns: int, width: float = 9.0, height: float = 3.2
) -> tuple[Figure, list[list[Axes]]]:
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).tolist()


def _laws(found: Sequence[Result]) -> Figure | None:
    """Mean window over loss, a line for each RTT; below it measured over expected."""
    if not of(found, *(f"laws-{name}" for name in plan.ALGORITHMS)):
        return None
    figure, axes = _figure(2, 4, 13.0)
    for column, name in enumerate(plan.ALGORITHMS):
        top, bottom = axes[0][column], axes[1][column]
        for place, rtt in enumerate(plan.RTTS):
            cells = [one for one in of(found, f"laws-{name}") if one.experiment.path.delay == rtt]
            style: dict[str, Any] = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 4}
            if not cells:
                continue
            across = [models.loss(one) for one in cells]
            formula = models.link if name == "bbr" else _FORMULA[name]
            windows = [one.throughput * models.rtt(one) / 8 / one.mss for one in cells]
            bars = [2 * judge.chance(one) for one in cells]
            label = f"{rtt * 1e3:g} ms"
            height = [bar * each for bar, each in zip(bars, windows, strict=True)]
            top.errorbar(across, windows, yerr=height, fmt="none", ecolor=COLORS[place], capsize=2)
            top.plot(across, windows, linestyle="none", label=label, **style)
            top.plot(
                across,
                [formula(one) * models.rtt(one) / 8 / one.mss for one in cells],
                color=COLORS[place],
                linewidth=1,
            )
            ratios = [one.throughput / formula(one) for one in cells]
            height = [bar * each for bar, each in zip(bars, ratios, strict=True)]
            bottom.errorbar(across, ratios, yerr=height, capsize=2, linewidth=0.8, **style)
        bottom.axhspan(0.9, 1.1, color="#009E73", alpha=0.12, linewidth=0)
        bottom.set(xscale="log", xlabel="loss", ylim=(0.4, 1.4))
        top.set(xscale="log", yscale="log", title=NAMES[name])
        for plot in (top, bottom):
            plot.set_xticks(plan.LOSSES, [f"{100 * loss:g} %" for loss in plan.LOSSES])
            plot.minorticks_off()
        if top.lines:
            top.legend(fontsize="small", title="RTT; lines: model")
    axes[0][0].set_ylabel("throughput × RTT, segments")
    axes[1][0].set_ylabel("measured / model (band: 10 %; bars: 2 s.e.)")
    return figure


def sockets(found: Sequence[Result], mtu: int) -> list[Result]:
    return sorted(
        (one for one in of(found, "sockets") if one.experiment.hosts.mtu == mtu),
        key=lambda one: one.experiment.flows.streams,
    )


def _sockets(found: Sequence[Result]) -> Figure | None:
    """Figures 1 to 9 of the parallel-sockets paper: throughput, loss, and throughput by equation 5."""
    if not of(found, "sockets"):
        return None
    figure, axes = _figure(3, 3, 11.0, 2.8)
    for column, mtu in enumerate(plan.SOCKETS):
        cells = sockets(found, mtu)
        if not cells:
            continue
        numbers = [one.experiment.flows.streams for one in cells]
        measured, lost, estimate = (axes[row][column] for row in range(3))
        at = judge.knee({one.experiment.flows.streams: one.throughput for one in cells})
        measured.plot(
            numbers,
            [one.throughput / 1e6 for one in cells],
            "o",
            color=COLORS[0],
            markersize=4,
            label="measured",
        )
        measured.plot(
            numbers,
            [models.aggregate(one) / 1e6 for one in cells],
            color=COLORS[0],
            label="K × Mathis, the link",
        )
        lost.plot(
            numbers,
            [100 * one.row.loss_rate for one in cells],
            "s",
            color=COLORS[1],
            markersize=4,
            label="measured",
        )
        lost.axhline(100 * models.loss(cells[0]), color=COLORS[1], linewidth=1, label="the path's own")
        for plot in (measured, lost, estimate):
            plot.set_ylim(bottom=0)
        for c, colour, marker in ((theory.MATHIS_RANDOM, COLORS[2], "D"), (1.0, COLORS[3], "v")):
            said = [models.estimated(one, c) / 1e6 for one in cells]
            estimate.plot(numbers, said, marker, color=colour, markersize=4, label=f"eq. 5, C = {c:g}")
        estimate.plot(
            numbers, [one.throughput / 1e6 for one in cells], color=COLORS[0], linewidth=1, label="measured"
        )
        for plot, number in ((measured, 1), (lost, 4), (estimate, 7)):
            plot.axvline(at, color="#555555", linestyle=":", label=f"knee: {at}")
            plot.set_title(f"Figure {number + column}: MSS {cells[0].mss}", fontsize="medium")
            plot.legend(fontsize="x-small")
            plot.set_xlim(0, 21)
        estimate.set_xlabel("sockets")
    for row, label in enumerate(("Mbit/s", "loss events per segment, %", "Mbit/s")):
        axes[row][0].set_ylabel(label)
    return figure


def _figure10(found: Sequence[Result]) -> Figure | None:
    """Measured less estimated for each number of sockets of the largest MSS, with the interval of the mean."""
    cells = sockets(found, max(plan.SOCKETS))
    if len(cells) < 3:
        return None
    figure, axes = _figure(1, 1, 6.5, 3.6)
    plot = axes[0][0]
    numbers = [one.experiment.flows.streams for one in cells]
    for place, c in enumerate((theory.MATHIS_RANDOM, 1.0)):
        differences = [(one.throughput - models.estimated(one, c)) / 1e6 for one in cells]
        test = judge.paired(differences)
        colour = COLORS[2 + place]
        plot.plot(numbers, differences, "Dv"[place], color=colour, markersize=5, label=f"C = {c:g}")
        plot.axhspan(test.low, test.high, color=colour, alpha=0.2, linewidth=0)
    plot.axhline(0, color="#555555", linewidth=1)
    plot.set(xlabel="sockets", ylabel="measured − estimated, Mbit/s", title=f"Figure 10: MSS {cells[0].mss}")
    plot.legend(fontsize="small", title="bands: 90 % interval of the mean")
    return figure


def _limits(found: Sequence[Result]) -> Figure | None:
    """Window, buffer and segment size side by side."""
    if not of(found, "window", "buffer", "mss"):
        return None
    figure, axes = _figure(1, 3, 12.0, 3.4)
    windows, buffers, sizes = axes[0]
    cells = of(found, "window")
    if cells:
        across = [(one.experiment.hosts.window or 0) / 1024 for one in cells]
        _beside(
            windows,
            across,
            cells,
            models.named("window").predict,
        )
        windows.set(
            xscale="log",
            yscale="log",
            xlabel="receiver's window, KiB",
            ylabel="Mbit/s",
            title="Window, RTT 50 ms",
        )
    cells = of(found, "buffer")
    if cells:
        across = [models.buffer_ratio(one) for one in cells]
        model = models.named("buffer")
        buffers.plot(
            across,
            [one.throughput / models.link(one) for one in cells],
            "o",
            color=COLORS[0],
            label="measured",
        )
        buffers.plot(
            across, [model.predict(one) / models.link(one) for one in cells], color=COLORS[0], label="model"
        )
        buffers.set(
            xlabel="buffer, BDP", ylabel="use of the link", title="Buffer, Reno, RTT 60 ms", ylim=(0.6, 1.02)
        )
        buffers.legend(fontsize="small")
    for place, loss in enumerate(sorted({models.loss(one) for one in of(found, "mss")})):
        cells = sorted((one for one in of(found, "mss") if models.loss(one) == loss), key=lambda one: one.mss)
        style = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 4}
        sizes.errorbar(
            [one.mss for one in cells], [one.throughput / 1e6 for one in cells],
            yerr=[2 * judge.chance(one) * one.throughput / 1e6 for one in cells], linestyle="none", capsize=2,
            label=f"{loss:.1%}", **style,
        )  # fmt: skip
        sizes.plot(
            [one.mss for one in cells],
            [_FORMULA["reno"](one) / 1e6 for one in cells],
            color=COLORS[place],
            linewidth=1,
        )
    if of(found, "mss"):
        sizes.set(
            xscale="log", yscale="log", xlabel="MSS, bytes", ylabel="Mbit/s", title="MSS, Reno, RTT 50 ms"
        )
        sizes.legend(fontsize="small", title="loss")
    return figure


def _beside(
    plot: Axes, across: Sequence[float], cells: Sequence[Result], model: Callable[[Result], float]
) -> None:
    plot.plot(across, [one.throughput / 1e6 for one in cells], "o", color=COLORS[0], label="measured")
    plot.plot(across, [model(one) / 1e6 for one in cells], color=COLORS[0], label="model")
    plot.legend(fontsize="small")


def _figure3(found: Sequence[Result]) -> Figure | None:
    """Throughput against RTT beside the published formula, each as a share of its own link."""
    cells = of(found, "figure3")
    first = next((one for one in cells if models.loss(one) > 0), None)
    if first is None:
        return None
    crossing = models.mathis(1.0)(first) * models.rtt(first) / models.link(first)
    figure, axes = _figure(1, 2, 10.0, 3.8)
    ours, shape = axes[0]
    kinds = (("reno", True, "Reno"), ("htcp", True, "H-TCP"), ("reno", False, "Reno, no loss"))
    for place, (algorithm, lossy, label) in enumerate(kinds):
        mine = [
            one
            for one in cells
            if one.experiment.hosts.algorithm == algorithm and (models.loss(one) > 0) == lossy
        ]
        rtts = [one.experiment.path.delay * 1e3 for one in mine]
        style: dict[str, Any] = {
            "color": COLORS[place],
            "marker": MARKERS[place],
            "markersize": 5,
            "linewidth": 1,
        }
        ours.plot(rtts, [one.throughput / 1e6 for one in mine], label=label, **style)
        across = [models.rtt(one) / crossing for one in mine]
        shape.plot(across, [one.throughput / models.link(one) for one in mine], label=label, **style)
    lossy = [one for one in cells if models.loss(one) > 0 and one.experiment.hosts.algorithm == "reno"]
    said = [models.mathis(1.0)(one) / 1e6 for one in lossy]
    ours.plot(
        [one.experiment.path.delay * 1e3 for one in lossy],
        said,
        "--",
        color=COLORS[6],
        label="MSS / (RTT √p)",
    )
    ours.set(xlabel="RTT, ms", ylabel="Mbit/s", title="Here: 20 Mbit/s, loss 0.2 %", ylim=(0, 24))
    line = [0.3 * 1.2**step for step in range(24)]
    shape.plot(
        line, [min(1.3, 1 / each) for each in line], "--", color=COLORS[6], label="the formula, of both"
    )
    shape.axhline(0.1, color="#555555", linestyle=":", label="a tenth: 1 of the printed 10 Gbit/s")
    shape.set(
        xscale="log", xlabel="RTT over that at which the formula leaves the link", ylabel="share of the link"
    )
    shape.set(title="Both as shares of their links", ylim=(0, 1.3), xlim=(0.3, 20))
    for plot in (ours, shape):
        plot.legend(fontsize="small")
    return figure


_PLOTS: dict[str, Callable[[Sequence[Result]], Figure | None]] = {
    "laws": _laws,
    "sockets": _sockets,
    "figure10": _figure10,
    "limits": _limits,
    "figure3": _figure3,
}
