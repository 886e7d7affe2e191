"""Each flow's figures over the measured time, from its samples; iperf3's own receiver figure beside them."""

from __future__ import annotations

from bisect import bisect_left

from tcptutor.errors import LabError
from tcptutor.lab.sampler import Flow, LossCounter
from tcptutor.lab.traffic import COOKIE, Group
from tcptutor.run import FlowResult, Sample, SampleTable
from tcptutor.spec import Experiment


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


def flow_result(
    flow: Flow, samples: list[Sample], losses: int, experiment: Experiment, receiver: float | None
) -> FlowResult | None:
    """The figures of one flow from its samples in order of time; None with fewer than two after the warm-up."""
    start = bisect_left(samples, experiment.flows.warmup, key=lambda sample: sample.t)
    window = samples[start:]
    if len(window) < 2:
        return None
    first, last = window[0], window[-1]
    amount = experiment.flows.bytes
    if amount is not None:
        # A flow that has sent all is idle: its mean is taken up to the last acknowledgement.
        end = bisect_left(window, amount + COOKIE, key=lambda sample: sample.bytes_acked)
        window = window[: max(2, end + 1)]
        last = window[-1]
    return FlowResult(
        flow=flow.number,
        pair=flow.pair,
        throughput_bps=8 * (last.bytes_acked - first.bytes_acked) / (last.t - first.t),
        retransmits=last.retransmits - first.retransmits,
        losses=losses,
        segments=last.segs_out - first.segs_out,
        mean_rtt_s=sum(sample.rtt for sample in window) / len(window),
        mean_cwnd_segments=sum(sample.cwnd for sample in window) / len(window),
        mss=last.mss,
        algorithm=experiment.algorithm(flow.number),
        receiver_bps=receiver,
        completion_s=_completion(samples, amount),
    )


def _completion(samples: list[Sample], amount: int | None) -> float | None:
    """Seconds from the flow's first sample to the one that sees all bytes acknowledged."""
    if amount is None:
        return None
    end = next((sample for sample in samples if sample.bytes_acked >= amount + COOKIE), None)
    return round(end.t - samples[0].t, 6) if end is not None else None


def flow_results(
    groups: list[Group], flows: list[Flow], samples: SampleTable, experiment: Experiment
) -> list[FlowResult]:
    """The figures of every flow that was measured, in order."""
    receivers = receiver_rates(groups) if experiment.flows.bytes is None else {}
    by_flow: dict[int, list[Sample]] = {}
    for sample in samples:
        by_flow.setdefault(sample.flow, []).append(sample)
    results = []
    for flow in flows:
        mine = by_flow.get(flow.number, [])
        counter = LossCounter(experiment.flows.warmup)
        for sample in mine:
            counter.add(sample)
        result = flow_result(flow, mine, counter.events, experiment, receivers.get(flow.number))
        if result is not None:
            results.append(result)
    return results
