"""What a run's samples cannot be, whatever the network did: they agree with each other, with the flows' figures and
with the settings.

Each rule is one that the kernel, the lab or arithmetic holds, so no honest run breaks any; who makes samples up has to
keep them all at once.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import gt
from statistics import median
from typing import Any

from tcptutor.run import CA_STATES, FlowResult, Run, SampleTable, capacity
from tcptutor.run.capacity import FlowSpan
from tcptutor.run.results import flow_spans, until

_COUNTERS = (
    "bytes_acked", "segs_out", "retransmits", "busy", "rwnd_limited", "sndbuf_limited", "bytes_retrans",
    "delivered", "delivered_ce", "total_rto", "bytes_received",
)  # fmt: skip
"""Columns that never go down."""
_ROUNDING = 1e-6
"""Relative: figures are worked out twice from the same samples."""
_EXTRA_SEGMENTS = 4
"""That TCP may have on their way beyond its window: two by limited transmit, a probe, one that was cut."""
_MOST_DOUBLINGS = 20
_CHANCE_SPREADS = 6
"""Standard deviations beyond which it was not chance."""
_RECOVERY = CA_STATES.index("recovery")
SAMPLES_APART = 0.01
"""Seconds between two samples of a flow as the lab takes them, whatever is asked for."""
_MOST_APART = 2.0
"""Times that, in the middle of all gaps of a run that the lab stands for: it lets a tenth of them be missing."""
_LATE = 1.0
"""Seconds by which the last sample may come after the traffic's end."""


def impossibilities(run: Run) -> Iterator[str]:
    """A sentence for each thing in a whole `run` that cannot be; none for an honest one."""
    flows = _flows(run)
    if stands := next(_each(flows, _stands_still), ""):
        yield stands
        return
    spans = _spans(run) if flows else []
    if flows:
        yield from _results(run, spans)
        yield from _each(flows, _counter)
        yield from _windows(run, flows)
        yield from _round_trips(run, flows)
        yield from _losses(run, flows)
        yield from _each(flows, _recovery)
    yield from _spacing(run, flows)
    yield from _path(run, spans)
    yield from _times(run)


def _stands_still(flow: _Flow) -> str:
    """Nothing can be worked out where no time passes."""
    times = flow.column("t")
    at = next((before for before, after in pairwise(times) if after <= before), None)
    return "" if at is None else f"two of its samples are of one time, {at:.4g} s"


def _spans(run: Run) -> list[FlowSpan]:
    """The flows' figures, worked out again from the samples."""
    samples = until(run.samples, run.experiment_s)
    streams = max(1, run.experiment.flows.streams)
    flows = [(number, number // streams) for number in sorted(set(samples.column("flow")))]
    return flow_spans(flows, samples, run.experiment)


def _results(run: Run, spans: Sequence[FlowSpan]) -> Iterator[str]:
    again = {span.result.flow: span.result for span in spans}
    if {flow.flow for flow in run.flows} != set(again):
        yield "the flows that have figures are not those that have samples"
        return
    for flow in run.flows:
        wrong = _different(flow, again[flow.flow])
        if wrong:
            yield f"flow {flow.flow + 1}: its {wrong} is not what its samples give"


def _different(told: FlowResult, worked_out: FlowResult) -> str:
    """The first figure that is not the same."""
    for name in (
        "throughput_bps",
        "retransmits",
        "losses",
        "segments",
        "mean_rtt_s",
        "mean_cwnd_segments",
        "mss",
    ):
        one, other = getattr(told, name), getattr(worked_out, name)
        if one is None or not math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            return name.removesuffix("_bps").removesuffix("_s").replace("_", " ")
    return ""


class _Flow:
    """The samples of one flow."""

    def __init__(self, samples: SampleTable, number: int, rows: list[int]) -> None:
        """rows: those of the flow, in order."""
        self.number = number
        self._samples, self._rows = samples, rows
        self._columns: dict[str, Sequence[Any]] = {}
        # Flows are sampled in turns: as a rule its rows are so many apart, and a slice is quick.
        apart = rows[1] - rows[0] if len(rows) > 1 else 1
        regular = range(rows[0], rows[-1] + 1, apart)
        self._slice = slice(regular.start, regular.stop, apart) if rows == [*regular] else None

    def column(self, name: str) -> Sequence[Any]:
        found = self._columns.get(name)
        if found is None:
            whole: array[Any] = self._samples.column(name)
            found = [whole[row] for row in self._rows] if self._slice is None else whole[self._slice]
            self._columns[name] = found
        return found


def _flows(run: Run) -> list[_Flow]:
    rows: dict[int, list[int]] = {}
    for row, number in enumerate(run.samples.column("flow")):
        rows.setdefault(number, []).append(row)
    return [_Flow(run.samples, number, rows[number]) for number in sorted(rows)]


def _each(flows: Sequence[_Flow], rule: Callable[[_Flow], str]) -> Iterator[str]:
    """What `rule` says of each flow."""
    return (f"flow {flow.number + 1}: {said}" for flow in flows if (said := rule(flow)))


def _counter(flow: _Flow) -> str:
    """None of the kernel's counters goes down."""
    for name in _COUNTERS:
        column = flow.column(name)
        if not any(map(gt, column, column[1:])):
            continue
        # A kernel that does not tell has 0, also between two that it tells.
        told = [value for value in column if value]
        if any(map(gt, told, told[1:])):
            return f"its {name.replace('_', ' ')} go down"
    return ""


def _growth_between_samples(flow: _Flow) -> float:
    """How many times as large a window may become between two samples, before a loss that the next one has cut it for:
    slow start doubles it in a round trip.
    """
    times = flow.column("t")
    longest = max((after - before for before, after in pairwise(times)), default=0.0)
    rtt = min((rtt for rtt in flow.column("min_rtt") if rtt > 0), default=0.0)
    return 2.0 ** min(_MOST_DOUBLINGS, math.ceil(longest / rtt)) if rtt else 2.0**_MOST_DOUBLINGS


def _windows(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    def rule(flow: _Flow) -> str:
        cwnd, unacked, mss, window = (flow.column(name) for name in ("cwnd", "unacked", "mss", "snd_wnd"))
        sent, acked = flow.column("segs_out"), flow.column("bytes_acked")
        growth = _growth_between_samples(flow)
        for have, largest in zip(unacked, accumulate(cwnd, max), strict=True):
            if have > growth * largest + _EXTRA_SEGMENTS:
                return f"{have} segments are on their way, with a congestion window of {largest} at most"
        if all(window) and not run.experiment.hosts.mss:
            most = max(window)
            for have, size in zip(unacked, mss, strict=True):
                # Small segments are counted as whole ones: only a backlog of many is looked at.
                if (have - _EXTRA_SEGMENTS) * size > 2 * most:
                    return f"{have} segments are on their way, with a receiver's window of {most} bytes"
        full = max(mss)
        for out, back in zip(sent, acked, strict=True):
            if back > (out + _EXTRA_SEGMENTS) * full:
                return f"{back} bytes were acknowledged of {out} segments"
        return ""

    return _each(flows, rule)


def _round_trips(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    experiment = run.experiment
    path = experiment.path
    if path.jitter or path.reorder or any(change.name in ("delay", "jitter") for change in path.changes):
        return iter(())

    def rule(flow: _Flow) -> str:
        least = experiment.delay(flow.number)
        smallest = min((rtt for rtt in flow.column("min_rtt") if rtt > 0), default=math.inf)
        if smallest < least * (1 - 0.01) - 1e-4:
            return f"its smallest RTT is {smallest * 1e3:.4g} ms on a path of {least * 1e3:.4g} ms"
        return ""

    return _each(flows, rule)


def _losses(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    """Were as many segments lost as the path drops? What is lost is sent again, so at least so many were."""
    path = run.experiment.path
    if path.changes or path.loss_correlation or path.loss <= 0 or run.experiment.flows.udp_streams:
        return
    forward = [flow for flow in flows if not run.experiment.reversed(flow.number)]
    sent = sum(flow.column("segs_out")[-1] for flow in forward)
    again = sum(flow.column("retransmits")[-1] for flow in forward)
    # With offloads one draw is for many segments at once.
    together = 45 if run.experiment.hosts.offloads else 1
    expected = path.loss * sent
    spread = math.sqrt(expected * (1 - path.loss) * max(1.0, 2 * path.loss_burst - 1) * together)
    unsettled = sum(flow.column("unacked")[-1] for flow in forward)
    if again + unsettled < expected - _CHANCE_SPREADS * spread - 5:
        yield f"{again} of {sent} segments were sent again, on a path that drops {path.loss:.3g} of them"
    if again > sent:
        yield f"{again} segments were sent again, of {sent}"


def _recovery(flow: _Flow) -> str:
    """Who recovers sends something again."""
    if max(flow.column("ca_state")) >= _RECOVERY and not flow.column("retransmits")[-1]:
        return "its sender was in recovery, and sent nothing again"
    return ""


def _spacing(run: Run, flows: Sequence[_Flow]) -> Iterator[str]:
    """A valid run has all of its samples, or nearly all; where some were left out, it is a recording."""
    if run.fidelity.status != "valid":
        return
    sampled = {f"flow {flow.number + 1}": flow.column("t") for flow in flows}
    sampled["the queue"] = run.queue.column("t")
    for name, times in sampled.items():
        gaps = [after - before for before, after in pairwise(times)]
        if gaps and (apart := median(gaps)) > _MOST_APART * SAMPLES_APART:
            lab = f"the lab takes one in {SAMPLES_APART * 1e3:g}"
            yield f"{name}: its samples are {apart * 1e3:.3g} ms apart, and {lab}"


def _path(run: Run, spans: Sequence[FlowSpan]) -> Iterator[str]:
    too_much = capacity.queue_excess(run.experiment, run.queue)
    if not too_much and spans:
        too_much = capacity.flow_excess(run.experiment, spans, run.udp)
    if too_much:
        yield too_much


def _times(run: Run) -> Iterator[str]:
    experiment = run.experiment
    last = run.sampled_until
    if experiment.flows.bytes is None and run.experiment_s < experiment.seconds * (1 - 0.01):
        yield f"it took {run.experiment_s:.4g} s of {experiment.seconds:g}, and is whole"
    if last > run.experiment_s + _LATE:
        yield f"its last sample is of {last:.4g} s, after its end at {run.experiment_s:.4g} s"
    if run.environment.clock == "real" and run.wall_s < run.experiment_s * (1 - 0.01):
        yield f"it took {run.wall_s:.4g} s for {run.experiment_s:.4g} s on the real clock"
    times = run.queue.column("t")
    if any(after < before for before, after in pairwise(times)):
        yield "the times of its queue go back"
