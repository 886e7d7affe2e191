"""Each flow's figures are those that its samples give one by one, to the last bit."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tcptutor.run import FlowResult, Run, Sample, arrived_bytes, cuts_at, load
from tcptutor.run.results import flow_spans
from tests.each import each

RUNS = sorted((Path(__file__).parents[1] / "analysis" / "runs").glob("*.tcprun"))
SYN = 1
ARRIVED = ("bytes_acked", "delivered", "mss", "ca_state")


def _flows(run: Run) -> list[tuple[int, int]]:
    return [(number, 0) for number in range(run.experiment.total_streams)]


def _by_hand(number: int, run: Run) -> FlowResult | None:
    experiment, amount = run.experiment, run.experiment.flows.bytes
    mine: list[Sample] = [sample for sample in run.samples if sample.flow == number]
    measured = [sample for sample in mine if sample.t >= experiment.flows.warmup]
    completion = None
    if amount is not None:
        sent = [sample for sample in mine if sample.bytes_acked >= amount + SYN]
        completion = round(sent[0].t - mine[0].t, 6) if sent else None
        before = sum(sample.bytes_acked < amount + SYN for sample in mine)
        measured = [sample for sample in mine[: before + 1] if sample.t >= experiment.flows.warmup]
    if len(measured) < 2:
        return None
    first, last = measured[0], measured[-1]
    names = ("ca_state", "ssthresh", "retransmits", "delivered_ce", "total_rto", "bytes_acked")
    losses, marks = cuts_at(*([getattr(sample, name) for sample in mine] for name in names))
    told = [sample for sample in measured[1:] if sample.bytes_received]
    received = told[-1].bytes_received - first.bytes_received if told else 0
    arrived = arrived_bytes(*([getattr(sample, name) for sample in mine] for name in ARRIVED))
    rtts = [sample.rtt for sample in measured if sample.rtt > 0]
    at, until = mine.index(first), mine.index(last)
    return FlowResult(
        flow=number,
        pair=0,
        throughput_bps=8 * (arrived[until] - arrived[at]) / (last.t - first.t),
        retransmits=last.retransmits - first.retransmits,
        losses=sum(first.t < mine[at].t <= last.t for at in losses),
        mark_cuts=sum(first.t < mine[at].t <= last.t for at in marks),
        segments=last.segs_out - first.segs_out,
        mean_rtt_s=sum(rtts) / len(rtts) if rtts else 0.0,
        mean_cwnd_segments=sum(sample.cwnd for sample in measured) / len(measured),
        mss=last.mss,
        algorithm=experiment.algorithm(number),
        receiver_bps=8 * received / (told[-1].t - first.t) if told else None,
        completion_s=completion,
    )


@each("path", RUNS, ids=[path.stem for path in RUNS])
@each("amount", [None, 1000, 200_000, 10**9])
@each("warmup", [0.0, 1.0, 1e3])
def test_the_figures_of_a_recorded_run(path: Path, amount: int | None, warmup: float) -> None:
    run = load(path)
    run.experiment = replace(run.experiment, flows=replace(run.experiment.flows, bytes=amount, warmup=warmup))
    flows = _flows(run)
    expected = [_by_hand(flow, run) for flow, _ in flows]
    found = flow_spans(flows, run.samples, run.experiment)
    assert [span.result for span in found] == [one for one in expected if one]


def test_a_flow_without_samples_has_no_figures() -> None:
    run = load(next(path for path in RUNS if path.stem == "four-lossy-streams"))
    run.samples = type(run.samples)(sample for sample in run.samples if sample.flow != 2 or sample.t == 0)
    assert [one.result.flow for one in flow_spans(_flows(run), run.samples, run.experiment)] == [0, 1, 3]
