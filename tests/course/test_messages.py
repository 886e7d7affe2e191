"""Time that messages take, from samples made by hand."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course.measurements import MEASURED, MeasuredRun, RunPart
from tcptutor.run import Environment, Run, Sample
from tcptutor.run.tables import SampleTable
from tcptutor.spec import Experiment, Flows

ZEROS = dict.fromkeys(Sample.__struct_fields__, 0) | {"app_limited": False}


def run_of(rows: list[tuple[float, int, int]], *messages: int | None) -> Run:
    """A run of these times, acknowledged bytes and segments in flight."""
    samples = SampleTable(
        Sample(**ZEROS | {"t": t, "bytes_acked": acked, "unacked": flight, "mss": 1000, "cwnd": 10})
        for t, acked, flight in rows
    )
    return Run(
        id="r1",
        experiment=Experiment(name="m/e", flows=Flows(messages=messages, duration=3.0, warmup=0.0)),
        environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
        started="2026-01-01T00:00:00+00:00",
        samples=samples,
    )


ROWS = [(0.0, 1, 0), (0.1, 1, 10), (0.3, 20_001, 0), (1.0, 20_001, 5), (1.1, 40_001, 0), (2.5, 40_001, 3)]


def test_the_time_of_a_message_is_from_its_interval_to_its_last_acknowledgment() -> None:
    whole = MeasuredRun(run_of(ROWS, 20_000))
    message_time = MEASURED["message-time"].compute
    assert message_time(RunPart(whole)) == pytest.approx((0.3 + 0.1) / 2)
    assert message_time(RunPart(whole, start=1.0, end=2.0)) == pytest.approx(0.1)
    with pytest.raises(UsageError, match="no flow sent a message"):
        message_time(RunPart(whole, start=2.0, end=3.0))


def test_a_flow_that_sends_all_the_time_has_no_messages() -> None:
    with pytest.raises(UsageError, match="no flow sent a message"):
        MEASURED["message-time"].compute(RunPart(MeasuredRun(run_of(ROWS))))
