"""What a path may carry, beside what was carried: by the queue's counter and by what arrived."""

from __future__ import annotations

import random

import pytest

from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.netlink import QdiscState
from tcptutor.agent.network import Interface
from tcptutor.run import FlowResult, QueueSample, UdpResult, capacity
from tcptutor.run.capacity import FlowSpan
from tcptutor.run.plausible import PlausibilityChecks
from tests.conftest import Build


def flow(bps: float, begin: float = 1.0, end: float = 5.0, samples: int = 400, number: int = 0) -> FlowSpan:
    result = FlowResult(
        flow=number, pair=0, throughput_bps=bps, retransmits=0, losses=0, segments=1000, mean_rtt_s=0.02,
        mean_cwnd_segments=20, mss=1448,
    )  # fmt: skip
    return FlowSpan(result, begin, end, samples)


def datagrams(bps: float) -> UdpResult:
    return UdpResult(
        pair=0, sent_bps=bps, received_bps=bps, lost=0, datagrams=int(bps / 8 / 1448), jitter_s=None
    )


def queue(bps: float, *times: float) -> list[QueueSample]:
    return [QueueSample(t, 0, 0, 0, round(bps * t / 8)) for t in times]


PATH = {"rate": "10 Mbit/s", "duration": "4 s", "warmup": "1 s"}


@pytest.mark.parametrize("times", [(1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 5.0), (0.0, 0.5)])
def test_few_samples_of_the_queue_are_enough(build: Build, times: tuple[float, ...]) -> None:
    assert capacity.queue_excess(build(**PATH), queue(10.1e6, *times)) == ""
    assert "30.4 Mbit/s were carried" in capacity.queue_excess(build(**PATH), queue(30.4e6, *times))


def test_a_rate_that_changes_is_followed(build: Build) -> None:
    slower = build(**PATH, changes="3s rate=1Mbit/s")
    # 2 s at 10 Mbit/s and 2 s at 1 Mbit/s are 5.5 Mbit/s in the mean.
    assert capacity.queue_excess(slower, queue(5.5e6, 1.0, 5.0)) == ""
    assert capacity.queue_excess(slower, queue(6.0e6, 1.0, 5.0))
    before = build(**PATH, changes="0.5s rate=1Mbit/s")
    assert capacity.queue_excess(before, queue(1e6, 1.0, 5.0)) == ""
    assert capacity.queue_excess(before, queue(1.2e6, 1.0, 5.0))


def test_what_passes_by_the_queue_is_found_at_its_end(build: Build) -> None:
    """Overtakers leave netem at once, and its tbf never sees them."""
    checks = PlausibilityChecks(build(**PATH, delay="20 ms", reorder="50 %"))
    checks.check_excess(queue(9.9e6, 1.0, 5.0), [flow(8e6), flow(8e6, number=1)], [])
    assert checks.verdict().status == "invalid"
    assert "overtakes passes by" in checks.invalid[0]


def test_each_way_has_a_rate_of_its_own(build: Build) -> None:
    both = build(**PATH, reverse_rate="1 Mbit/s", streams="2", directions="forward,reverse")
    assert capacity.flow_excess(both, [flow(9.5e6), flow(0.95e6, number=1)], []) == ""
    assert capacity.flow_excess(both, [flow(0.9e6), flow(1.2e6, number=1)], [])
    assert capacity.flow_excess(both, [flow(5e6)], [datagrams(4.5e6)]) == ""
    assert capacity.flow_excess(both, [flow(5e6)], [datagrams(6e6)])


def test_flows_one_after_the_other_share_nothing(build: Build) -> None:
    """Each has the whole rate while it lasts."""
    turns = [flow(9.5e6, 1.0, 3.0), flow(9.5e6, 3.0, 5.0, number=1)]
    assert capacity.flow_excess(build(**PATH, streams="2"), turns, []) == ""


def test_without_a_rate_there_is_no_bound(build: Build) -> None:
    free = build(rate="none", duration="4 s")
    assert (
        capacity.queue_excess(free, queue(1e12, 1.0, 5.0))
        == capacity.flow_excess(free, [flow(1e12)], [])
        == ""
    )


@pytest.mark.parametrize(
    ("flows", "parameters", "told"),
    [
        ([flow(9e6)], {}, ""),
        ([flow(50e3)], {}, "only 17 segments arrived"),
        ([flow(9e6, 0.0, 0.01, 2)], {"bytes": "2 kB"}, "over within 2 samples"),
        ([flow(1e6, 0.0, 0.04, 5)], {"bytes": "5 kB"}, ""),
    ],
)
def test_a_mean_of_next_to_nothing_is_doubted(
    build: Build, flows: list[FlowSpan], parameters: dict[str, str], told: str
) -> None:
    checks = PlausibilityChecks(build(**PATH | parameters))
    checks.check_duration(flows, [])
    assert [told in reason for reason in checks.suspect] == [True] * bool(told)


def test_a_run_in_which_nothing_arrived_is_invalid(build: Build) -> None:
    for flows in ([], [flow(0.0)]):
        checks = PlausibilityChecks(build(**PATH))
        checks.checks["kernel HZ"] = 100
        checks.check_delivery([span.result for span in flows], [])
        assert checks.verdict().status == "invalid"
        assert checks.verdict().reasons[0].startswith("nothing was measured: ")
    only_udp = PlausibilityChecks(build(**PATH))
    only_udp.check_delivery([], [datagrams(1e6)])
    assert only_udp.invalid == []


@pytest.mark.parametrize(
    ("dropped", "told"), [(100, ""), (150, ""), (200, "its queue is too short"), (20, "only 20")]
)
def test_losses_are_as_many_as_chance_makes_them(build: Build, dropped: int, told: str) -> None:
    checks = FidelityChecks(build(**PATH, loss="1 %"))
    checks._netem_drops(dropped, dropped, 10_000 - dropped)
    assert [told in reason for reason in checks.invalid] == [True] * bool(told)


def test_what_the_queue_drops_had_its_chance_to_be_lost_as_well(build: Build) -> None:
    """Figures of a run: 32 UDP flows of 1 Mbit/s, 30 % lost, and half of the rest dropped by the full queue."""
    counted = {"netem": (6120, 2598), "tbf": (3475, 2598)}
    bottleneck, checks = Interface("s1-eth2", None), FidelityChecks(build(**PATH, loss="30 %"))
    before = tuple(QdiscState(kind) for kind in counted)
    after = tuple(
        QdiscState(kind, drops=drops, packets=packets) for kind, (drops, packets) in counted.items()
    )
    checks.check_drops({bottleneck: before}, {bottleneck: after}, bottleneck)
    assert checks.invalid == []


def test_a_shaper_that_cuts_offloaded_packets_counts_their_segments(build: Build) -> None:
    """Figures of a run with offloads: netem counts packets of many segments, and the shaper below it segments."""
    checks, bottleneck = (
        FidelityChecks(build(**PATH, loss="0.22 %", offloads="on")),
        Interface("s1-eth2", None),
    )
    counted = {"netem": 38, "tbf": 106}
    before = tuple(QdiscState(kind) for kind in counted)
    after = tuple(QdiscState(kind, drops=drops, packets=28_279) for kind, drops in counted.items())
    checks.check_drops({bottleneck: before}, {bottleneck: after}, bottleneck)
    assert checks.invalid == []
    assert checks.checks["random drops"] == 0


def test_of_what_is_doubled_less_is_dropped() -> None:
    draw, drops, passed = random.Random(4), 0, 0

    def enqueue(copy: bool = False) -> None:
        nonlocal drops, passed
        count = 1 + (not copy and draw.random() < 0.6) - (draw.random() < 0.3)
        drops, passed = drops + (count == 0), passed + (count > 0)
        if count == 2:
            enqueue(copy=True)

    for _ in range(100_000):
        enqueue()
    assert capacity.netem_drop_rate(0.3, 0.6) == pytest.approx(drops / (drops + passed), rel=0.02)
    assert capacity.netem_drop_rate(0.3, 0.0) == 0.3
    assert capacity.netem_drop_rate(0.0, 0.9) == 0.0


def test_what_nobody_looked_at_is_unchecked(build: Build) -> None:
    assert FidelityChecks(build(**PATH)).verdict().status == "unchecked"
