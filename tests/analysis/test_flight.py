"""Segments under way, computed from a trace of ACKs: against a simulation, in which every segment's place is known."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from tcptutor.analysis import Flight, flight, sender_reason
from tcptutor.run import AckSample, AckTable, Environment, Retransmission, RetransmissionTable, Run
from tcptutor.spec import build
from tcptutor.theory.packet_link import PacketPath
from tcptutor.theory.packet_sender import PacketFlow
from tcptutor.theory.packet_simulation import PacketTrace, simulate

SIZE = 1448
PATH = PacketPath(delay=0.02, rate=10e6)


def traced(trace: PacketTrace) -> Run:
    """A run with what the kernel's tracepoints would have reported of the simulated sender."""
    acks = [each for each in trace.packets if each.kind == "ack" and each.arrived is not None]
    segments = [each for each in trace.packets if each.kind == "segment"]
    sender = trace.senders[0]
    rtt = 2 * trace.path.delay + trace.path.service(SIZE)
    rows, acked = [], 0
    for ack in sorted(acks, key=lambda each: each.arrived or 0.0):
        t = ack.arrived or 0.0
        sent = max(each.number for each in segments if each.sent < t - 1e-9)
        cwnd = int(sender.cwnd_at(t - 1e-9))
        rows.append(AckSample(0, t, cwnd, 1 << 30, rtt, acked * SIZE, sent * SIZE, 1 << 20))
        acked = max(acked, ack.number - 1)
    again = [
        Retransmission(0, each.sent, (each.number - 1) * SIZE, each.number * SIZE)
        for each in segments
        if each.transmission > 1
    ]
    settings = {"rate": "10 Mbit/s", "delay": f"{rtt} s", "duration": "5 s", "warmup": "0"}
    experiment = build("one/simulated", {"title": "simulated", "parameters": settings})
    here = Environment(backend="", clock="", kernel="")
    run = Run(id="one", started="2026-01-01T00:00:00Z", experiment=experiment, environment=here)
    return replace(run, acks=AckTable(rows), retransmissions=RetransmissionTable(again))


def places(found: Flight, t: float) -> Counter[str]:
    return Counter(each.place for each in found.at(t).segments)


@pytest.mark.parametrize("window", [5, 20, 60])
def test_segments_are_where_the_simulation_has_them(window: int) -> None:
    trace = simulate(PATH, [PacketFlow(algorithm="fixed", window=window, size=SIZE)], 1.0)
    found = flight(traced(trace), 0)
    assert found is not None
    for t in (0.35, 0.5, 0.61):
        waiting = trace.waiting_at(t)
        assert places(found, t)["queue"] == pytest.approx(waiting, abs=1.5)
        assert len(found.at(t).segments) == pytest.approx(window, abs=1)
        on_the_way_back = sum(
            each.kind == "ack" and each.sent <= t < (each.arrived or 0.0) for each in trace.packets
        )
        assert places(found, t)["back"] == pytest.approx(on_the_way_back, abs=1.5)


@pytest.mark.parametrize("sack", [True, False])
def test_a_loss_is_found_when_its_duplicate_acks_have_come(sack: bool) -> None:
    flow = PacketFlow(algorithm="reno", size=SIZE, window=30, losses=((40, 1),), sack=sack)
    trace = simulate(PATH, [flow], 1.0)
    found = flight(traced(trace), 0)
    assert found is not None
    again = next(each for each in trace.packets if each.transmission > 1)
    loss = found.neighbor(0.0, 1, ("loss",))
    assert loss is not None
    assert (loss.t, loss.first) == (again.sent, 39 * SIZE)
    assert loss.duplicates == 3
    first = next(each for each in trace.packets if each.number == 40 and each.kind == "segment")
    assert (found.at(first.sent - 1e-6).lost, found.at(first.sent).lost) == (0, 1)
    words = sender_reason(loss, "reno", SIZE, sack)
    assert ("RACK" in words, "fast retransmit" in words) == (sack, not sack)


def test_segments_behind_a_hole_arrive_with_their_duplicate_acks() -> None:
    flow = PacketFlow(algorithm="fixed", size=SIZE, window=30, losses=((40, 1),))
    trace = simulate(PATH, [flow], 1.0)
    found = flight(traced(trace), 0)
    assert found is not None
    again = next(each for each in trace.packets if each.transmission > 1)
    for t in (again.sent - 0.001, again.sent + 0.01):
        assert places(found, t)["queue"] == pytest.approx(trace.waiting_at(t), abs=2.5)


def test_steps_go_from_event_to_event_and_back() -> None:
    trace = simulate(PATH, [PacketFlow(algorithm="reno", size=SIZE, losses=((40, 1),))], 1.0)
    found = flight(traced(trace), 0)
    assert found is not None
    times, t = [], 0.0
    while (event := found.neighbor(t, 1)) is not None:
        t = event.t
        times.append(t)
    assert times == sorted({event.t for event in found.events})
    back = found.neighbor(times[10], -1)
    assert back is not None
    assert back.t == times[9]


def test_a_run_without_a_trace_has_no_flight() -> None:
    trace = simulate(PATH, [PacketFlow(size=SIZE)], 0.5)
    assert flight(replace(traced(trace), acks=AckTable([])), 0) is None
    assert flight(traced(trace), 1) is None
