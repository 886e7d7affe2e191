"""Results of a run: each flow's figures over the measured time, from its samples, and their plausibility."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from tcptutor.run import Ended, Finished, FlowResult, QueueSample, SampleTable, arrived_bytes, cuts_at
from tcptutor.run.capacity import FlowSpan
from tcptutor.run.flow_columns import FlowColumns, rows_of_flows
from tcptutor.run.plausible import PlausibilityChecks, largest_window
from tcptutor.spec import Experiment

_HANDSHAKE = 1
"""Bytes that the kernel counts as acknowledged before a flow's first byte: the SYN."""


class _FlowSamples:
    """Columns of a flow's samples in order of time, without a row object per sample."""

    def __init__(self, columns: FlowColumns) -> None:
        of = columns.column
        self.t, self.cwnd, self.rtt = of("t"), of("cwnd"), of("rtt")
        self.bytes_acked, self.bytes_received, self.segs_out = map(
            of, ("bytes_acked", "bytes_received", "segs_out")
        )
        self.retransmits, self.mss = of("retransmits"), of("mss")
        self.ssthresh, self.ca_state, self.delivered_ce, self.total_rto = map(
            of, ("ssthresh", "ca_state", "delivered_ce", "total_rto")
        )
        self.arrived = arrived_bytes(self.bytes_acked, of("delivered"), self.mss, self.ca_state)

    def cuts(self, first: int, last: int) -> tuple[int, int]:
        """Return the numbers of loss events and of reductions by marks between two samples."""
        found = cuts_at(
            self.ca_state,
            self.ssthresh,
            self.retransmits,
            self.delivered_ce,
            self.total_rto,
            self.bytes_acked,
        )
        losses, marks = (sum(first < at <= last for at in each) for each in found)
        return losses, marks

    def throughput(self, counted: Sequence[int], first: int, last: int) -> float:
        """Return the rate at which `counted` grew between two samples, bit/s."""
        bps: float = 8 * (counted[last] - counted[first]) / (self.t[last] - self.t[first])
        return bps

    def received(self, first: int, last: int) -> float | None:
        """Return the receiver's throughput up to the last sample with its counter, bit/s; None without a counter."""
        known = next((at for at in range(last, first, -1) if self.bytes_received[at]), None)
        return None if known is None else self.throughput(self.bytes_received, first, known)


def _flow_span(flow: int, pair: int, samples: _FlowSamples, experiment: Experiment) -> FlowSpan | None:
    """Return the figures of a flow; None with fewer than two samples between the warm-up and its last byte."""
    first = bisect_left(samples.t, experiment.flows.warmup)
    end = len(samples.t)
    completion = None
    amount = experiment.flows.bytes
    if amount is not None:
        # A finished flow is idle: its mean ends at the last acknowledgment.
        done = bisect_left(samples.bytes_acked, amount + _HANDSHAKE)
        if done < end:
            completion = round(samples.t[done] - samples.t[0], 6)
        end = min(end, done + 1)
    if end - first < 2:
        return None
    last = end - 1
    losses, mark_cuts = samples.cuts(first, last)
    # The kernel reports 0 before the first measurement.
    rtts = [rtt for rtt in samples.rtt[first:end] if rtt > 0]
    result = FlowResult(
        flow=flow,
        pair=pair,
        throughput_bps=samples.throughput(samples.arrived, first, last),
        retransmits=samples.retransmits[last] - samples.retransmits[first],
        losses=losses,
        mark_cuts=mark_cuts,
        segments=samples.segs_out[last] - samples.segs_out[first],
        mean_rtt_s=sum(rtts) / len(rtts) if rtts else 0.0,
        mean_cwnd_segments=sum(samples.cwnd[first:end]) / (end - first),
        mss=samples.mss[last],
        algorithm=experiment.algorithm(flow),
        receiver_bps=samples.received(first, last),
        completion_s=completion,
    )
    return FlowSpan(result, samples.t[first], samples.t[last], end - first)


def until(samples: SampleTable, seconds: float) -> SampleTable:
    """Return the samples of the first `seconds`."""
    if samples and samples[-1].t > seconds:
        return SampleTable([row for row in samples if row.t <= seconds])
    return samples


def flow_spans(
    flows: Sequence[tuple[int, int]], samples: SampleTable, experiment: Experiment
) -> list[FlowSpan]:
    """Return the figures of every measured flow, in order, and their intervals.

    Works on columns: a long run has a million rows.

    Args:
        flows: Number and pair of each flow.
        samples: The run's samples.
        experiment: The run's experiment.
    """
    rows = rows_of_flows(samples)
    found = (
        _flow_span(flow, pair, _FlowSamples(FlowColumns(samples, rows[flow])), experiment)
        for flow, pair in flows
        if flow in rows
    )
    return [result for result in found if result is not None]


def finished(ended: Ended, samples: SampleTable, *queues: Sequence[QueueSample]) -> Finished:
    """Combine the agent's report, the measured figures and their plausibility into the end of a run.

    Args:
        ended: The agent's report.
        samples: The run's samples.
        queues: The samples of each bottleneck's queue.
    """
    seconds = round(ended.seconds, 6)
    samples = until(samples, seconds)
    doubts = PlausibilityChecks(
        ended.experiment, dict(ended.checks), list(ended.suspect), list(ended.invalid)
    )
    spans = flow_spans(ended.flows, samples, ended.experiment)
    flows = [span.result for span in spans]
    if ended.complete and ended.planned:
        doubts.check_measured(flows)
        doubts.check_duration(spans, ended.udp)
    doubts.check_delivery(flows, ended.udp)
    if ended.complete:
        doubts.check_loss_count(flows)
    doubts.check_segmentation(flows)
    for link, queue in enumerate(queues[: ended.experiment.link_count]):
        doubts.check_excess(queue, spans, ended.udp, link)
        doubts.check_rate(queue, link)
    if flows and ended.planned:
        doubts.check_window(largest_window(samples), flows[0].mss)
    doubts.check_sampling(ended.timers)
    if ended.trace_lost is not None:
        doubts.check_trace(ended.trace_lost)
    return Finished(
        tuple(flows), doubts.verdict(), seconds, ended.complete, ended.udp, ended.captured, ended.transfers
    )
