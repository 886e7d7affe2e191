"""Each flow's figures over the measured time, from its samples; iperf3's own receiver figure beside them."""

from __future__ import annotations

from bisect import bisect_left

from tcptutor.errors import LabError
from tcptutor.lab.sampler import Flow, LossCounter
from tcptutor.lab.traffic import Pair
from tcptutor.run import FlowResult, Sample
from tcptutor.spec import Experiment


def receiver_rates(pairs: list[Pair]) -> dict[tuple[int, int], float]:
    """iperf3's receiver throughput in bit/s by (pair, sender's port); empty for a run that was stopped."""
    rates: dict[tuple[int, int], float] = {}
    for pair in pairs:
        try:
            document = pair.result()
        except LabError:
            continue
        ports = {
            stream["socket"]: stream["local_port"]
            for stream in document.get("start", {}).get("connected", [])
        }
        for stream in document.get("end", {}).get("streams", []):
            receiver = stream.get("receiver", {})
            if receiver.get("socket") in ports:
                rates[pair.number, ports[receiver["socket"]]] = float(receiver["bits_per_second"])
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
        receiver_bps=receiver,
    )


def flow_results(
    pairs: list[Pair], flows: list[Flow], samples: list[Sample], experiment: Experiment
) -> list[FlowResult]:
    """The figures of every flow that was measured, in order."""
    receivers = receiver_rates(pairs)
    by_flow: dict[int, list[Sample]] = {}
    for sample in samples:
        by_flow.setdefault(sample.flow, []).append(sample)
    results = []
    for flow in flows:
        mine = by_flow.get(flow.number, [])
        counter = LossCounter(experiment.flows.warmup)
        for sample in mine:
            counter.add(sample)
        receiver = receivers.get((flow.pair, flow.address.source_port))
        result = flow_result(flow, mine, counter.events, experiment, receiver)
        if result is not None:
            results.append(result)
    return results
