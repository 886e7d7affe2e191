"""Simulated packets against the RFCs' rules, the closed forms, and the windows over time of `theory.trajectory`."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor import theory
from tcptutor.base.errors import ParameterError
from tcptutor.theory.packet_link import PacketPath
from tcptutor.theory.packet_sender import PacketFlow
from tcptutor.theory.packet_simulation import PacketEvent, PacketTrace, simulate
from tcptutor.theory.trajectory import Bottleneck, Source, trajectories

MSS = 1448
RATE = 8e6
SERVICE = 8 * MSS / RATE
LINK = PacketPath(delay=0.02, rate=RATE)
FREE = PacketPath(delay=0.05)


def run(path: PacketPath, seconds: float, **flow: object) -> PacketTrace:
    return simulate(path, [PacketFlow(**flow)], seconds)  # type: ignore[arg-type]


def segments(trace: PacketTrace, flow: int = 0) -> list[PacketEvent]:
    return [packet for packet in trace.packets if packet.kind == "segment" and packet.flow == flow]


def retransmissions(trace: PacketTrace) -> list[PacketEvent]:
    return [packet for packet in segments(trace) if packet.transmission > 1]


def arrived_between(trace: PacketTrace, begin: float, end: float, flow: int = 0) -> int:
    return sum(1 for packet in segments(trace, flow) if packet.arrived and begin <= packet.arrived < end)


def test_a_window_leaves_per_round_trip() -> None:
    trace = run(FREE, 1.05, algorithm="fixed", window=7)
    assert arrived_between(trace, 0.04, 1.04) == 70
    assert {round(packet.sent % 0.1, 6) % 0.1 for packet in segments(trace)} == {0.0}


def test_udp_keeps_its_rate_and_what_the_link_cannot_carry_is_lost() -> None:
    trace = run(PacketPath(delay=0.02, rate=RATE, queue=5), 2.0, algorithm="udp", rate=1.25 * RATE)
    sent = segments(trace)
    assert len(sent) == pytest.approx(2.0 * 1.25 * RATE / (8 * MSS), abs=1)
    lost = [packet for packet in sent if packet.dropped is not None]
    assert len(lost) / len(sent) == pytest.approx(0.2, abs=0.02)
    assert len(trace.packets) == len(sent), "neither ACKs nor retransmissions"
    assert not retransmissions(trace)


@pytest.mark.parametrize("bdps", [1.5, 2, 4])
def test_what_exceeds_the_bdp_waits(bdps: float) -> None:
    bdp = LINK.segments(MSS)
    window = round(bdps * bdp)
    trace = run(LINK, 3, algorithm="fixed", window=window)
    assert trace.waiting_at(2.5) == pytest.approx(window - bdp, abs=1)
    last = next(packet for packet in reversed(segments(trace)) if packet.arrived)
    assert last.left is not None
    rtt = last.left - last.sent + SERVICE + 0.04
    assert theory.window_limited(window * MSS, rtt) == pytest.approx(RATE, rel=0.02)
    assert arrived_between(trace, 1, 2) * MSS * 8 == pytest.approx(RATE, rel=0.002)


@pytest.mark.parametrize("every", [1, 2])
def test_slow_start_doubles_cwnd_each_round_trip(every: int) -> None:
    trace = run(FREE, 0.55, initial=4, ack_every=every)
    for rounds in range(5):
        assert trace.senders[0].cwnd_at(rounds * 0.1 + 0.001) == 4 * 2**rounds
    assert theory.slow_start_duration(64, 0.1, 4) == pytest.approx(0.4)


def test_congestion_avoidance_adds_a_segment_per_round_trip() -> None:
    trace = run(FREE, 2.05, initial=20, ssthresh=20)
    assert trace.senders[0].cwnd_at(2.01) == pytest.approx(40, abs=1)


def test_the_third_duplicate_ack_means_a_loss() -> None:
    trace = run(FREE, 0.6, algorithm="fixed", window=8, losses=((3, 1),), segments=30)
    (again,) = retransmissions(trace)
    duplicates = [p.arrived for p in trace.packets if p.kind == "ack" and p.duplicate]
    assert (again.number, again.sent) == (3, pytest.approx(0.1))
    assert len([t for t in duplicates if t is not None and t <= again.sent]) >= 3
    assert trace.senders[0].in_flight_at(0.2) <= 8


@pytest.mark.parametrize(("behind", "expected"), [(2, 0), (3, 1)])
def test_a_late_segment_is_taken_for_lost_when_three_overtake_it(behind: int, expected: int) -> None:
    trace = run(LINK, 0.5, algorithm="fixed", window=12, late=((4, (behind + 0.5) * SERVICE),), segments=40)
    assert len(retransmissions(trace)) == expected
    assert not any(packet.dropped for packet in trace.packets)


def test_newreno_fills_a_hole_per_round_trip_and_sack_all_at_once() -> None:
    holes = ((11, 1), (13, 1), (15, 1), (17, 1))
    sent = {
        sack: [
            p.sent for p in retransmissions(run(FREE, 2, losses=holes, initial=20, segments=60, sack=sack))
        ]
        for sack in (True, False)
    }
    assert len(sent[True]) == len(sent[False]) == len(holes)
    assert max(sent[True]) - min(sent[True]) <= 0.1 + 1e-9
    assert [later - t for t, later in pairwise(sent[False])] == pytest.approx([0.1] * 3)


def test_a_loss_halves_cwnd_once_per_window() -> None:
    trace = run(FREE, 0.35, initial=20, ssthresh=20, losses=((1, 1), (2, 1), (3, 1)))
    assert min(trace.senders[0].cwnd) == 10


def test_the_timeout_doubles_until_an_attempt_gets_through() -> None:
    path = PacketPath(delay=0.05, cuts=((0.45, 3.0),))
    trace = run(path, 7, algorithm="reno", initial=4, window=8)
    times = [t for t, _ in trace.timeouts]
    gaps = [later - t for t, later in pairwise(times)]
    assert len(times) == 4
    assert [later / gap for gap, later in pairwise(gaps)] == pytest.approx([2.0] * (len(gaps) - 1))
    assert gaps[0] == pytest.approx(2 * 0.3), "twice the RTT and 200 ms"
    assert trace.senders[0].cwnd_at(times[-1]) == 1
    assert arrived_between(trace, 6, 7) > 60, "up to ssthresh within three round trips"


def test_a_probe_repairs_a_lost_tail_after_two_round_trips() -> None:
    lost: dict[str, object] = {"segments": 10, "losses": ((10, 1),), "initial": 10}
    without, probing = (run(FREE, 3, tail_probe=probe, **lost) for probe in (False, True))
    assert retransmissions(without)[0].sent == without.timeouts[0][0]
    assert retransmissions(probing)[0].sent == pytest.approx(0.1 + 2 * 0.1)
    assert not probing.timeouts
    cut = run(PacketPath(delay=0.05, cuts=((0.45, 2.5),)), 5, initial=4, window=8, tail_probe=True)
    assert next(later[0] - t[0] for t, later in pairwise(cut.timeouts)) == pytest.approx(2 * 0.3, rel=0.4)


@pytest.mark.parametrize("x", [0.25, 0.5, 1, 2])
def test_the_sawtooth_is_that_of_the_closed_forms(x: float) -> None:
    rtt = 0.04 + SERVICE
    bdp = theory.bdp(RATE, rtt) / MSS
    trace = run(PacketPath(delay=0.02, rate=RATE, queue=round(x * bdp)), 16, ssthresh=bdp / 2)
    used = arrived_between(trace, 4, 16) * MSS * 8 / 12 / RATE
    assert used == pytest.approx(theory.sawtooth_utilisation(x), abs=0.03)
    cuts = [p.sent for p in retransmissions(trace) if p.sent > 3]
    # The sender notices a drop a round trip late, and spends another on the repair.
    late = 2.5 * (rtt + x * bdp * SERVICE)
    period = theory.sawtooth_period(RATE, rtt, MSS, x * bdp * MSS)
    assert all(-0.1 < later - t - period < late for t, later in pairwise(cuts))
    assert max(trace.senders[0].cwnd_at(t - 1e-6) for t in cuts) == pytest.approx(
        theory.sawtooth_peak(RATE, rtt, MSS, x * bdp * MSS), abs=4
    )


def test_slow_start_overshoots_to_twice_what_path_and_queue_hold() -> None:
    rate, rtt, queue = 19e6, 0.1, 165
    path = PacketPath(delay=rtt / 2, rate=rate, queue=queue)
    trace = run(path, 1, initial=10)
    capacity = theory.sawtooth_peak(rate, rtt, MSS, queue * MSS)
    assert max(trace.senders[0].cwnd) == pytest.approx(2 * capacity, rel=0.02)
    assert sum(1 for packet in segments(trace) if packet.dropped) == pytest.approx(capacity, rel=0.03)
    (flow,) = trajectories(Bottleneck(rate=rate, rtt=rtt, queue=queue * MSS, mss=MSS), [Source()], 1)
    # The trajectory looks once per round trip, and sees the overflow up to a round trip later.
    assert retransmissions(trace)[0].sent == pytest.approx(flow.losses[0], abs=rtt)
    assert 1 <= max(flow.cwnd) / max(trace.senders[0].cwnd) < 2


def test_a_paced_window_leaves_in_equal_steps() -> None:
    trace = run(FREE, 1, algorithm="fixed", window=8, pacing=(1.0, 1.0))
    steps = [later.sent - packet.sent for packet, later in pairwise(segments(trace))]
    assert steps == pytest.approx([0.1 / 8] * len(steps))


def test_pacing_takes_slow_start_past_a_short_queue() -> None:
    path = PacketPath(delay=0.02, rate=40e6, queue=13)
    burst, paced = (run(path, 0.5, size=1514, pacing=pacing) for pacing in (None, (2.0, 1.2)))
    first = [next(p.sent for p in segments(trace) if p.dropped) for trace in (burst, paced)]
    assert first[0] < first[1]
    assert max(burst.senders[0].cwnd) == pytest.approx(66, abs=2), "40 and the 26 that got through"


def test_bbr_probes_and_drains() -> None:
    trace = run(LINK, 1, algorithm="bbr")
    rtt = 0.04 + SERVICE
    probe = rtt * 2  # the first round trip fills the path
    assert max(trace.queue) == pytest.approx(0.25 * LINK.segments(MSS), abs=1.5)
    assert trace.waiting_at(probe - 0.001) >= 5
    assert trace.waiting_at(probe + rtt) <= 1
    assert trace.waiting_at(probe + 4 * rtt) <= 1


def test_delayed_acks_halve_their_number_and_a_lone_segment_waits() -> None:
    trace = run(FREE, 1, algorithm="fixed", window=5, segments=5, ack_every=2)
    acks = [(packet.number, packet.sent) for packet in trace.packets if packet.kind == "ack"]
    assert [number for number, _ in acks] == [3, 5, 6]
    assert acks[-1][1] == pytest.approx(0.05 + theory.ACK_DELAY)


@pytest.mark.parametrize(("schedule", "ratio"), [("fifo", 1.5), ("round-robin", 1.0)])
def test_a_round_robin_shares_bytes_and_one_queue_shares_packets(schedule: str, ratio: float) -> None:
    path = PacketPath(delay=0.0, rate=8e6, schedule=schedule)  # type: ignore[arg-type]
    flows = [PacketFlow(algorithm="fixed", window=10, size=size) for size in (1000, 1500)]
    trace = simulate(path, flows, 4)
    small, large = (arrived_between(trace, 1, 4, flow) * flows[flow].size for flow in (0, 1))
    assert large / small == pytest.approx(ratio, rel=0.01)


def test_deficit_round_robin_goes_turn_by_turn() -> None:
    """The table on the page about fair queues: 1000 bytes against 1500, with a quantum of 1500."""
    path = PacketPath(delay=0.0, rate=8e6, schedule="round-robin", quantum=1500)
    flows = [PacketFlow(algorithm="fixed", window=9, segments=9, size=size) for size in (1000, 1500)]
    sent = sorted(
        (p.left, p.flow) for p in simulate(path, flows, 1).packets if p.kind == "segment" and p.left
    )
    # The very first segment found an idle link and left before the second flow's came.
    assert [flow for _, flow in sent[:9]] == [0, 1, 0, 0, 1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [{"algorithm": "fixed"}, {"algorithm": "bbr"}, {"segments": 0}, {"ack_every": 3}, {"start": -1}],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        run(FREE, 1, **wrong)


paths = st.builds(
    PacketPath,
    delay=st.floats(0.001, 0.05),
    rate=st.sampled_from([None, 1e6, 8e6]),
    queue=st.integers(0, 30),
    schedule=st.sampled_from(["fifo", "round-robin"]),
)
flows = st.builds(
    PacketFlow,
    segments=st.integers(1, 60),
    window=st.integers(1, 40),
    algorithm=st.sampled_from(["fixed", "reno"]),
    sack=st.booleans(),
    pacing=st.sampled_from([None, (2.0, 1.2)]),
    ack_every=st.sampled_from([1, 2]),
    size=st.sampled_from([500, 1448]),
    losses=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 2)), max_size=8).map(tuple),
    late=st.lists(st.tuples(st.integers(1, 60), st.floats(0, 0.2)), max_size=4).map(tuple),
)


@settings(deadline=None, max_examples=60)
@given(path=paths, sending=st.lists(flows, min_size=1, max_size=3))
def test_every_byte_arrives_and_every_packet_is_accounted_for(path, sending) -> None:
    # Without room in the queue, each segment of a window waits for a timeout of up to 120 s.
    trace = simulate(path, sending, 10_000)
    for number, flow in enumerate(sending):
        own = segments(trace, number)
        assert {packet.number for packet in own if packet.arrived} == set(range(1, int(flow.segments) + 1))
        acks = [packet for packet in trace.packets if packet.kind == "ack" and packet.flow == number]
        assert max(packet.number for packet in acks) == flow.segments + 1
        assert max(trace.senders[number].in_flight) <= flow.window
        assert trace.senders[number].in_flight[-1] == 0
    assert all((packet.arrived is None) != (packet.dropped is None) for packet in trace.packets)
    assert all(packet.sent <= packet.end for packet in trace.packets)
    assert max(trace.queue) <= path.queue
    served = sorted((p.left, p.service) for p in trace.packets if p.kind == "segment" and p.left is not None)
    assert all(later >= left + service - 1e-9 for (left, service), (later, _) in pairwise(served))


@settings(deadline=None, max_examples=20)
@given(path=paths, flow=flows)
def test_a_simulation_is_the_same_each_time(path, flow) -> None:
    assert simulate(path, [flow], 2) == simulate(path, [flow], 2)
