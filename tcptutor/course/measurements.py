"""Figures measured in a run, or in a part of it, which claims and goals are about."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tcptutor.base.errors import UsageError
from tcptutor.course.claim import Subject
from tcptutor.run import FlowResult, Run, UdpResult, UdpSample, mean_of_known, sum_or_none
from tcptutor.run.record import Figure

if TYPE_CHECKING:
    from tcptutor.analysis import Report
    from tcptutor.analysis.observed.flow import Interval, Trace
    from tcptutor.analysis.observed.measured import Measured


_SLACK = 1e-3
"""Tolerance in s when comparing sample times."""


class MeasuredRun:
    """Run with its analysis, each part computed once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def measured(self) -> Measured:
        from tcptutor.analysis.observed.measured import measure  # noqa: PLC0415  # the course loads without it

        return measure(self.run)

    @cached_property
    def report(self) -> Report:
        from tcptutor.analysis import report  # noqa: PLC0415

        return report(self.run, self.measured)


class RunPart:
    """A flow or all flows of a run, over the measured time or a given period.

    Its figures raise UsageError if the run lacks them.
    """

    def __init__(
        self,
        whole: MeasuredRun,
        flow: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> None:
        """Select a part of a run.

        Args:
            whole: The complete run.
            flow: Counted from 1; None for all.
            start: s since the traffic began; None for the end of the warm-up.
            end: s since the traffic began; None for the end of the run.
        """
        self.whole, self.run, self.flow = whole, whole.run, flow
        self.is_period = start is not None or end is not None
        experiment = self.run.experiment
        self.start = experiment.flows.warmup if start is None else start
        self.end = experiment.seconds if end is None else end

    @cached_property
    def measured(self) -> Measured:
        return self.whole.measured.between(self.start, self.end) if self.is_period else self.whole.measured

    @property
    def flows(self) -> list[FlowResult]:
        mine = [each for each in self.measured.flows if self.flow in (None, each.flow + 1)]
        return mine or self._nothing()

    @property
    def intervals(self) -> list[Interval]:
        mine = [each for each in self.measured.intervals if self.flow in (None, each.flow + 1)]
        return mine or self._nothing()

    @property
    def traces(self) -> list[Trace]:
        """Traces over the full length of the run."""
        mine = [each for each in self.measured.traces if self.flow in (None, each.flow + 1)]
        return mine or self._nothing()

    @property
    def udp(self) -> list[UdpResult]:
        from tcptutor.analysis.observed.measured import udp_results  # noqa: PLC0415

        mine = [each for each in udp_results(self.run) if self.flow in (None, each.flow + 1)]
        return mine or self._nothing("UDP flow")

    def udp_samples(self) -> Iterator[tuple[UdpSample, UdpSample]]:
        """Yield each UDP flow's last sample before the part begins, and its last sample in the part."""
        by_flow: dict[int, list[UdpSample]] = {}
        for row in self.run.udp_samples:
            if self.flow in (None, row.flow + 1) and row.t <= self.end + _SLACK:
                by_flow.setdefault(row.flow, []).append(row)
        for rows in by_flow.values():
            before = [row for row in rows if row.t <= self.start + _SLACK]
            yield (before or rows)[-1 if before else 0], rows[-1]

    @property
    def throughput(self) -> float:
        """Rate of payload received, bit/s."""
        if self.flow is not None:
            return self.flows[0].throughput_bps
        if not self.measured.flows and self.run.experiment.total_streams:
            self._nothing()
        return self.measured.throughput

    @property
    def utilization(self) -> float:
        """Throughput over the link's goodput."""
        from tcptutor.analysis.observed.path import Direction  # noqa: PLC0415

        goodput = Direction(self.run).goodput(self.start, self.end)
        if not goodput:
            raise UsageError("the link is not shaped, so its utilization is undefined")
        return self.throughput / goodput

    def _nothing(self, what: str = "flow") -> NoReturn:
        when = "in this period" if self.is_period else "in this run"
        raise UsageError(f"no {what} {self.flow or ''}".rstrip() + f" was measured {when}")


class MeasuredFigure(NamedTuple):
    """Figure measured in a run. `of` raises UsageError for a part of a run without it."""

    kind: str
    phrase: str
    """The figure in a sentence, "{} retransmissions"."""
    compute: Callable[[RunPart], float]
    by_flow: bool = True
    """True if it is defined for a single flow."""
    has_periods: bool = True
    """True if it is defined for a part of the time."""


def mean_rtt(part: RunPart) -> float:
    """Return the mean RTT over the flows, s."""
    return fmean([flow.mean_rtt_s for flow in part.flows if flow.mean_rtt_s] or [0.0])


def _rtts(part: RunPart) -> list[float]:
    """Return the smoothed RTTs of all samples, s."""
    found = [rtt for each in part.intervals for rtt in each.column("rtt") if rtt > 0]
    return found or _none("no RTT was measured")


def loss_rate(part: RunPart) -> float:
    """Return loss events per segment sent."""
    sent = _known(sum_or_none(flow.segments for flow in part.flows))
    return _losses(part) / sent if sent else 0.0


def _losses(part: RunPart) -> float:
    return _known(sum_or_none(flow.losses for flow in part.flows))


def _retransmissions(part: RunPart) -> float:
    return _known(sum_or_none(flow.retransmits for flow in part.flows))


def _cwnd(part: RunPart) -> float:
    return _known(mean_of_known(flow.mean_cwnd_segments for flow in part.flows))


def _known(figure: Figure | None) -> Figure:
    return _none("the run has no such measurement") if figure is None else figure


def _jain_index(part: RunPart) -> float:
    from tcptutor.theory import jain_index  # noqa: PLC0415  # the first frame needs no theory

    return jain_index(flow.throughput_bps for flow in part.flows)


def _grown(part: RunPart, column: str) -> float:
    return sum(each.growth(column) for each in part.intervals)


def queue_drops(part: RunPart) -> float:
    """Return the packets dropped by the bottleneck queue."""
    from tcptutor.analysis.observed.path import Direction  # noqa: PLC0415

    return Direction(part.run).drops(part.start, part.end)


def largest_cwnd(part: RunPart) -> float:
    """Return the largest cwnd of any flow, segments."""
    return max(float(max(each.column("cwnd"))) for each in part.intervals)


def largest_flight(part: RunPart) -> float:
    """Return the most payload in flight of any flow, bytes."""
    flights = (zip(each.column("unacked"), each.column("mss"), strict=True) for each in part.intervals)
    most = max(float(segments * mss) for flight in flights for segments, mss in flight)
    return most or _none("the run has no data in flight")


def _share_of_busy(part: RunPart, column: str) -> float:
    """Return `column` as a share of the busy time, as `ss -ti` prints it."""
    busy = _grown(part, "busy")
    return _grown(part, column) / busy if busy else 0.0


def cov(part: RunPart) -> float:
    """Return the coefficient of variation of a flow's per-second throughput, averaged over the flows."""
    from tcptutor.analysis.observed.figures import figures  # noqa: PLC0415

    found = [
        each.cov
        for each in figures(part.measured)
        if each.cov is not None and part.flow in (None, each.flow + 1)
    ]
    return fmean(found or _none("the run is too short for a coefficient of variation"))


def cov_between(part: RunPart) -> float:
    """Return the coefficient of variation of the flows' mean throughputs."""
    from tcptutor.analysis.observed.figures import cov_between as between_flows  # noqa: PLC0415

    found = between_flows(part.measured)
    return _none("a single flow has no variation between flows") if found is None else found


def share(part: RunPart) -> float:
    """Return the flow's share of the total throughput."""
    total = sum(flow.throughput_bps for flow in part.measured.flows)
    return part.flows[0].throughput_bps / total if total else _none("no payload arrived")


def first_loss(part: RunPart) -> float:
    """Return the time of the first loss event of any flow, s since the traffic began."""
    times: list[float] = [trace.column("t")[at] for trace in part.traces for at in trace.cuts.losses[:1]]
    return min(times or _none("no loss event in this run"))


def slow_start_end(part: RunPart) -> float:
    """Return when slow start (BBR: STARTUP) ended, s since the traffic began, averaged over the flows."""
    from tcptutor.analysis.observed.figures import algorithms_of, phases  # noqa: PLC0415

    ends = []
    for trace in part.traces:
        found = phases(trace, algorithms_of(part.run.experiment, trace.flow))
        ends += [phase.end for phase in found if phase.name == "slow-start" and phase.end < found[-1].end][:1]
    return fmean(ends or _none("no flow left slow start in this run"))


def completion(part: RunPart) -> float:
    """Return the completion time of the slowest flow with a fixed amount to send, s."""
    times = [flow.completion_s for flow in part.flows if flow.completion_s is not None]
    return max(times or _none("no flow with a fixed amount to send has finished"))


def message_time(part: RunPart) -> float:
    """Return the mean time from the moment a message is due until all of it is acknowledged, s.

    A period selects the messages that are due in it.
    """
    experiment = part.run.experiment
    times: list[float] = []
    for trace in part.traces:
        if (size := experiment.message(trace.flow)) is None:
            continue
        t, acked, flight = trace.column("t"), trace.column("bytes_acked"), trace.column("unacked")
        first = next((at for at in range(len(t)) if flight[at] or acked[at] >= size), len(t))
        number, due = 0, t[max(0, first - 1)] if first < len(t) else math.inf
        for at in range(first, len(t)):
            while acked[at] >= (number + 1) * size:
                if part.start - _SLACK <= due < part.end:
                    times.append(t[at] - due)
                number, due = number + 1, due + experiment.flows.interval
    return fmean(times or _none("no flow sent a message in this time"))


def udp_rate(part: RunPart) -> float:
    """Return the rate of payload received over UDP, bit/s."""
    if not part.is_period:
        return _known(sum_or_none(flow.received_bps for flow in part.udp))
    pairs = [(first, last) for first, last in part.udp_samples() if last.t > first.t]
    return sum(
        8 * (last.received - first.received) / (last.t - first.t)
        for first, last in pairs or _none("no UDP flow was measured in this period")
    )


def udp_loss(part: RunPart) -> float:
    """Return the share of lost datagrams."""
    if part.is_period:
        pairs = list(part.udp_samples())
        lost = sum(last.lost - first.lost for first, last in pairs)
        sent = sum(last.datagrams - first.datagrams for first, last in pairs)
    else:
        lost = _known(sum_or_none(flow.lost for flow in part.udp))
        sent = _known(sum_or_none(flow.datagrams for flow in part.udp))
    return lost / sent if sent else _none("no datagram was sent")


def _require_known(values: Iterable[float | None], what: str) -> list[float]:
    return [value for value in values if value is not None] or _none(f"the run has no {what}")


def _none(why: str) -> NoReturn:
    raise UsageError(why)


MEASURED: dict[Subject, MeasuredFigure] = {
    "throughput": MeasuredFigure("rate", "a throughput of {}", lambda part: part.throughput),
    "rtt": MeasuredFigure("time", "a mean RTT of {}", mean_rtt),
    "min-rtt": MeasuredFigure("time", "a smallest RTT of {}", lambda part: min(_rtts(part))),
    "max-rtt": MeasuredFigure("time", "a largest RTT of {}", lambda part: max(_rtts(part))),
    "utilization": MeasuredFigure("ratio", "the link {} used", lambda part: part.utilization),
    "idle": MeasuredFigure("ratio", "the link {} idle", lambda part: 1 - part.utilization),
    "losses": MeasuredFigure("number", "{} loss events", _losses),
    "retransmissions": MeasuredFigure("number", "{} retransmissions", _retransmissions),
    "loss-rate": MeasuredFigure("ratio", "a loss rate of {}", loss_rate),
    "timeouts": MeasuredFigure("number", "{} timeouts", lambda part: _grown(part, "total_rto")),
    "queue-drops": MeasuredFigure("number", "{} packets dropped by the queue", queue_drops, by_flow=False),
    "marks": MeasuredFigure("number", "{} ECN marks", lambda part: _grown(part, "delivered_ce")),
    "cwnd": MeasuredFigure("number", "a mean cwnd of {} segments", _cwnd),
    "max-cwnd": MeasuredFigure("number", "a largest cwnd of {} segments", largest_cwnd),
    "max-flight": MeasuredFigure("size", "at most {} in flight", largest_flight),
    "app-limited": MeasuredFigure(
        "ratio",
        "{} of the time limited by the application",
        lambda part: fmean(each.mean("app_limited") for each in part.intervals),
    ),
    "sndbuf-limited": MeasuredFigure(
        "ratio",
        "{} of the busy time limited by the send buffer",
        lambda part: _share_of_busy(part, "sndbuf_limited"),
    ),
    "rwnd-limited": MeasuredFigure(
        "ratio",
        "{} of the busy time limited by the receive window",
        lambda part: _share_of_busy(part, "rwnd_limited"),
    ),
    "jain": MeasuredFigure("number", "a Jain's index of {}", _jain_index, by_flow=False),
    "cov": MeasuredFigure("number", "a coefficient of variation of {}", cov),
    "cov-between": MeasuredFigure(
        "number", "a coefficient of variation of {} between the flows", cov_between, by_flow=False
    ),
    "share": MeasuredFigure("ratio", "a share of {}", share),
    "first-loss": MeasuredFigure("time", "the first loss event at {}", first_loss, has_periods=False),
    "slow-start-end": MeasuredFigure(
        "time", "the end of slow start at {}", slow_start_end, has_periods=False
    ),
    "completion": MeasuredFigure("time", "completion after {}", completion, has_periods=False),
    "message-time": MeasuredFigure("time", "a message time of {}", message_time),
    "udp-rate": MeasuredFigure("rate", "a UDP rate of {}", udp_rate),
    "udp-loss": MeasuredFigure("ratio", "{} of the datagrams lost", udp_loss),
    "udp-jitter": MeasuredFigure(
        "time",
        "a jitter of {}",
        lambda part: fmean(_require_known((flow.jitter_s for flow in part.udp), "jitter")),
        has_periods=False,
    ),
    "udp-out-of-order": MeasuredFigure(
        "number",
        "{} datagrams out of order",
        lambda part: sum(_require_known((flow.out_of_order for flow in part.udp), "packet order")),
        has_periods=False,
    ),
}


def cause(part: RunPart) -> str:
    """Return the cause that limited the flows, or a flow; for a part of the time, the dominant cause."""
    verdict = part.whole.report.verdict
    mine = [flow for flow in verdict.flows if part.flow in (None, flow.flow + 1)]
    if not part.is_period:
        if part.flow is None:
            return verdict.limited_by
        return mine[0].limited_by if mine else _none(f"no flow {part.flow} was measured in this run")
    took = Counter[str]()
    for flow in mine:
        for second in flow.seconds:
            took[second.limited_by] += max(0.0, min(second.end, part.end) - max(second.start, part.start))  # type: ignore[assignment]
    return took.most_common(1)[0][0] if took else _none("no flow was measured in this period")
