"""Physical limits of a run's samples: consistency with each other, with the flows' figures and with the settings.

The kernel, the lab or arithmetic enforces each rule, so no honest run breaks any (`python -m tests.validation honest`
counts); forged samples have to satisfy all rules at once. Rules that a busy machine may break hold for valid runs only:
the lab itself doubts the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import ge, gt, sub
from statistics import median

from tcptutor.run import CA_STATES, FlowResult, Run, SampleTable, capacity
from tcptutor.run.capacity import FlowSpan
from tcptutor.run.flow_columns import FlowColumns, rows_of_flows
from tcptutor.run.results import flow_spans, until

_COUNTERS = (
    "bytes_acked", "segs_out", "retransmits", "busy", "rwnd_limited", "sndbuf_limited", "bytes_retrans",
    "delivered", "delivered_ce", "total_rto", "bytes_received",
)  # fmt: skip
"""Columns that never decrease."""
_ROUNDING = 1e-6
"""Relative difference of figures computed twice from the same samples."""
_EXTRA_SEGMENTS = 4
"""Segments that TCP may have in flight beyond cwnd: two by limited transmit, a probe, a partial segment."""
_MOST_DOUBLINGS = 20
_CHANCE_SPREADS = 6
"""Standard deviations beyond which a difference is not chance."""
_OPEN, _RECOVERY = CA_STATES.index("open"), CA_STATES.index("recovery")
_TIMESTAMP = 1e-3
"""Unit of TCP's timestamps, s: the RTT of a retransmitted segment is measured with them, and rounded down to it."""
_MOST_SYNS = 7
"""SYNs of a connection (tcp_syn_retries): they count as retransmissions and not as data segments."""
_FIRST_RETRANSMISSION = 1.0
"""Longest time from the start of a recovery to its first retransmission, s: a paced sender waits for its turn."""
SAMPLING_INTERVAL = 0.01
"""Sampling interval of a flow in the lab, seconds."""
_MOST_INTERVALS = 2.0
"""Largest median interval of a valid run, as a multiple of SAMPLING_INTERVAL: a tenth of the samples may be missing."""
_QUEUES = ("", "second ")
"""Prefixes of queue names, in the order of the links."""
_FEWEST_INTERVALS = 3
"""Fewest intervals for a median; a short transfer has fewer."""
_MOST_LATE = 1.0
"""Seconds by which the last sample may follow the end of the traffic."""
_EARLY = 0.5
"""Seconds by which the flows of a valid run may end early."""


def impossibilities(run: Run) -> Iterator[str]:
    """Yield a sentence for each impossible property of a complete run; an honest run has none."""
    flows = _flows(run)
    if stands := next(_for_each_flow(flows, _frozen_clock), ""):
        yield stands
        return
    spans = _spans(run) if flows else []
    if flows:
        yield from _check_results(run, spans)
        yield from _for_each_flow(flows, _check_counters)
        yield from _check_windows(run, flows)
        yield from _check_round_trips(run, flows)
        yield from _check_losses(run, flows)
        yield from _for_each_flow(flows, _check_recovery)
    if run.fidelity.status == "valid":
        yield from _check_intervals(run, flows)
        yield from _check_path(run, spans)
        yield from _check_times(run)


def _frozen_clock(flow: _Flow) -> str:
    """Return a problem if two samples have the same time, since no rate can be computed then."""
    times = flow.column("t")
    if not any(map(ge, times, times[1:])):
        return ""
    at = next(before for before, after in pairwise(times) if after <= before)
    return f"two of its samples have the same time, {at:.4g} s"


def _spans(run: Run) -> list[FlowSpan]:
    samples = until(run.samples, run.experiment_s)
    flows = [(number, run.experiment.pair_of(number)) for number in sorted(set(samples.column("flow")))]
    return flow_spans(flows, samples, run.experiment)


def _check_results(run: Run, spans: Sequence[FlowSpan]) -> Iterator[str]:
    computed = {span.result.flow: span.result for span in spans}
    if {flow.flow for flow in run.flows} != set(computed):
        yield "the flows that have figures are not those that have samples"
        return
    for flow in run.flows:
        wrong = _first_difference(flow, computed[flow.flow])
        if wrong:
            yield f"flow {flow.flow + 1}: its {wrong} is not what its samples give"


def _first_difference(reported: FlowResult, computed: FlowResult) -> str:
    """Return the name of the first differing figure."""
    for name in (
        "throughput_bps",
        "retransmits",
        "losses",
        "segments",
        "mean_rtt_s",
        "mean_cwnd_segments",
        "mss",
    ):
        one, other = getattr(reported, name), getattr(computed, name)
        if one is None or not math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            return name.removesuffix("_bps").removesuffix("_s").replace("_", " ")
    return ""


class _Flow(FlowColumns):
    """The samples of a flow."""

    def __init__(self, samples: SampleTable, number: int, rows: Sequence[int]) -> None:
        super().__init__(samples, rows)
        self.number = number


def _flows(run: Run) -> list[_Flow]:
    rows = sorted(rows_of_flows(run.samples).items())
    return [_Flow(run.samples, number, indexes) for number, indexes in rows]


def _for_each_flow(flows: Sequence[_Flow], rule: Callable[[_Flow], str]) -> Iterator[str]:
    return (f"flow {flow.number + 1}: {problem}" for flow in flows if (problem := rule(flow)))


def _check_counters(flow: _Flow) -> str:
    for name in _COUNTERS:
        column = flow.column(name)
        if column == sorted(column):
            continue
        # A kernel that does not report the counter has 0, also between two reported values.
        reported = [value for value in column if value]
        if reported != sorted(reported):
            return f"its {name.replace('_', ' ')} decrease"
    return ""


def _growth_between_samples(flow: _Flow) -> float:
    """Return the factor by which cwnd may grow between two samples: slow start doubles it per RTT.

    A loss may cut the window before the next sample shows the growth.
    """
    times = flow.column("t")
    longest = max(map(sub, times[1:], times), default=0.0)
    rtt = _smallest_rtt(flow, 0.0)
    return 2.0 ** min(_MOST_DOUBLINGS, math.ceil(longest / rtt)) if rtt else 2.0**_MOST_DOUBLINGS


def _smallest_rtt(flow: _Flow, none: float) -> float:
    return min(filter(None, flow.column("min_rtt")), default=none)  # 0 before the first measurement


def _in_flight(flow: _Flow) -> list[int]:
    """Return the fewest segments that may be in flight at each sample, as the kernel counts them.

    The window limits tcp_packets_in_flight, which excludes lost and SACKed segments. `unacked` includes both. Only the
    state open rules them out; in other states `delivered` counts the SACKed segments.
    """
    names = ("ca_state", "unacked", "segs_out", "retransmits", "delivered", "lost")
    return [
        unacked if state == _OPEN else min(unacked, sent - retransmitted - delivered - lost)
        for state, unacked, sent, retransmitted, delivered, lost in zip(*map(flow.column, names), strict=True)
    ]


def _check_windows(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    def rule(flow: _Flow) -> str:
        cwnd, unacked, mss, window = (flow.column(name) for name in ("cwnd", "unacked", "mss", "snd_wnd"))
        sent, acked = flow.column("segs_out"), flow.column("bytes_acked")
        growth = _growth_between_samples(flow)
        if any(map(gt, unacked, [growth * have + _EXTRA_SEGMENTS for have in cwnd])):
            for have, largest in zip(_in_flight(flow), accumulate(cwnd, max), strict=True):
                if have > growth * largest + _EXTRA_SEGMENTS:
                    return f"{have} segments are in flight, with a congestion window of {largest} at most"
        if all(window) and not run.experiment.hosts.mss and not _has_small_writes(run):
            most = max(window)
            has_backlog = (max(unacked) - _EXTRA_SEGMENTS) * max(mss) > 2 * most
            for have, size in zip(unacked, mss, strict=True) if has_backlog else ():
                # Small segments count as full ones: check only a large backlog.
                if (have - _EXTRA_SEGMENTS) * size > 2 * most:
                    return f"{have} segments are in flight, with a receive window of {most} bytes"
        full = max(mss)
        carried = [(segments + _EXTRA_SEGMENTS) * full for segments in sent]
        if any(map(gt, acked, carried)):
            at = next(at for at, most in enumerate(carried) if acked[at] > most)
            return f"{acked[at]} bytes were acknowledged of {sent[at]} segments"
        return ""

    return _for_each_flow(flows, rule)


def _has_small_writes(run: Run) -> bool:
    """Return whether segments may be far from full, as writes without Nagle's algorithm leave them."""
    flows, write = run.experiment.flows, run.experiment.write
    has_pauses = any((flows.messages, flows.on_times, flows.requests))
    return has_pauses or flows.nodelay or (write is not None and write < run.experiment.segment)


def _check_round_trips(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    experiment = run.experiment
    path = experiment.path
    if path.jitter or path.reorder or any(change.name in ("delay", "jitter") for change in path.changes):
        return iter(())

    def rule(flow: _Flow) -> str:
        least = experiment.delay(flow.number)
        smallest = _smallest_rtt(flow, math.inf)
        rounding = _TIMESTAMP if flow.column("retransmits")[-1] else 0.0
        if smallest < least * (1 - 0.01) - 1e-4 - rounding:
            return f"its smallest RTT is {smallest * 1e3:.4g} ms on a path of {least * 1e3:.4g} ms"
        return ""

    return _for_each_flow(flows, rule)


def _check_losses(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    """Check that the flows retransmitted at least as many segments as the path drops."""
    path = run.experiment.path
    if path.changes or path.loss_correlation or path.loss <= 0 or run.experiment.flows.udp_streams:
        return
    # A retransmission may hold several small segments.
    if _has_small_writes(run):
        return
    experiment = run.experiment
    forward = [
        flow for flow in flows if not experiment.reversed(flow.number) and experiment.crosses(flow.number, 0)
    ]
    sent = sum(flow.column("segs_out")[-1] for flow in forward)
    retransmitted = sum(flow.column("retransmits")[-1] for flow in forward)
    # With offloads one draw drops up to 45 segments at once.
    segments_per_draw = 45 if run.experiment.hosts.offloads else 1
    expected = path.loss * sent
    spread = math.sqrt(expected * (1 - path.loss) * max(1.0, 2 * path.loss_burst - 1) * segments_per_draw)
    unsettled = sum(flow.column("unacked")[-1] for flow in forward)
    if retransmitted + unsettled < expected - _CHANCE_SPREADS * spread - 5:
        yield f"{retransmitted} of {sent} segments were retransmitted, on a path that drops {path.loss:.3g} of them"
    if retransmitted > sent + _MOST_SYNS * len(forward):
        yield f"{retransmitted} segments were retransmitted, of {sent}"


def _check_recovery(flow: _Flow) -> str:
    times = flow.column("t")
    known = times[-1] - _FIRST_RETRANSMISSION
    if flow.column("retransmits")[-1]:
        return ""
    if any(state >= _RECOVERY and t < known for t, state in zip(times, flow.column("ca_state"), strict=True)):
        return "its sender was in recovery, but retransmitted nothing"
    return ""


def _check_intervals(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    """Check that the run has nearly all of its samples: a recording lacks many."""
    sampled: dict[str, Sequence[float]] = {f"flow {flow.number + 1}": flow.column("t") for flow in flows}
    sampled |= {
        f"the {name}queue": queue.column("t") for name, queue in zip(_QUEUES, run.queues, strict=False)
    }
    for name, times in sampled.items():
        gaps = list(map(sub, times[1:], times))
        if (
            len(gaps) >= _FEWEST_INTERVALS
            and (interval := median(gaps)) > _MOST_INTERVALS * SAMPLING_INTERVAL
        ):
            lab = f"the lab takes one in {SAMPLING_INTERVAL * 1e3:g}"
            yield f"{name}: its samples are {interval * 1e3:.3g} ms apart, and {lab}"


def _check_path(run: Run, spans: Sequence[FlowSpan]) -> Iterator[str]:
    for link, queue in enumerate(run.queues):
        too_much = capacity.queue_excess(run.experiment, queue, link)
        if not too_much and spans:
            too_much = capacity.flow_excess(run.experiment, spans, run.udp, link)
        if too_much:
            yield too_much


def _check_times(run: Run) -> Iterator[str]:
    experiment = run.experiment
    missing = experiment.seconds - run.experiment_s
    if experiment.flows.bytes is None and missing > max(_EARLY, 0.01 * experiment.seconds):
        yield f"it took {run.experiment_s:.4g} s of {experiment.seconds:g}, but is marked complete"
    last = run.sampled_until
    if last > run.experiment_s + _MOST_LATE:
        yield f"its last sample is of {last:.4g} s, after its end at {run.experiment_s:.4g} s"
    if run.environment.clock == "real" and run.wall_s < run.experiment_s * (1 - 0.01):
        yield f"it took {run.wall_s:.4g} s for {run.experiment_s:.4g} s on the real clock"
    for name, queue in zip(_QUEUES, run.queues, strict=False):
        times = queue.column("t")
        if any(map(gt, times, times[1:])):
            yield f"the times of its {name}queue decrease"
