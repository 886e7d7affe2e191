"""Charts of runs: quantities over time, on paper and in the terminal, and the sequence graph of a flow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tcptutor.analysis import is_imported, total_throughput
from tcptutor.analysis.observed.changes import changes_of_ends
from tcptutor.analysis.observed.sequence import (
    ByteSpan,
    SequenceGraph,
    sender_interface,
    sequence_of_acks,
    sequence_of_packets,
)
from tcptutor.base import sizes, units
from tcptutor.base.chart import (
    COLORS,
    DOTTED,
    GRAY,
    LEVEL,
    RED,
    Chart,
    ChartAxis,
    ChartPanel,
    ChartSeries,
)
from tcptutor.base.errors import TutorError, UnitError, UsageError, unknown
from tcptutor.exchange.curves import QUANTITIES, Curve
from tcptutor.run import Run, cuts_at
from tcptutor.run.flow_columns import FlowColumns, rows_of_flows
from tcptutor.runs import packets
from tcptutor.spec import ALGORITHMS, Experiment, shown_settings

TITLES = {
    "cwnd": ("Congestion window", "segments"),
    "rtt": ("Smoothed RTT", "time"),
    "throughput": ("Throughput", "rate"),
    "retransmissions": ("Retransmissions so far", "segments"),
    "bytes": ("Payload acknowledged so far", "size"),
    "queue": ("Queue at the bottleneck", "size"),
    "udp": ("UDP received", "rate"),
    "udp-lost": ("UDP datagrams lost so far", "datagrams"),
    "udp-jitter": ("UDP jitter", "time"),
}
"""Title of each quantity, with the kind of its unit, or the unit of a plain number."""
_IN_TERMINAL = ("cwnd", "throughput", "rtt", "queue", "udp")
"""Quantities that fit into a small terminal."""
_BELOW = ("limit", "expected", "trajectory", "ssthresh")
"""Roles of curves that measured curves cover."""
OVERSHOOT = 2.5
"""Ratio of the peaks in the warm-up and after it above which the first is cut off."""
MOST_RUNS = 8
"""Runs in a plot; more cannot be distinguished."""
TimeSpan = tuple[float, float]
"""Start and end, s."""

_VISIBLE = 0.03
"""Share of an axis from which a distance is visible."""

_LISTED = 4
"""Most changes during a run that a legend lists."""
_EXAMPLE = "write it like --span 0.4s..0.7s"


def measured_curves(
    runs: Sequence[Run], what: Sequence[str], usual: Sequence[str] = tuple(QUANTITIES)
) -> dict[str, list[list[Curve]]]:
    """Return the curves of each run by quantity: of `what`, or of the `usual` quantities that were measured.

    Raises:
        UsageError: A name or the number of runs is wrong.
        TutorError: Nothing was measured that could be plotted.
    """
    unknown_names = [name for name in what if name not in QUANTITIES]
    if unknown_names:
        raise UsageError(unknown("quantity", unknown_names[0], QUANTITIES))
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{len(runs)} runs in one plot cannot be distinguished: give {MOST_RUNS} at most")
    for names in (what,) if what else (usual, QUANTITIES):
        drawn = {name: [QUANTITIES[name](run, len(runs) > 1) for run in runs] for name in names}
        drawn = {name: curves for name, curves in drawn.items() if any(curves)}
        if drawn:
            return drawn
    requested = f" of {', '.join(what)}" if what else ""
    raise TutorError(f"nothing{requested} was measured here that could be plotted: {_advice(runs)}")


def _advice(runs: Sequence[Run]) -> str:
    if any(flow.received_bps is None for run in runs for flow in run.udp):
        return "this file lacks the received UDP: use its receiver's"
    if any(is_imported(run) and run.udp and not run.udp_samples for run in runs):
        return "this file has only totals of the received UDP: use its receiver's, or --get-server-output"
    if any(is_imported(run) and not run.samples for run in runs):
        return "this file has only totals: use one with intervals"
    return "give another run"


def heading(name: str, curves: Sequence[Sequence[Curve]]) -> tuple[str, float]:
    """Return a quantity's title with the unit for its curves, and the factor of that unit."""
    peak = max((value for each in curves for curve in each for _, value in curve.points), default=0.0)
    title, kind = TITLES[name]
    scale, unit = units.axis_unit(peak, kind)
    return f"{title}, {unit or kind}", scale


def end_of(runs: Sequence[Run]) -> float:
    """Return the end of the time axis, s."""
    return max(max(run.experiment.seconds, run.experiment_s) for run in runs)


def peaks(runs: Sequence[Run], curves: Sequence[Sequence[Curve]]) -> tuple[float, float]:
    """Return the largest measured values in the warm-up, and after it."""
    early = later = 0.0
    for run, each in zip(runs, curves, strict=True):
        for curve in (one for one in each if one.role != "trajectory"):
            for t, value in curve.points:
                if t < run.experiment.flows.warmup:
                    early = max(early, value)
                else:
                    later = max(later, value)
    return early, later


def title(runs: Sequence[Run]) -> str:
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
    return f"{cut}fidelity {run.fidelity.status} · {ran}, {environment.system}"


def _rate(run: Run) -> str:
    return units.rate(total_throughput(run))


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return a label for each run: differing experiment, settings, seed and lab, or the id."""
    texts = [
        {
            "": run.experiment.name,
            **shown_settings(run.experiment),
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


def run_chart(runs: Sequence[Run], what: Sequence[str] = ()) -> Chart:
    """Return the chart of one run, or of several runs overlaid, for a terminal. Raises like `measured_curves`."""
    drawn = measured_curves(runs, what, _IN_TERMINAL)
    names = run_names(runs) if len(runs) > 1 else []
    panels = [_panel(name, runs, curves, names) for name, curves in drawn.items()]
    return Chart(title=title(runs).split("\n"), panels=panels, x=ChartAxis(high=end_of(runs), unit="s"))


def common_changes(runs: Sequence[Run]) -> tuple[tuple[float, str], ...]:
    """Return time, s, and text of each change of the hosts or their flows; empty if the runs differ in them."""
    found = {changes_of_ends(run.experiment) for run in runs}
    return found.pop() if len(found) == 1 else ()


def change_label(changes: Sequence[tuple[float, str]]) -> str:
    """Return changes as text for a legend: "BBR at 5 s, MTU 900 at 9 s"."""
    texts = [f"{text} at {units.seconds(at)}" for at, text in changes[:_LISTED]]
    return ", ".join(texts) + (", …" if len(changes) > _LISTED else "")


def _panel(
    name: str, runs: Sequence[Run], curves: Sequence[Sequence[Curve]], names: Sequence[str]
) -> ChartPanel:
    text, scale = heading(name, curves)
    series = [
        _series(curve, scale, runs[number].experiment, number, names)
        for number, each in enumerate(curves)
        for curve in sorted(each, key=lambda curve: curve.role not in _BELOW)
    ]
    measured = [
        value for each in curves for curve in each if curve.role != "trajectory" for _, value in curve.points
    ]
    lowest, highest = min(measured, default=0.0), max(measured, default=1.0)
    early, later = peaks(runs, curves)
    if later and early > OVERSHOOT * later:
        highest = min(highest, 1.3 * later)
        text += f" (peak in the warm-up: {early / scale:.0f})"
    low = 0.95 * lowest if name == "rtt" and lowest > 0.6 * highest else 0.0
    y = ChartAxis(low=low / scale, high=1.04 * highest / scale or 1.0)
    warmups = {run.experiment.flows.warmup for run in runs}
    if len(warmups) == 1 and (warmup := warmups.pop()):
        ends = [(warmup, y.low), (warmup, y.high)]
        series.insert(0, ChartSeries(points=ends, label="end of the warm-up", color=GRAY, marker="│"))
    if marks := common_changes(runs):
        label = change_label(marks)
        series[:0] = [
            ChartSeries(points=[(at, y.low), (at, y.high)], label=label, color=GRAY, marker="┆")
            for at, _ in marks
        ]
    losses = _losses(runs[0]) if name == "cwnd" and len(runs) == 1 else ()
    return ChartPanel(
        heading=text, series=series, y=y, weight=2 if name == "cwnd" else 1, events=losses, events_label="loss event",
    )  # fmt: skip


def _series(
    curve: Curve, scale: float, experiment: Experiment, number: int, names: Sequence[str]
) -> ChartSeries:
    flows = experiment.total_streams
    label, color, marker = curve.name, None, ""
    if names:
        label, color = names[number], COLORS[number % len(COLORS)]
    elif curve.role == "ssthresh":
        label, color, marker = "ssthresh", COLORS[1] if flows == 1 else _flow_color(curve.flow, flows), "_"
    elif curve.flow is not None:
        color = _flow_color(curve.flow, flows)
        label = "each flow" if color == GRAY else flow_label(curve.flow, curve.role, experiment)
    elif curve.role in ("limit", "expected", "trajectory"):
        color, marker = {
            "limit": (RED, "="),
            "expected": (COLORS[2], LEVEL),
            "trajectory": (COLORS[2], DOTTED),
        }[curve.role]
    elif curve.role == "second":
        color = COLORS[1]
    elif curve.role == "total" and curve.name:
        color = COLORS[0]
    elif curve.role == "mean" or flows > 1:
        label = "mean of the flows" if curve.role == "mean" else "total"
    else:
        label, color = "flow 1", _flow_color(0, flows)
    return ChartSeries(
        points=[(t, value / scale) for t, value in curve.points], label=label, color=color, marker=marker
    )


def _flow_color(flow: int | None, flows: int) -> int:
    return GRAY if flows > len(COLORS) or flow is None else COLORS[flow]


def flow_label(flow: int, role: str, experiment: Experiment) -> str:
    """Return the name of a flow's curve, with its algorithm if the flows differ; one name for too many flows."""
    flows = experiment.total_streams
    if flows > len(COLORS) + 1:
        return "each flow"
    if role == "udp":
        return f"UDP flow {flow + 1}"
    mixed = len({experiment.algorithm(each) for each in range(flows)}) > 1
    return f"flow {flow + 1}, {experiment.algorithm(flow)}" if mixed else f"flow {flow + 1}"


def _losses(run: Run) -> list[float]:
    """Return the times of the loss events of all flows, s."""
    names = ("ca_state", "ssthresh", "retransmits", "delivered_ce", "total_rto", "bytes_acked")
    flows = (FlowColumns(run.samples, rows) for rows in rows_of_flows(run.samples).values())
    return sorted(flow.column("t")[at] for flow in flows for at in cuts_at(*map(flow.column, names)).losses)


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
    low, high = _byte_range(graph)
    ends = [end for _, end in graph.window_end]
    notes = []
    if not ends:
        notes.append("no receiver's window: its scale was in a SYN that is missing")
    elif min(ends) > high:
        notes.append(f"the receiver's window ends above: {sizes.decimal(min(ends) - graph.end)} were free")
    elif max(ends) - graph.acked[-1][1] > _VISIBLE * (high - low):
        series.insert(0, _steps(graph.window_end, scale, "allowed by the window", GRAY, LEVEL))
    start, end = span or (0.0, max(run.experiment.seconds, run.experiment_s))
    panel = ChartPanel(
        heading=f"Bytes of flow {graph.flow + 1}, {unit}: {_source(run, graph)}",
        series=[each for each in series if each.points],
        y=ChartAxis(low=low / scale, high=high / scale),
    )
    title = f"{run.experiment.name}: {run.experiment.title}"
    return Chart(title=[title], panels=[panel], x=ChartAxis(low=start, high=end, unit="s"), notes=notes)


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
