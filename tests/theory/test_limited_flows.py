"""What flows get within several limits: bounds, how it grows with each, and the same found by other ways."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from tcptutor import theory
from tcptutor.base.errors import ParameterError
from tcptutor.theory import LIMITED, LimitedFlow, limited_link, limited_rates
from tcptutor.theory.limited_flows import _SENDERS
from tcptutor.theory.renewal import Limits, mean
from tcptutor.theory.shared_link import Member, shared_link

RTT, LOSS = 0.05, 5e-3
ALGORITHMS = sorted(LIMITED)


def flow(algorithm: str = "reno", **more: float) -> LimitedFlow:
    return LimitedFlow(**{"algorithm": algorithm, "rtt": RTT, "loss": LOSS, "rto": 0.25, **more})  # type: ignore[arg-type]


def alone(one: LimitedFlow, rate: float = math.inf, queue: float = math.inf) -> float:
    return limited_rates([one], rate, queue)[0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("part", [0.4, 0.8, 1.2, 2.0])
def test_together_limits_leave_less_than_each(algorithm: str, part: float) -> None:
    free = alone(flow(algorithm))
    limit = part * free
    for got in (
        alone(flow(algorithm, window=max(1.0, limit * RTT))),
        alone(flow(algorithm, pace=limit)),
        alone(flow(algorithm), limit, limit * RTT / 2),
        math.fsum(limited_rates([flow(algorithm)] * 3, 3 * limit, limit * RTT)) / 3,
    ):
        # What spreads a flight lets the receiver send more ACKs, which HighSpeed and H-TCP count.
        assert 0.4 * min(free, limit) < got <= min(free * 1.25, limit) * (1 + 1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_larger_window_is_never_slower_and_a_very_large_one_is_none(algorithm: str) -> None:
    windows = [4, 6, 10, 15, 25, 40, 80, 400]
    got = [alone(flow(algorithm, window=window)) for window in windows]
    # The chain tells so many windows apart, and less does not show.
    assert all(more > 0.99 * less for less, more in pairwise(got))
    assert got[-1] == pytest.approx(alone(flow(algorithm)), rel=0.02)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fewer_losses_are_faster_until_only_the_window_limits(algorithm: str) -> None:
    got = [alone(flow(algorithm, loss=loss, window=20)) for loss in (0.05, 0.01, 1e-3, 1e-5)]
    assert got == sorted(got)
    assert got[-1] == pytest.approx(alone(flow(algorithm, loss=0, window=20)), rel=0.03)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("rate", "queue", "loss"), [(400, 20, 5e-3), (400, 20, 0), (5000, 10, 3e-3), (900, 40, 2e-3)]
)
def test_the_chain_and_the_play_agree_on_one_flow(
    algorithm: str, rate: float, queue: float, loss: float
) -> None:
    """Two ways to the same: a stationary distribution, and rounds one after another."""
    limits = Limits(rtt=RTT, rate=rate, queue=queue, rto=0.25)
    sender = _SENDERS[algorithm](RTT, 2.0)
    played = shared_link([Member(sender, limits, loss)], rate, queue).rates[0]
    assert played == pytest.approx(mean(sender, loss, limits).rate, rel=0.05)


def by_dice(window: int, loss: float, losses: int = 4000) -> float:
    """Segments a round trip that Reno sends below a receiver's window, segment by segment, with a seed."""
    dice = random.Random(7).random
    cwnd, sent, rounds, met = 4.0, 0, 0, 0
    while met < losses:
        flight = min(window, int(cwnd))
        rounds, sent = rounds + 1, sent + flight
        place = next((place for place in range(flight) if dice() < loss), None)
        if place is None:
            cwnd = min(window + 1.5, cwnd + 1)
            continue
        met += 1
        # Until it is found, what was sent before it lets as many go; then the repair, with what the window has left.
        sent += place
        half = max(2, int(cwnd) // 2)
        repair = max(1, min(half, window - flight))
        rounds, sent, cwnd = rounds + 1, sent + repair, float(half)
        while any(dice() < loss for _ in range(repair)):
            met, half = met + 1, max(2, half // 2)
            repair, cwnd = half, float(half)
            rounds, sent = rounds + 1, sent + repair
    return sent / rounds


@pytest.mark.parametrize("window", [8, 16, 32])
def test_reno_below_a_window_does_what_dice_say(window: int) -> None:
    got = alone(flow(rto=0, window=window)) / (1 - LOSS) * RTT
    assert got == pytest.approx(by_dice(window, LOSS), rel=0.06)


def test_without_losses_a_window_is_used_in_whole_segments() -> None:
    """Of an odd number the last waits for the next flight's first, or for 40 ms."""
    assert alone(flow(loss=0, window=8.9)) * RTT == pytest.approx(8)
    assert alone(flow(loss=0, window=9.2)) * RTT == pytest.approx(9 - 0.04 / RTT)


def test_flows_that_no_link_joins_do_not_feel_each_other() -> None:
    one = flow("cubic")
    assert limited_rates([one, one, flow("reno")]) == (alone(one), alone(one), alone(flow("reno")))
    wide = 10 * 3 * alone(one)
    assert limited_rates([one] * 3, wide, 10) == (alone(one),) * 3


def test_windows_beyond_the_path_wait_in_the_queue() -> None:
    """Each waits behind what has no room on the path: Little's law, RTT = window / throughput."""
    found = limited_link([flow(loss=0, window=30)] * 4, 400, 200)
    assert found.delay == pytest.approx(4 * 30 / 400 - RTT, rel=0.01)
    assert (found.loss, math.fsum(found.rates)) == (0, pytest.approx(400))


def test_the_losses_of_a_full_queue_follow_from_the_windows_for_which_there_is_room() -> None:
    """Mathis read the other way, p = 1.5 / window²: of several flows each has less of the room, and loses more."""
    one, many = (limited_link([flow(loss=0)] * number, 1000, 1000 * RTT) for number in (1, 8))
    # One that grows from half of what there is room for to all of it sends 3/8 of its square between two losses.
    assert one.loss == pytest.approx(8 / 3 / (2 * 1000 * RTT) ** 2, rel=0.1)
    # Many take turns, and together they always have nearly all of it.
    assert many.loss == pytest.approx(1.5 / (2 * 1000 * RTT / 8) ** 2, rel=0.1)
    assert 0 < one.delay < many.delay <= RTT


def test_of_a_link_with_room_only_chance_loses() -> None:
    found = limited_link([flow(loss=0.01)] * 2, 1e5, 100)
    assert (found.delay, found.loss) == (0, pytest.approx(0.01, rel=0.2))
    assert limited_link([flow()] * 20, 1e5, 100).rates == limited_link([flow()] * 16, 8e4, 80).rates[:1] * 20
    with pytest.raises(ParameterError, match="rate"):
        limited_link([flow()], math.inf, 10)


def test_flows_share_a_full_link() -> None:
    many = limited_rates([flow()] * 8, 2 * alone(flow()), 20)
    assert len(set(many)) == 1
    assert 0.9 < math.fsum(many) / (2 * alone(flow())) <= 1
    near, far = limited_rates([flow(loss=0), flow(loss=0, rtt=3 * RTT)], 800, 20)
    assert near > 1.5 * far


def test_several_flows_at_a_short_queue_lose_together() -> None:
    """More than one at a time, and not all: less than Altman's, who has one lose, more than a single flow's."""
    rate, flows = 2000.0, 4
    got = math.fsum(limited_rates([flow(loss=0)] * flows, rate, 4)) / rate
    assert theory.sawtooth_utilisation(0) < got < theory.shared_utilisation(flows, 0.5) + 0.02


def test_much_loss_is_waiting_for_timeouts_that_double() -> None:
    some, much = (alone(flow(loss=loss)) * RTT for loss in (0.1, 0.5))
    assert 2 < some < 4
    assert much < 0.3


def test_the_same_flows_get_the_same_each_time() -> None:
    flows = [flow("reno"), flow("htcp", rtt=0.08)]
    first = limited_rates(flows, 500, 20)
    from tcptutor.theory import limited_flows

    limited_flows._rates.cache_clear()
    assert limited_rates(flows, 500, 20) == first


def test_a_round_trip_with_more_losses_than_can_be_counted_is_played_as_soon() -> None:
    flows = [flow(loss=0.5, rtt=100.0), flow(loss=0.4, rtt=100.0)]
    got = limited_rates(flows, 1e12, 1e15)
    assert all(0 <= one <= 1e12 for one in got)
    members = [Member(_SENDERS["reno"](1.0, 2), Limits(rtt=1.0, rate=1e12, queue=1e9), 0.5)] * 2
    assert math.isfinite(shared_link(members, 1e12, 1e9).loss)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("algorithm", lambda: flow("vegas")),
        ("rtt", lambda: flow(rtt=0)),
        ("loss", lambda: flow(loss=1)),
        ("window", lambda: flow(window=0.5)),
        ("pace", lambda: flow(pace=0)),
        ("flows", lambda: limited_rates([])),
        ("rate", lambda: limited_rates([flow()], 0, 1)),
        ("queue", lambda: limited_rates([flow()], 1, -1)),
    ],
)
def test_what_has_no_sense_is_refused(name: str, make: object) -> None:
    with pytest.raises(ParameterError, match=f"^{name}: "):
        make()  # type: ignore[operator]
