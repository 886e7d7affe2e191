"""Early signals: when CoDel drops, how far senders back off, and what a token bucket lets pass."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tcptutor.base.errors import ParameterError
from tcptutor.theory.queue_signals import (
    CODEL_INTERVAL,
    CODEL_TARGET,
    SignalledFlow,
    signalled_flow,
    token_bucket,
)

HOME = {"rate": 10e6, "rtt": 0.03}


def test_codel_lets_a_burst_pass_and_drops_from_a_standing_queue() -> None:
    flow = SignalledFlow(**HOME, burst=20, burst_at=0.1, start=0.2, initial=21)
    trace = signalled_flow(flow, 1.0)
    above = [point.t for point in trace.points if point.t > 0.2 and point.wait > CODEL_TARGET]
    assert max(point.wait for point in trace.points if point.t < 0.2) > 4 * CODEL_TARGET
    assert trace.signals[0] == pytest.approx(above[0] + CODEL_INTERVAL, abs=0.002)


def test_codel_and_cubic_drop_as_often_as_in_the_lab() -> None:
    trace = signalled_flow(SignalledFlow(**HOME, initial=21), 20.0)
    assert len([t for t in trace.signals if t > 10]) == pytest.approx(14, abs=4), "the lab has 14"


def test_dctcp_keeps_the_link_busy_where_cubic_lets_it_run_dry() -> None:
    path = {"rate": 20e6, "rtt": 0.02, "signal": "threshold", "target": 0.002, "initial": 33}
    full = 20e6 * 0.02 / 8 / 1514
    lowest = {}
    for sender in ("cubic", "dctcp"):
        points = signalled_flow(SignalledFlow(**path, sender=sender), 4.0).points
        lowest[sender] = min(point.cwnd for point in points if point.t > 1)
    assert lowest["cubic"] < 0.85 * full
    assert lowest["dctcp"] > 0.97 * full


def test_a_bucket_fills_in_a_pause_and_lets_a_burst_pass() -> None:
    points = token_bucket(rate=10e6, bucket=100e3, offered=20e6, pause=(1.0, 2.0), seconds=3.0)
    passed = sum(point.passed * (after.t - point.t) / 8 for point, after in pairwise(points))
    assert passed == pytest.approx(2 * (10e6 / 8 + 100e3)), "two seconds at the rate, and two full buckets"
    assert min(point.tokens for point in points) == 0
    assert max(point.tokens for point in points) == 100e3


def test_a_slow_sender_never_empties_the_bucket() -> None:
    with pytest.raises(ParameterError, match="offered"):
        token_bucket(rate=10e6, bucket=100e3, offered=5e6, pause=(1.0, 2.0), seconds=3.0)
