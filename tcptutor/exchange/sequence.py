"""The sequence graph of a flow on paper: its bytes over time, sent, sent again, acknowledged and SACKed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcptutor.analysis.observed.segments import sender_interface
from tcptutor.analysis.observed.sequence import (
    ByteSpan,
    SequenceGraph,
    sequence_of_acks,
    sequence_of_packets,
)
from tcptutor.base import units
from tcptutor.base.errors import TutorError, UnitError, UsageError
from tcptutor.exchange.plot import check_target, save, styled
from tcptutor.run import Run
from tcptutor.runs import packets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SENT, _RESENT, _SACKED, _ACKED, _ALLOWED = "#0072B2", "#D55E00", "#CC79A7", "#009E73", "#8C96A0"
_SCALES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))
_EXAMPLE = "write it like --span 0.4s..0.7s"
_LETTERS = 40
"""Of strokes of one kind, those that have a letter, at most."""
_WIDE = 4.0
"""Of the strokes of what was sent again, points."""


def read_span(text: str) -> tuple[float, float]:
    """ "0.4s..0.7s" in seconds. Raises UsageError."""
    start, dots, end = text.partition("..")
    try:
        span = units.parse(start, "time"), units.parse(end, "time")
    except UnitError as error:
        raise UsageError(f"--span {text!r}: {error}: {_EXAMPLE}") from None
    if not dots or span[0] >= span[1]:
        raise UsageError(f"--span {text!r} is not an earlier and a later time: {_EXAMPLE}")
    return span


def graph_of(run: Run, path: Path, flow: int) -> SequenceGraph:
    """The one of flow number `flow`, of its packets where they were kept at its sender, else of its ACKs.

    Raises UsageError for no such flow, TutorError where nothing was kept of it.
    """
    flows = run.experiment.total_streams
    if not 0 <= flow < flows:
        raise UsageError(f"there is no flow {flow + 1}: the run has {flows}")
    found = None
    if packets.file_of(path).exists():
        found = sequence_of_packets(run, flow, packets.load(run, path))
    found = found or sequence_of_acks(run, flow)
    if found is None:
        raise TutorError(
            "a sequence graph needs a flow's ACKs or packets: run the experiment with --set acks=on, or capture=on"
        )
    return found


def plot_sequence(run: Run, path: Path, target: Path, flow: int, span: tuple[float, float] | None) -> None:
    """Write it; `span` is the part of the time that is shown, s. Raises UsageError and TutorError."""
    check_target(target)
    whole = graph_of(run, path, flow)
    shown = whole if span is None else whole.between(*span)
    if not (shown.sent or shown.retransmitted):
        raise UsageError(f"flow {flow + 1} sends nothing there: the run took {run.experiment_s:g} s")
    with styled():
        save(_figure(run, shown, span), target)


def _figure(run: Run, graph: SequenceGraph, span: tuple[float, float] | None) -> Figure:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(14, 8.5), layout="constrained")
    axis = figure.add_subplot()
    scale, unit = next((one for one in _SCALES if graph.end >= one[0]), _SCALES[-1])
    few = len(graph.sent) < 2500
    _strokes(axis, graph.sent, scale, _SENT, 1.6 if few else 1.0, "sent")
    _strokes(axis, graph.sacked, scale, _SACKED, 2.4, "SACKed (S)", "S")
    _strokes(axis, graph.retransmitted, scale, _RESENT, _WIDE, "sent again (R)", "R")
    _steps(axis, graph.acked, scale, color=_ACKED, linewidth=1.6, label="acknowledged")
    if span is not None:
        _steps(axis, graph.window_end, scale, color=_ALLOWED, linestyle="--", label="allowed by the window")
    low = min(each.first for each in (*graph.sent, *graph.retransmitted)) / scale
    low = min([low, *(value / scale for _, value in graph.acked[:1])])
    high = graph.end / scale
    axis.set_ylim(low - 0.03 * (high - low), high + 0.05 * (high - low))
    axis.set_xlim(*(span or (0, max(run.experiment.seconds, run.experiment_s))))
    axis.set_xlabel("time, s")
    axis.set_title(f"Bytes of flow {graph.flow + 1}, {unit}: {_told(run, graph)}", loc="left")
    experiment = run.experiment
    figure.suptitle(f"{experiment.name}: {experiment.title}", x=0.01, ha="left", fontweight="bold")
    figure.legend(loc="outside lower left", ncols=5)
    return figure


def _told(run: Run, graph: SequenceGraph) -> str:
    if graph.source == "packets":
        return f"each segment as it passed {sender_interface(run.experiment, graph.flow)}"
    return "by each ACK, what had been sent until then; nothing tells of SACKs"


def _strokes(
    axis: Axes,
    spans: Sequence[ByteSpan],
    scale: float,
    colour: str,
    width: float,
    label: str,
    letter: str = "",
) -> None:
    """Upright, from the first byte to the last, some with a letter, as tcptrace has them: colour alone says nothing to
    many. Nothing where there is none.
    """
    if spans:
        axis.vlines(
            [span.t for span in spans],
            [span.first / scale for span in spans],
            [span.last / scale for span in spans],
            colors=colour,
            linewidth=width,
            label=label,
        )
        if letter:
            some = spans[:: -(-len(spans) // _LETTERS)]
            axis.plot(
                [span.t for span in some],
                [span.last / scale for span in some],
                linestyle="none",
                marker=f"${letter}$",
                markersize=8,
                color=colour,
            )


def _steps(axis: Axes, steps: Sequence[tuple[float, int]], scale: float, **how: Any) -> None:
    if steps:
        times, values = zip(*steps, strict=True)
        axis.plot(times, [value / scale for value in values], drawstyle="steps-post", **how)
