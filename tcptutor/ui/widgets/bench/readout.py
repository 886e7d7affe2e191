"""What is told of the instant at the cursor, in sentences: all together, the flow, what limited it, and the losses.

Where the samples say nothing of something, that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptutor.base import units
from tcptutor.ui import words
from tcptutor.ui.widgets.bench.build import MOST_CURVES
from tcptutor.ui.widgets.bench.causes import CAUSES, PHASES
from tcptutor.ui.widgets.bench.chart import flow_style
from tcptutor.ui.widgets.bench.cursor import Cursor
from tcptutor.ui.widgets.bench.lines import MUTED, STRONG, TEXT, Line
from tcptutor.ui.widgets.bench.scales import rate_unit

if TYPE_CHECKING:
    from tcptutor.analysis import FlowInstant, Insight, Instant, LimitedBy, Loss, RoundTrip

WIDE = 74
"""Columns from which on most sentences take one line."""

_COLUMNS = (7, 10, 10, 10, 2)
"""Widths of cwnd, ssthresh, RTT, throughput, and of the gap before what limited the flow."""

Sentence = tuple[str, str, str]
"""What it is about, the name of that one's style, and what is told."""


@dataclass(frozen=True)
class InstantTold:
    """What is known of the instant at the cursor: all that a readout is made of."""

    instant: Instant
    insight: Insight | None
    """None while it is not yet worked out."""
    cursor: Cursor
    names: Mapping[int, str]
    """Of the flows, by their numbers, in order."""
    round_trip: RoundTrip | None = None
    """The one in which the cursor is, where a zoom counts them."""
    until: float = 0.0
    """What was measured so far, s."""
    in_progress: bool = False

    @property
    def flow(self) -> FlowInstant | None:
        """The cursor's, at the instant."""
        return next((flow for flow in self.instant.flows if flow.flow == self.cursor.flow), None)

    @property
    def ahead(self) -> bool:
        """Whether the cursor is where the run has not come yet."""
        return self.in_progress and self.cursor.t > self.until

    @property
    def says_nothing(self) -> bool:
        """Whether there is nothing to say of a flow."""
        return self.ahead or self.cursor.flow not in self.names

    @property
    def name(self) -> str:
        """The cursor's flow's, as a part of a sentence: "flow 3", "flow h5 bbr"."""
        return f"flow {self.names.get(self.cursor.flow, '')}".rstrip()

    def time(self, t: float) -> str:
        """As precise as what is shown: "12.35 s"."""
        seconds = self.cursor.span.seconds
        return f"{t:.{3 if seconds < 5 else 2}f} s"


def height(told: InstantTold, width: int, tabled: bool) -> int:
    """Lines that a readout takes, whatever the instant: what is drawn above it stays where it is."""
    several = len(told.names) > 1
    return sum(_budgets(told, width)) + (len(told.names) + 1 if tabled and several else 0)


def readout(told: InstantTold, width: int, tabled: bool) -> list[Line]:
    """Exactly `height` lines. `tabled`: with all flows in a table, else what limited the others in a sentence."""
    lines: list[Line] = []
    for sentence, budget in zip(_sentences(told), _budgets(told, width), strict=True):
        lines += _fitted(sentence, width, budget)
    if len(told.names) > 1:
        lines = [*lines, *_table(told, width)] if tabled else [*lines[:-1], *_fitted(_others(told), width, 1)]
    return lines


def _budgets(told: InstantTold, width: int) -> tuple[int, ...]:
    """Lines of each sentence; a line more for what limited the others where there are any."""
    usual = (1, 1, 2, 2) if width >= WIDE else (2, 2, 3, 3)
    return (*usual, 1) if len(told.names) > 1 else usual


def _sentences(told: InstantTold) -> list[Sentence]:
    found = [together(told), flow(told), limit(told), event(told)]
    return [*found, ("", TEXT, "")] if len(told.names) > 1 else found


def _fitted(sentence: Sentence, width: int, budget: int) -> list[Line]:
    """In exactly so many lines: where it is too long without its last parts, or with "…" where it has none."""
    about, style, text = sentence
    while len(lines := words.wrapped(f"{about}{text}", width) or [""]) > budget and "; " in text:
        text = text.rpartition("; ")[0]
    if len(lines) > budget:
        lines = [*lines[: budget - 1], f"{lines[budget - 1][: width - 1]}…"]
    made = [Line.of((lines[0][: len(about)], style), (lines[0][len(about) :], TEXT))]
    made += [Line.of((line, TEXT)) for line in lines[1:]]
    return made + [Line()] * (budget - len(made))


def together(told: InstantTold) -> Sentence:
    """The time, the flows' throughput, and the bottleneck."""
    about, seen = f"at {told.time(told.cursor.t)}: ", told.instant
    if told.ahead:
        return about, STRONG, f"not measured yet; the run is at {told.time(told.until)}"
    parts = []
    if len(told.names) > 1 and seen.throughput_bps is not None:
        parts.append(f"all flows {units.rate(seen.throughput_bps)}")
    parts += [
        f"UDP {each.flow + 1} {units.rate(each.received_bps)} arrive, {each.lost} lost" for each in seen.udp
    ]
    if seen.queue_bytes is not None:
        parts.append(f"queue {_waits(seen)}" + (f", {seen.dropped} dropped" if seen.dropped else ""))
    elif seen.flows:
        parts.append("nothing is known of the queue")
    if seen.link_used is not None:
        parts.append(f"link {100 * seen.link_used:.0f} % used")
    return about, STRONG, "; ".join(parts) or "nothing is known: no sample was taken then"


def _waits(seen: Instant) -> str:
    """ "156 of 312 kB", "empty"."""
    if not seen.queue_bytes:
        return "empty"
    waits = units.size(seen.queue_bytes, 2)
    if not seen.queue_size:
        return waits
    size = units.size(seen.queue_size)
    number, unit = waits.split(" ")
    return f"{number if size.endswith(f' {unit}') else waits} of {size}"


def flow(told: InstantTold) -> Sentence:
    """Window, threshold, RTT and throughput of the cursor's flow."""
    seen = told.flow
    if told.says_nothing:
        return "", TEXT, ""
    about = f"{told.name}: "
    style = _style(told, list(told.names).index(told.cursor.flow))
    if seen is None:
        return about, style, "nothing is known of it at this instant"
    parts = [
        f"cwnd {seen.cwnd_segments}" if seen.cwnd_segments else "cwnd not known",
        f"ssthresh {seen.ssthresh_segments} segments" if seen.ssthresh_segments else "no ssthresh",
        f"RTT {_ms(seen.rtt_s)}" if seen.rtt_s else "RTT not known",
        units.rate(seen.throughput_bps) if seen.throughput_bps is not None else "throughput not known",
    ]
    phase = told.insight.phase(told.cursor.flow, told.cursor.t) if told.insight else None
    if phase is not None:
        parts.append(PHASES[phase][0])
    return about, style, ", ".join(parts)


def _style(told: InstantTold, number: int) -> str:
    """As in the chart, where of a band one flow is drawn."""
    return flow_style(number if len(told.names) <= MOST_CURVES else 0)


def limit(told: InstantTold) -> Sentence:
    """What limited the cursor's flow, when, and what shows it."""
    if told.says_nothing:
        return "", TEXT, ""
    found = told.insight.limit(told.cursor.flow, told.cursor.t) if told.insight else None
    if found is None:
        if told.insight is None or (told.in_progress and told.cursor.t > told.insight.until - 1):
            wait = "when this second is over" if told.in_progress else "in a moment"
            return "limited by: ", STRONG, f"that is told {wait}"
        return "limited by: ", STRONG, "nothing is known of this instant"
    when = f", {round(found.start, 1):g} to {round(found.end, 1):g} s: "
    if found.limited_by == "unexplained":
        return "limited by: ", STRONG, f"not known{when}the samples show no limit"
    why = found.why or "this second alone does not show it, those around it do"
    return f"limited by {CAUSES[found.limited_by][0]}", STRONG, f"{when}{why}"


def event(told: InstantTold) -> Sentence:
    """The loss or mark of the flow at the cursor, else the round trip in which it is."""
    cursor, seen = told.cursor, told.instant
    if told.says_nothing:
        return "", TEXT, ""
    losses = told.insight.losses_between(cursor.flow, seen.start, seen.end) if told.insight else ()
    if losses:
        return _loss(told, losses)
    if told.round_trip is not None and cursor.counted_from is not None:
        return _round_trip(told, told.round_trip, cursor.counted_from)
    return "", TEXT, "no loss and no mark here" if told.insight else ""


def _loss(told: InstantTold, there: Sequence[Loss]) -> Sentence:
    """The nearest of several, and what it came from."""
    cursor = told.cursor
    nearest = min(there, key=lambda each: abs(each.t - cursor.t))
    more = f" and {len(there) - 1} more" if len(there) > 1 else ""
    about = f"{'mark' if nearest.is_mark else 'loss'} at {told.time(nearest.t)}{more}: "
    fell = f"cwnd {nearest.cwnd_before} to {nearest.cwnd_after}"
    if (flow := told.flow) is not None and flow.retransmits:
        fell += f", {flow.retransmits} sent again"
    return about, STRONG, f"{fell}; {nearest.why}"


def _round_trip(told: InstantTold, found: RoundTrip, zero: float) -> Sentence:
    """Counted from the loss that was zoomed to."""
    where = "before" if found.number < 0 else "after"
    number = found.number if found.number < 0 else found.number + 1
    about = f"round trip {abs(number)} {where} the loss at {told.time(zero)}: "
    took = f"it takes {_ms(found.end - found.start)} and begins with cwnd {found.cwnd_segments}"
    if found.acked_segments is None or found.retransmits is None:
        return about, STRONG, f"{took}; no sample was taken in it"
    arrived = f"{found.acked_segments:.0f} segments arrive in it"
    again = f", {found.retransmits} are sent again" if found.retransmits else ""
    return about, STRONG, f"{took}; {arrived}{again}"


def _others(told: InstantTold) -> Sentence:
    """What limited each flow: "limited by loss: 1, 3; bottleneck: 2"."""
    by_cause = _by_cause(told)
    if not by_cause:
        return "", TEXT, ""
    if len(by_cause) == 1:
        return "all flows: ", MUTED, f"limited by {CAUSES[next(iter(by_cause))][0]}"
    parts = [f"{CAUSES[cause][0]} {' '.join(names)}" for cause, names in by_cause.items()]
    return "each flow: ", MUTED, "; ".join(parts)


def _by_cause(told: InstantTold) -> dict[LimitedBy, list[str]]:
    """The flows by what limited them then, the most frequent first."""
    if told.insight is None:
        return {}
    limits = {flow: told.insight.limit(flow, told.cursor.t) for flow in told.names}
    known = {flow: found.limited_by for flow, found in limits.items() if found is not None}
    ranked = [cause for cause, _ in Counter(known.values()).most_common()]
    return {cause: [told.names[flow] for flow in known if known[flow] == cause] for cause in ranked}


def _table(told: InstantTold, width: int) -> list[Line]:
    """All flows at the instant, a line each, after a head."""
    seen = {flow.flow: flow for flow in told.instant.flows}
    highest = max((flow.throughput_bps or 0.0 for flow in seen.values()), default=0.0)
    scale, unit = rate_unit(highest)
    name = 2 + max(4, *map(len, told.names.values()))
    head = ("cwnd", "ssthresh", "RTT, ms", unit)
    lines = [Line.of((f"{'  flow':{name}}{_cells(head)}limited by"[:width], MUTED))]
    for number, (flow, called) in enumerate(told.names.items()):
        mark = "› " if flow == told.cursor.flow else "  "
        found = told.insight.limit(flow, told.cursor.t) if told.insight else None
        cause = CAUSES[found.limited_by][0] if found else "not known"
        figures = _cells(_figures(seen.get(flow), scale)) + cause
        style = _style(told, number) if flow == told.cursor.flow else MUTED
        line = Line.of((f"{mark}{called}".ljust(name), style), (figures, TEXT))
        lines.append(line.fitted(min(width, line.width)))
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
