"""Each flow's figures over the measured time, from its samples; iperf3's own receiver figure beside them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from tcptutor.errors import LabError
from tcptutor.lab.sampler import Flow
from tcptutor.lab.traffic import COOKIE, Group
from tcptutor.run import CA_STATES, FlowResult, SampleTable, hystart_exits
from tcptutor.spec import Experiment

_CA_CWR = CA_STATES.index("cwr")
"""States of congestion avoidance from this one on have reduced the window and not yet recovered."""


def receiver_rates(groups: list[Group]) -> dict[int, float]:
    """iperf3's receiver throughput in bit/s by flow; only of those that were there from the start to the end."""
    rates: dict[int, float] = {}
    for group in (group for group in groups if group.start == 0):
        try:
            document = group.result()
        except LabError:
            continue
        ports = {
            stream["socket"]: stream["local_port"]
            for stream in document.get("start", {}).get("connected", [])
        }
        for stream in document.get("end", {}).get("streams", []):
            receiver = stream.get("receiver", {})
            place = ports.get(receiver.get("socket"), -1) - group.first_port
            if 0 <= place < len(group.flows):
                rates[group.flows[place]] = float(receiver["bits_per_second"])
    return rates


class _Series:
    """One flow's samples in order of time: some of their columns, without a row being made."""

    def __init__(self, samples: SampleTable, rows: list[int]) -> None:
        # With one index alone itemgetter gives no tuple.
        pick: Callable[[array[Any]], tuple[Any, ...]] = (
            itemgetter(*rows) if len(rows) > 1 else lambda column: tuple(column[row] for row in rows)
        )
        self.t, self.cwnd, self.rtt = (pick(samples.column(name)) for name in ("t", "cwnd", "rtt"))
        self.bytes_acked, self.segs_out, self.retransmits, self.mss = (
            pick(samples.column(name)) for name in ("bytes_acked", "segs_out", "retransmits", "mss")
        )
        self.ssthresh, self.ca_state, self.delivered_ce = (
            pick(samples.column(name)) for name in ("ssthresh", "ca_state", "delivered_ce")
        )

    def losses(self, start: int) -> int:
        """Loss events from sample `start` on, however many segments each retransmits.

        An event lowers ssthresh. Where it lowers it to the same value again, it begins to retransmit, or to reduce the
        window for a mark, outside of an earlier event. An exit of HyStart sets ssthresh as well, from infinity and
        without a loss. A sample shows only what is there when it is taken: two events between two samples count as one.
        """
        first = max(start, 1)
        exits = set(hystart_exits(self.ssthresh, self.ca_state, self.retransmits, self.delivered_ce))
        columns = (self.ssthresh, self.retransmits, self.ca_state)
        before = zip(*(column[first - 1 : -1] for column in columns), strict=True)
        now = zip(*(column[first:] for column in columns), strict=True)
        count = 0
        for at, ((threshold, sent, state), (threshold_now, sent_now, state_now)) in enumerate(
            zip(before, now, strict=True), start=first
        ):
            begins = state < _CA_CWR and (sent_now > sent or state_now >= _CA_CWR)
            count += begins or (threshold_now != threshold and at not in exits)
        return count


def _result(
    flow: Flow, samples: _Series, experiment: Experiment, receiver: float | None
) -> FlowResult | None:
    """The figures of one flow; None with fewer than two samples after the warm-up and before it had sent all."""
    first = bisect_left(samples.t, experiment.flows.warmup)
    end = len(samples.t)
    completion = None
    amount = experiment.flows.bytes
    if amount is not None:
        # A flow that has sent all is idle: its mean is taken up to the last acknowledgement.
        done = bisect_left(samples.bytes_acked, amount + COOKIE)
        if done < end:
            completion = round(samples.t[done] - samples.t[0], 6)
        end = min(end, done + 1)
    if end - first < 2:
        return None
    last = end - 1
    return FlowResult(
        flow=flow.number,
        pair=flow.pair,
        throughput_bps=8
        * (samples.bytes_acked[last] - samples.bytes_acked[first])
        / (samples.t[last] - samples.t[first]),
        retransmits=samples.retransmits[last] - samples.retransmits[first],
        losses=samples.losses(first),
        segments=samples.segs_out[last] - samples.segs_out[first],
        mean_rtt_s=sum(samples.rtt[first:end]) / (end - first),
        mean_cwnd_segments=sum(samples.cwnd[first:end]) / (end - first),
        mss=samples.mss[last],
        algorithm=experiment.algorithm(flow.number),
        receiver_bps=receiver,
        completion_s=completion,
    )


def flow_results(
    groups: list[Group], flows: list[Flow], samples: SampleTable, experiment: Experiment
) -> list[FlowResult]:
    """The figures of every flow that was measured, in order.

    By columns: making rows of a long run again would take an emulated guest seconds.
    """
    receivers = receiver_rates(groups) if experiment.flows.bytes is None else {}
    rows: dict[int, list[int]] = {flow.number: [] for flow in flows}
    for row, number in enumerate(samples.column("flow")):
        rows[number].append(row)
    found = (
        _result(flow, _Series(samples, rows[flow.number]), experiment, receivers.get(flow.number))
        for flow in flows
    )
    return [result for result in found if result is not None]
