"""Expectations and records of varying traffic, without a lab."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor import spec
from tcptutor.analysis import expect, report
from tcptutor.analysis.expected.stretches import stretch_cases
from tcptutor.analysis.observed.delays import transfer_times
from tcptutor.analysis.observed.measured import measure
from tcptutor.run import Environment, Run, SampleTable, TransferRecord, TransferTable
from tcptutor.spec.short_flows import arrivals

from . import synthetic

RATIO = 1448 / 1514


def build(**parameters: str) -> spec.Experiment:
    return spec.build(
        "m/e", {"parameters": {"delay": "20 ms", "duration": "8 s", "warmup": "2 s", **parameters}}
    )


def test_a_traced_link_is_expected_at_its_mean_and_the_note_says_so() -> None:
    found = expect(build(rate_trace="0 s 9 Mbit/s; 4 s 3 Mbit/s; 8 s 6 Mbit/s"))
    assert found.binding.throughput_bps == pytest.approx((2 * 9e6 + 4 * 3e6 + 2 * 6e6) / 8 * RATIO)
    assert "3 steps, 3 Mbit/s to 9 Mbit/s" in found.note
    assert found.binding.tolerance_from["trace"] > 0.1


def test_short_flows_leave_the_rest_of_the_link() -> None:
    asked = build(rate="10 Mbit/s", short_load="30 %")
    payload = 8 * sum(each.bytes for each in arrivals(asked)) / asked.seconds
    found = expect(asked)
    assert found.binding.throughput_bps == pytest.approx(10e6 * RATIO - payload)
    assert "short flows take" in found.note


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"requests": "20 kB"}, "one request after the other"),
        ({"on_times": "1 s"}, "pauses again and again"),
        ({"messages": "20 kB"}, "sends messages"),
    ],
)
def test_an_application_that_pauses_has_no_model(parameters: dict[str, str], said: str) -> None:
    found = expect(build(rate="10 Mbit/s", **parameters))
    assert said in found.note
    assert found.binding.tolerance >= 1


def test_stretches_have_the_hosts_of_their_time() -> None:
    cases = stretch_cases(build(rate="10 Mbit/s", changes="4 s mtu=900; 6 s algorithm=bbr"), mss=848)
    assert [(case.mss, case.algorithm) for case in cases] == [(1448, "cubic"), (848, "cubic"), (848, "bbr")]
    assert (
        "the hosts change while it runs" in expect(build(rate="10 Mbit/s", changes="4 s algorithm=reno")).note
    )


def test_transfers_that_began_in_the_warm_up_do_not_count() -> None:
    records = ((1.0, 0.5), (3.0, 0.25), (9.9, None))
    run = Run(
        id="r1",
        experiment=build(rate="10 Mbit/s", short_arrivals="1"),
        environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
        started="2026-01-01T00:00:00+00:00",
        transfers=TransferTable(TransferRecord(t, 0, 30_000, seconds) for t, seconds in records),
    )
    run.experiment_s = 12.0
    assert transfer_times(measure(run)) == [(0.25, True), (pytest.approx(2.1), False)]


def test_a_window_is_expected_only_of_flows_that_have_the_link_for_themselves_and_write_all_the_time() -> (
    None
):
    assert expect(build(rate="10 Mbit/s", delay="20 ms")).cwnd_segments
    for parameters in ({"short_arrivals": "5"}, {"on_times": "1 s"}, {"changes": "6 s streams=3"}):
        found = expect(build(rate="10 Mbit/s", delay="20 ms", **parameters))
        assert (found.cwnd_segments, found.trajectory) == (None, ())


def test_each_stretch_has_the_flows_that_are_open_in_it() -> None:
    made = build(rate="10 Mbit/s", delay="20 ms", streams="2", changes="4 s streams=4; 8 s streams=1")
    cases = stretch_cases(made)
    assert [(case.flow_count, case.seconds) for case in cases] == [(2, 2), (4, 4), (1, 2)]
    assert [[flow.number for flow in case.flows] for case in cases] == [[0, 1], [0, 1, 2, 3], [0]]
    found = expect(made)
    assert "the number of flows changes" in found.note
    assert found.binding.throughput_bps == pytest.approx(10e6 * 1448 / 1514, rel=0.01)


def test_of_lossy_flows_the_models_add_up_what_each_number_of_flows_gets() -> None:
    path = {"rate": "100 Mbit/s", "delay": "50 ms", "loss": "1 %", "algorithm": "reno"}
    one, three = (expect(build(streams=str(n), **path)).binding.throughput_bps for n in (1, 3))
    found = expect(build(changes="6 s streams=3", **path))
    assert found.binding.throughput_bps == pytest.approx((one + three) / 2, rel=0.01)
    assert found.binding.label == "1 to 3 × Reno"
    assert "link" in {each.label for each in found.predictions}


def test_flows_are_compared_only_while_the_same_flows_send() -> None:
    """Three equal flows from 4 to 8 s, and the second a little longer; the first at a higher rate otherwise."""
    made = synthetic.experiment(duration="10 s", warmup="2 s", changes="4 s streams=3; 8 s streams=1")

    def bits(t: float) -> float:
        return 9e6 * t - 6e6 * min(max(t - 4, 0), 4)

    rows = synthetic.samples(0, bits, 12, {})
    for flow in (1, 2):
        rows += [
            msgspec.structs.replace(row, t=row.t + 4)
            for row in synthetic.samples(flow, 3e6, 4.5 if flow == 1 else 4, {})
        ]
    run = synthetic.empty(made, complete=True)
    run.samples, run.experiment_s = SampleTable(sorted(rows, key=lambda row: row.t)), 12.0
    found = report(run)
    assert found.shared_s == (4, 8)
    assert found.jain_index == pytest.approx(1, abs=1e-3)
    assert found.cov_between == pytest.approx(0, abs=0.01)
    assert [flow.share for flow in found.flows] == pytest.approx(
        [66 / 91.5, 13.5 / 91.5, 12 / 91.5], rel=0.01
    )
    assert [flow.span_s for flow in found.flows] == [(2, 12), (4, 8.5), (4, 8)]
    assert found.throughput_bps == pytest.approx(9.15e6, rel=0.01)


def test_flows_that_are_cut_off_while_they_share_the_link_have_a_report() -> None:
    changes = "4 s link=down; 4 s streams=2; 10 s streams=1; 10.5 s link=up"
    made = synthetic.experiment(duration="10 s", warmup="2 s", changes=changes)
    rows = synthetic.samples(0, lambda t: 5e6 * min(t, 4), 12, {})
    rows += [msgspec.structs.replace(row, t=row.t + 4) for row in synthetic.samples(1, 0.0, 6, {})]
    run = synthetic.empty(made, complete=True)
    run.samples, run.experiment_s = SampleTable(sorted(rows, key=lambda row: row.t)), 12.0
    found = report(run)
    assert (found.shared_s, found.jain_index, found.cov_between) == ((4, 10), 1, None)


def test_a_closed_flow_that_still_sends_is_not_compared_with_those_that_stay() -> None:
    made = synthetic.experiment(streams="3", duration="10 s", warmup="2 s", changes="4 s streams=2")
    rates, ends = (4e6, 4e6, 1e6), (12, 12, 6)
    rows = [row for flow in range(3) for row in synthetic.samples(flow, rates[flow], ends[flow], {})]
    run = synthetic.empty(made, complete=True)
    run.samples, run.experiment_s = SampleTable(sorted(rows, key=lambda row: row.t)), 12.0
    found = report(run)
    assert (found.shared_s, found.jain_index) == ((4, 12), pytest.approx(1))
