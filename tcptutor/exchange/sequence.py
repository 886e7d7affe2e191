"""Plot of a flow's sequence graph: bytes sent, retransmitted, acknowledged and SACKed over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
    Chart,
    ChartAxis,
    ChartPanel,
    ChartSeries,
)
from tcptutor.base.errors import TutorError, UnitError, UsageError
from tcptutor.run import Run
from tcptutor.runs import packets

TimeSpan = tuple[float, float]
"""Start and end, s."""

_EXAMPLE = "write it like --span 0.4s..0.7s"


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


def sequence_chart(run: Run, path: Path, flow: int, span: TimeSpan | None) -> Chart:
    """Return the sequence graph; `span` limits the time axis, s. Raises UsageError and TutorError."""
    graph = _shown(run, path, flow, span)
    scale, unit = units.axis_unit(graph.end, "size")
    series = [
        _strokes(graph.sent, scale, "sent", COLORS[0]),
        _steps(graph.acked, scale, "acknowledged", COLORS[2]),
        _strokes(graph.sacked, scale, "SACKed", COLORS[3], "S"),
        _strokes(graph.retransmitted, scale, "retransmitted", COLORS[1], "R"),
    ]
    if span is not None:
        series.insert(0, _steps(graph.window_end, scale, "allowed by the window", GRAY, LEVEL))
    low, high = _byte_range(graph)
    start, end = span or (0.0, max(run.experiment.seconds, run.experiment_s))
    panel = ChartPanel(
        heading=f"Bytes of flow {graph.flow + 1}, {unit}: {_source(run, graph)}",
        series=[each for each in series if each.points],
        y=ChartAxis(low=low / scale, high=high / scale),
    )
    title = f"{run.experiment.name}: {run.experiment.title}"
    return Chart(title=[title], panels=[panel], x=ChartAxis(low=start, high=end, unit="s"))


def _strokes(
    spans: Sequence[ByteSpan], scale: float, label: str, color: int, letter: str = ""
) -> ChartSeries:
    """Return vertical strokes from the first byte to the last, as in tcptrace; letters differ without color."""
    points = [(each.t, (each.first + each.last) / 2 / scale) for each in spans]
    lengths = [(each.last - each.first) / 2 / scale for each in spans]
    return ChartSeries(
        points=points, label=label, color=color, marker=letter, is_connected=False, spread=lengths
    )


def _steps(
    values: Sequence[tuple[float, int]], scale: float, label: str, color: int, marker: str = ""
) -> ChartSeries:
    """Return a line that keeps each value until the next."""
    pairs = zip(values, [*values[1:], *values[-1:]], strict=True)
    points = [(t, now[1] / scale) for now, after in pairs for t in (now[0], after[0])]
    return ChartSeries(points=points, label=label, color=color, marker=marker)


def _byte_range(graph: SequenceGraph) -> tuple[float, float]:
    """Return the ends of the vertical axis, bytes, with a margin."""
    low = min(each.first for each in (*graph.sent, *graph.retransmitted))
    low = min([low, *(value for _, value in graph.acked[:1])])
    return low - 0.03 * (graph.end - low), graph.end + 0.05 * (graph.end - low)


def _source(run: Run, graph: SequenceGraph) -> str:
    if graph.source == "packets":
        return f"each segment as it passed {sender_interface(run.experiment, graph.flow)}"
    return "bytes sent until each ACK, without SACKs"
