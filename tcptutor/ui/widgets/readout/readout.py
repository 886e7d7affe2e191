"""Readout of the instant at the cursor in sentences: totals, the flow, its limit, and loss events.

Values that the samples do not contain are reported as unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptutor.base import sizes, units
from tcptutor.base.columns import wrapped
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line
from tcptutor.ui.widgets.chart.axes import rate_unit
from tcptutor.ui.widgets.chart.chart import flow_style
from tcptutor.ui.widgets.chart.flows import MAX_CURVES
from tcptutor.ui.widgets.readout.causes import CAUSES, PHASES
from tcptutor.ui.widgets.readout.cursor import Cursor

if TYPE_CHECKING:
    from tcptutor.analysis import FlowInstant, Insight, Instant, LimitedBy, Loss, QueueInstant, RoundTrip

WIDE = 74
"""Columns from which most sentences fit in a line."""

_COLUMNS = (7, 10, 10, 10, 2)
"""Widths of cwnd, ssthresh, RTT, throughput, and of the gap before the cause."""

Sentence = tuple[str, str, str]
"""Subject, style of the subject, and statement."""


@dataclass(frozen=True)
class InstantFacts:
    """Facts about the instant at the cursor."""

    instant: Instant
    insight: Insight | None
    """None until analyzed."""
    cursor: Cursor
    names: Mapping[int, str]
    """Names of the flows by number, in order."""
    round_trip: RoundTrip | None = None
    """Round trip that contains the cursor, in a zoom on a loss event."""
    until: float = 0.0
    """End of the measured data, s."""
    in_progress: bool = False

    @property
    def flow(self) -> FlowInstant | None:
        """The selected flow at the instant."""
        return next((flow for flow in self.instant.flows if flow.flow == self.cursor.flow), None)

    @property
    def is_ahead(self) -> bool:
        """Whether the cursor is beyond the data of a live run."""
        return self.in_progress and self.cursor.t > self.until

    @property
    def has_no_flow(self) -> bool:
        return self.is_ahead or self.cursor.flow not in self.names

    @property
    def name(self) -> str:
        """The selected flow's name in a sentence: "flow 3", "flow h5 bbr"."""
        return f"flow {self.names.get(self.cursor.flow, '')}".rstrip()

    def time(self, t: float) -> str:
        """Format a time with the precision of the visible span: "12.35 s"."""
        seconds = self.cursor.span.seconds
        return f"{t:.{3 if seconds < 5 else 2}f} s"


def height(facts: InstantFacts, width: int, has_table: bool) -> int:
    """Return the lines of a readout, independent of the instant, so the chart above does not move."""
    has_others = len(facts.names) > 1
    return sum(_budgets(facts, width)) + (len(facts.names) + 1 if has_table and has_others else 0)


def readout(facts: InstantFacts, width: int, has_table: bool) -> list[Line]:
    """Return exactly `height` lines, with all flows in a table or the causes of the others in a sentence."""
    lines: list[Line] = []
    for sentence, budget in zip(_sentences(facts), _budgets(facts, width), strict=True):
        lines += _fit_sentence(sentence, width, budget)
    if len(facts.names) > 1:
        lines = (
            [*lines, *_table(facts, width)]
            if has_table
            else [*lines[:-1], *_fit_sentence(_others(facts), width, 1)]
        )
    return lines


def _budgets(facts: InstantFacts, width: int) -> tuple[int, ...]:
    """Return the lines of each sentence, plus a line for the causes of other flows."""
    usual = (1, 1, 2, 2) if width >= WIDE else (2, 2, 3, 3)
    return (*usual, 1) if len(facts.names) > 1 else usual


def _sentences(facts: InstantFacts) -> list[Sentence]:
    sentences = [totals(facts), flow(facts), limit(facts), event(facts)]
    return [*sentences, ("", TEXT, "")] if len(facts.names) > 1 else sentences


def _fit_sentence(sentence: Sentence, width: int, budget: int) -> list[Line]:
    """Fit a sentence into exactly `budget` lines, dropping its last parts or ending with "…"."""
    subject, style, text = sentence
    while len(lines := wrapped(f"{subject}{text}", width) or [""]) > budget and "; " in text:
        text = text.rpartition("; ")[0]
    if len(lines) > budget:
        lines = [*lines[: budget - 1], f"{lines[budget - 1][: width - 1]}…"]
    fitted = [Line.of((lines[0][: len(subject)], style), (lines[0][len(subject) :], TEXT))]
    fitted += [Line.of((line, TEXT)) for line in lines[1:]]
    return fitted + [Line()] * (budget - len(fitted))


def totals(facts: InstantFacts) -> Sentence:
    """Return time, total throughput and bottleneck."""
    subject, instant = f"at {facts.time(facts.cursor.t)}: ", facts.instant
    if facts.is_ahead:
        return subject, STRONG, f"not measured yet; the run is at {facts.time(facts.until)}"
    parts = []
    if len(facts.names) > 1 and instant.throughput_bps is not None:
        parts.append(f"all flows {units.rate(instant.throughput_bps)}")
    parts += [
        f"UDP {each.flow + 1} {units.rate(each.received_bps)} arrive, {each.lost} lost"
        for each in instant.udp
    ]
    for number, queue in enumerate(instant.queues, 1):
        name = f"queue at s{number}" if len(instant.queues) > 1 else "queue"
        parts.append(f"{name} {_backlog(queue)}" + (f", {queue.dropped} dropped" if queue.dropped else ""))
    if not instant.queues and instant.flows:
        parts.append("the queue is not known")
    if instant.link_used is not None:
        parts.append(f"link {100 * instant.link_used:.0f} % used")
    return subject, STRONG, "; ".join(parts) or "no sample was taken then"


def _backlog(queue: QueueInstant) -> str:
    if not queue.waiting:
        return "empty"
    backlog = sizes.decimal(queue.waiting, 2)
    if not queue.size:
        return backlog
    size = sizes.decimal(queue.size)
    number, unit = backlog.split(" ")
    return f"{number if size.endswith(f' {unit}') else backlog} of {size}"


def flow(facts: InstantFacts) -> Sentence:
    """Return cwnd, ssthresh, RTT and throughput of the selected flow."""
    state = facts.flow
    if facts.has_no_flow:
        return "", TEXT, ""
    subject = f"{facts.name}: "
    style = _flow_style(facts, list(facts.names).index(facts.cursor.flow))
    if state is None:
        return subject, style, "not known at this instant"
    parts = [
        f"cwnd {state.cwnd_segments}" if state.cwnd_segments else "cwnd not known",
        f"ssthresh {state.ssthresh_segments} segments" if state.ssthresh_segments else "no ssthresh",
        f"RTT {_ms(state.rtt_s)}" if state.rtt_s else "RTT not known",
        units.rate(state.throughput_bps) if state.throughput_bps is not None else "throughput not known",
    ]
    phase = facts.insight.phase(facts.cursor.flow, facts.cursor.t) if facts.insight else None
    if phase is not None:
        parts.append(PHASES[phase][0])
    return subject, style, ", ".join(parts)


def _flow_style(facts: InstantFacts, number: int) -> str:
    return flow_style(number if len(facts.names) <= MAX_CURVES else 0)


def limit(facts: InstantFacts) -> Sentence:
    """Return the cause that limited the selected flow, its interval and the evidence."""
    if facts.has_no_flow:
        return "", TEXT, ""
    interval = facts.insight.limit(facts.cursor.flow, facts.cursor.t) if facts.insight else None
    if interval is None:
        if facts.insight is None or (facts.in_progress and facts.cursor.t > facts.insight.until - 1):
            wait = "when this second is over" if facts.in_progress else "in a moment"
            return "limited by: ", STRONG, f"known {wait}"
        return "limited by: ", STRONG, "not known at this instant"
    when = f", {round(interval.start, 1):g} to {round(interval.end, 1):g} s: "
    if interval.limited_by == "unexplained":
        return "limited by: ", STRONG, f"not known{when}the samples show no limit"
    why = interval.why or "from the seconds around it"
    return f"limited by {CAUSES[interval.limited_by][0]}", STRONG, f"{when}{why}"


def event(facts: InstantFacts) -> Sentence:
    """Return the selected flow's loss or mark at the cursor, or the round trip."""
    cursor, instant = facts.cursor, facts.instant
    if facts.has_no_flow:
        return "", TEXT, ""
    losses = facts.insight.losses_between(cursor.flow, instant.start, instant.end) if facts.insight else ()
    if losses:
        return _loss(facts, losses)
    if facts.round_trip is not None and cursor.loss_origin is not None:
        return _round_trip(facts, facts.round_trip, cursor.loss_origin)
    return "", TEXT, "no loss and no mark here" if facts.insight else ""


def _loss(facts: InstantFacts, losses: Sequence[Loss]) -> Sentence:
    cursor = facts.cursor
    nearest = min(losses, key=lambda each: abs(each.t - cursor.t))
    further = f" and {len(losses) - 1} more" if len(losses) > 1 else ""
    subject = f"{'mark' if nearest.is_mark else 'loss'} at {facts.time(nearest.t)}{further}: "
    reduction = f"cwnd {nearest.cwnd_before} to {nearest.cwnd_after}"
    if (flow := facts.flow) is not None and flow.retransmits:
        reduction += f", {flow.retransmits} retransmitted"
    return subject, STRONG, f"{reduction}; {nearest.why}"


def _round_trip(facts: InstantFacts, trip: RoundTrip, origin: float) -> Sentence:
    side = "before" if trip.number < 0 else "after"
    number = trip.number if trip.number < 0 else trip.number + 1
    subject = f"round trip {abs(number)} {side} the loss at {facts.time(origin)}: "
    duration = f"it takes {_ms(trip.end - trip.start)} and begins with cwnd {trip.cwnd_segments}"
    if trip.acked_segments is None or trip.retransmits is None:
        return subject, STRONG, f"{duration}; no sample was taken in it"
    acked = f"{trip.acked_segments:.0f} segments arrive in it"
    retransmissions = f", {trip.retransmits} are retransmitted" if trip.retransmits else ""
    return subject, STRONG, f"{duration}; {acked}{retransmissions}"


def _others(facts: InstantFacts) -> Sentence:
    """Return the causes of all flows, e.g. "limited by loss: 1, 3; bottleneck: 2"."""
    by_cause = _flows_by_cause(facts)
    if not by_cause:
        return "", TEXT, ""
    if len(by_cause) == 1:
        return "all flows: ", MUTED, f"limited by {CAUSES[next(iter(by_cause))][0]}"
    parts = [f"{CAUSES[cause][0]} {' '.join(names)}" for cause, names in by_cause.items()]
    return "each flow: ", MUTED, "; ".join(parts)


def _flows_by_cause(facts: InstantFacts) -> dict[LimitedBy, list[str]]:
    if facts.insight is None:
        return {}
    limits = {flow: facts.insight.limit(flow, facts.cursor.t) for flow in facts.names}
    known = {flow: found_limit.limited_by for flow, found_limit in limits.items() if found_limit is not None}
    ranked = [cause for cause, _ in Counter(known.values()).most_common()]
    return {cause: [facts.names[flow] for flow in known if known[flow] == cause] for cause in ranked}


def _table(facts: InstantFacts, width: int) -> list[Line]:
    """Return a table of all flows at the instant."""
    states = {flow.flow: flow for flow in facts.instant.flows}
    highest = max((flow.throughput_bps or 0.0 for flow in states.values()), default=0.0)
    scale, unit = rate_unit(highest)
    name = 2 + max(4, *map(len, facts.names.values()))
    head = ("cwnd", "ssthresh", "RTT, ms", unit)
    lines = [Line.of((f"{'  flow':{name}}{_cells(head)}limited by"[:width], MUTED))]
    for number, (flow, flow_name) in enumerate(facts.names.items()):
        mark = "› " if flow == facts.cursor.flow else "  "
        interval = facts.insight.limit(flow, facts.cursor.t) if facts.insight else None
        cause = CAUSES[interval.limited_by][0] if interval else "not known"
        figures = _cells(_figures(states.get(flow), scale)) + cause
        style = _flow_style(facts, number) if flow == facts.cursor.flow else MUTED
        line = Line.of((f"{mark}{flow_name}".ljust(name), style), (figures, TEXT))
        lines.append(line.fit(min(width, line.width)))
    return lines


def _figures(flow: FlowInstant | None, scale: float) -> Sequence[str]:
    if flow is None:
        return ("–",) * 4
    return (
        f"{flow.cwnd_segments or '–'}",
        f"{flow.ssthresh_segments or '–'}",
        f"{1e3 * flow.rtt_s:.4g}" if flow.rtt_s else "–",
        f"{flow.throughput_bps / scale:.3g}" if flow.throughput_bps is not None else "–",
    )


def _cells(texts: Sequence[str]) -> str:
    cells = "".join(text.rjust(columns) for text, columns in zip(texts, _COLUMNS, strict=False))
    return cells + " " * _COLUMNS[-1]


def _ms(seconds: float) -> str:
    return units.seconds(seconds, 3)
