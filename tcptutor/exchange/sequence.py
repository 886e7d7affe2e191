"""Plot of a flow's sequence graph: bytes sent, retransmitted, acknowledged and SACKed over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcptutor.analysis.observed.sequence import (
    ByteSpan,
    SequenceGraph,
    sender_interface,
    sequence_of_acks,
    sequence_of_packets,
)
from tcptutor.base import units
from tcptutor.base.chart import (
    COLORS,
    GRAY,
    LEVEL,
    RED,
    Chart,
    ChartAxis,
    ChartPanel,
    ChartSeries,
    check_target,
)
from tcptutor.base.errors import TutorError, UnitError, UsageError
from tcptutor.exchange.plot import plot_style, save
from tcptutor.run import Run
from tcptutor.runs import packets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TimeSpan = tuple[float, float]
"""Start and end, s."""

_DOTS = 160
"""Dots of a high terminal."""
_SENT, _RETRANSMITTED, _SACKED, _ACKED, _ALLOWED = "#0072B2", "#D55E00", "#CC79A7", "#009E73", "#8C96A0"
_EXAMPLE = "write it like --span 0.4s..0.7s"
_LETTERS = 40
"""Largest number of lettered strokes of a kind."""
_WIDE = 4.0
"""Width of the strokes of retransmissions, points."""


def parse_span(text: str) -> tuple[float, float]:
    """Parse "0.4s..0.7s" into seconds. Raises UsageError."""
    start, dots, end = text.partition("..")
    try:
        span = units.parse(start, "time"), units.parse(end, "time")
    except UnitError as error:
        raise UsageError(f"--span {text!r}: {error}: {_EXAMPLE}") from None
    if not dots or span[0] >= span[1]:
        raise UsageError(f"--span {text!r} is not an earlier and a later time: {_EXAMPLE}")
    return span


def sequence_graph(run: Run, path: Path, flow: int) -> SequenceGraph:
    """Return the sequence graph of a flow, from its sender's packets if captured, or from its ACKs.

    Raises:
        UsageError: The run has no such flow.
        TutorError: The run has neither ACKs nor packets.
    """
    flows = run.experiment.total_streams
    if not 0 <= flow < flows:
        raise UsageError(f"no flow {flow + 1}: the run has {flows}")
    found = None
    if packets.file_of(path).exists():
        found = sequence_of_packets(run, flow, packets.load(run, path))
    found = found or sequence_of_acks(run, flow)
    if found is None:
        raise TutorError(
            "a sequence graph needs a flow's ACKs or packets: run the experiment with --set acks=on, or capture=on"
        )
    return found


def _shown(run: Run, path: Path, flow: int, span: TimeSpan | None) -> SequenceGraph:
    graph = sequence_graph(run, path, flow)
    shown = graph if span is None else graph.between(*span)
    if not (shown.sent or shown.retransmitted):
        raise UsageError(f"flow {flow + 1} sends nothing in this span: the run took {run.experiment_s:g} s")
    return shown


def plot_sequence(run: Run, path: Path, target: Path, flow: int, span: TimeSpan | None) -> None:
    """Write the sequence graph; `span` limits the time axis, s. Raises UsageError and TutorError."""
    check_target(target)
    with plot_style():
        save(_figure(run, _shown(run, path, flow, span), span), target)


def sequence_chart(run: Run, path: Path, flow: int, span: TimeSpan | None) -> Chart:
    """Return the sequence graph for a terminal. Raises UsageError and TutorError."""
    graph = _shown(run, path, flow, span)
    scale, unit = units.axis_unit(graph.end, "size")
    low, high = (value / scale for value in _byte_range(graph))
    dot = (high - low) / _DOTS

    def strokes(spans: Sequence[ByteSpan], label: str, color: int, marker: str = "") -> ChartSeries:
        points = [
            (each.t, each.first / scale + dot * step)
            for each in spans
            for step in range(1 if marker else 1 + math.ceil((each.last - each.first) / scale / dot))
        ]
        return ChartSeries(points=points, label=label, color=color, marker=marker, is_connected=False)

    def steps(values: Sequence[tuple[float, int]], label: str, color: int, marker: str = "") -> ChartSeries:
        pairs = zip(values, [*values[1:], values[-1]], strict=True) if values else ()
        points = [(t, now[1] / scale) for now, after in pairs for t in (now[0], after[0])]
        return ChartSeries(points=points, label=label, color=color, marker=marker)

    series = [
        strokes(graph.sent, "sent", COLORS[0]),
        steps(graph.acked, "acknowledged", COLORS[2]),
        strokes(graph.sacked, "SACKed", COLORS[3], "S"),
        strokes(graph.retransmitted, "retransmitted", RED, "R"),
    ]
    if span is not None:
        series.insert(0, steps(graph.window_end, "allowed by the window", GRAY, LEVEL))
    start, end = span or (0.0, max(run.experiment.seconds, run.experiment_s))
    experiment = run.experiment
    return Chart(
        title=[f"{experiment.name}: {experiment.title}"],
        panels=[
            ChartPanel(
                heading=f"Bytes of flow {graph.flow + 1}, {unit}: {_source(run, graph)}",
                series=[each for each in series if each.points],
                y=ChartAxis(low=low, high=high),
            )
        ],
        x=ChartAxis(low=start, high=end, unit="s"),
    )


def _byte_range(graph: SequenceGraph) -> tuple[float, float]:
    """Return the ends of the vertical axis, bytes, with a margin."""
    low = min(each.first for each in (*graph.sent, *graph.retransmitted))
    low = min([low, *(value for _, value in graph.acked[:1])])
    return low - 0.03 * (graph.end - low), graph.end + 0.05 * (graph.end - low)


def _figure(run: Run, graph: SequenceGraph, span: TimeSpan | None) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(14, 8.5), layout="constrained")
    axis = figure.add_subplot()
    scale, unit = units.axis_unit(graph.end, "size")
    few = len(graph.sent) < 2500
    _strokes(axis, graph.sent, scale, _SENT, 1.6 if few else 1.0, "sent")
    _strokes(axis, graph.sacked, scale, _SACKED, 2.4, "SACKed (S)", "S")
    _strokes(axis, graph.retransmitted, scale, _RETRANSMITTED, _WIDE, "retransmitted (R)", "R")
    _steps(axis, graph.acked, scale, color=_ACKED, linewidth=1.6, label="acknowledged")
    if span is not None:
        _steps(axis, graph.window_end, scale, color=_ALLOWED, linestyle="--", label="allowed by the window")
    axis.set_ylim(*(value / scale for value in _byte_range(graph)))
    axis.set_xlim(*(span or (0, max(run.experiment.seconds, run.experiment_s))))
    axis.set_xlabel("time, s")
    axis.set_title(f"Bytes of flow {graph.flow + 1}, {unit}: {_source(run, graph)}", loc="left")
    experiment = run.experiment
    figure.suptitle(f"{experiment.name}: {experiment.title}", x=0.01, ha="left", fontweight="bold")
    figure.legend(loc="outside lower left", ncols=5)
    return figure


def _source(run: Run, graph: SequenceGraph) -> str:
    if graph.source == "packets":
        return f"each segment as it passed {sender_interface(run.experiment, graph.flow)}"
    return "bytes sent until each ACK, without SACKs"


def _strokes(
    axis: Axes,
    spans: Sequence[ByteSpan],
    scale: float,
    color: str,
    width: float,
    label: str,
    letter: str = "",
) -> None:
    """Draw vertical strokes from the first byte to the last, some with a letter, as in tcptrace.

    The letters distinguish the kinds without color.
    """
    if spans:
        axis.vlines(
            [span.t for span in spans],
            [span.first / scale for span in spans],
            [span.last / scale for span in spans],
            colors=color,
            linewidth=width,
            label=label,
        )
        if letter:
            lettered = spans[:: -(-len(spans) // _LETTERS)]
            axis.plot(
                [span.t for span in lettered],
                [span.last / scale for span in lettered],
                linestyle="none",
                marker=f"${letter}$",
                markersize=8,
                color=color,
            )


def _steps(axis: Axes, steps: Sequence[tuple[float, int]], scale: float, **style: Any) -> None:
    if steps:
        times, values = zip(*steps, strict=True)
        axis.plot(times, [value / scale for value in values], drawstyle="steps-post", **style)
