"""Expectations and records of varying traffic, without a lab."""

from __future__ import annotations

import pytest

from tcptutor import spec
from tcptutor.analysis import expect
from tcptutor.analysis.expected.stretches import stretch_cases
from tcptutor.analysis.observed.delays import transfer_times
from tcptutor.analysis.observed.measured import measure
from tcptutor.run import Environment, Run, TransferRecord, TransferTable
from tcptutor.spec.short_flows import arrivals

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
