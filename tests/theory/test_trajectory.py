"""Windows over time against the closed forms: both describe the same algorithms, so they must agree."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor import run, theory
from tcptutor.base.errors import ParameterError
from tcptutor.run.samples import CA_STATES
from tcptutor.theory import LAWS, Bottleneck, Source, Trajectory, trajectories
from tcptutor.theory.window_laws import Cubic
from tests.examples import examples

RATE, RTT = 100e6, 0.02
BDP = theory.bdp(RATE, RTT)


def one(path: Bottleneck, seconds: float, **source: object) -> Trajectory:
    (flow,) = trajectories(path, [Source(**source)], seconds)  # type: ignore[arg-type]
    return flow


def link(buffer_ratio: float, rate: float = RATE, rtt: float = RTT) -> Bottleneck:
    return Bottleneck(rate=rate, rtt=rtt, queue=buffer_ratio * theory.bdp(rate, rtt))


def utilisation(flows: tuple[Trajectory, ...], rate: float, after: float) -> float:
    return sum(flow.mean_throughput(after) for flow in flows) / rate


def periods(flow: Trajectory, after: float) -> list[float]:
    return [later - loss for loss, later in pairwise(flow.losses) if loss > after]


@pytest.mark.parametrize("x", [0, 0.1, 0.25, 0.5, 0.75, 1, 2])
def test_one_reno_flow_uses_what_the_sawtooth_says(x: float) -> None:
    flow = one(link(x), 200)
    assert flow.mean_throughput(60) / RATE == pytest.approx(theory.sawtooth_utilisation(x), abs=0.01)
    expected = theory.sawtooth_period(RATE, RTT, 1448, x * BDP)
    assert periods(flow, 60) == pytest.approx([expected] * len(periods(flow, 60)), rel=0.03)
    assert max(flow.cwnd[-2000:]) == pytest.approx(theory.sawtooth_peak(RATE, RTT, 1448, x * BDP), rel=0.02)


def test_the_round_trip_grows_by_the_full_queue() -> None:
    flow = one(link(1), 60)
    assert min(flow.rtt) == RTT
    assert max(flow.rtt) == pytest.approx(RTT + theory.queueing_delay(BDP, RATE))


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_flows_that_lose_in_turn_use_what_altman_says(count: int) -> None:
    # The more flows, the smaller their windows, and the shorter their periods: 17 s of one flow alone.
    seconds = max(400 / count, 60)
    flows = trajectories(link(0, 1e9), [Source()] * count, seconds)
    assert utilisation(flows, 1e9, seconds / 2) == pytest.approx(
        theory.shared_utilisation(count, 0.5), abs=0.012
    )
    assert theory.jain_index(flow.mean_throughput(seconds / 2) for flow in flows) > 0.999


def test_flows_that_lose_together_use_what_one_does() -> None:
    for count in (2, 8):
        flows = trajectories(link(0, 1e9), [Source()] * count, 400 / count, synchronised=True)
        assert utilisation(flows, 1e9, 200 / count) == pytest.approx(0.75, abs=0.01)
        assert len({flow.losses for flow in flows}) == 1


@pytest.mark.parametrize(("synchronised", "power"), [(False, 1), (True, 2)])
def test_shares_by_round_trip(synchronised: bool, power: float) -> None:
    sources = [Source(), Source(rtt=2 * RTT)]
    flows = trajectories(link(0), sources, 300, synchronised=synchronised)
    rates = [flow.mean_throughput(100) for flow in flows]
    shares = theory.rtt_shares([RTT, 2 * RTT], power=power)
    assert [rate / sum(rates) for rate in rates] == pytest.approx(shares, abs=0.02)


@pytest.mark.parametrize(
    ("algorithm", "loss", "rtt", "expected", "seconds"),
    [
        ("reno", 1e-3, 0.05, theory.reno_window(1e-3), 300),
        ("reno", 1e-4, 0.02, theory.reno_window(1e-4), 300),
        ("cubic", 1e-4, 0.02, theory.cubic_window(1e-4, 0.02), 300),  # its Reno-friendly region
        ("cubic", 1e-3, 0.3, theory.cubic_window(1e-3, 0.3), 1000),
        ("cubic", 1e-4, 0.1, theory.cubic_window(1e-4, 0.1), 1000),
        ("htcp", 1e-4, 0.02, theory.htcp_window(1e-4, 0.02), 300),
        ("htcp", 1e-4, 0.1, theory.htcp_window(1e-4, 0.1), 600),
        ("htcp", 1e-5, 0.1, theory.htcp_window(1e-5, 0.1), 600),
        ("highspeed", 1e-4, 0.02, theory.highspeed_window(1e-4), 300),
        ("highspeed", 1e-6, 0.02, theory.highspeed_window(1e-6), 600),
    ],
)
def test_periodic_losses_give_the_mean_window(
    algorithm: str, loss: float, rtt: float, expected: float, seconds: float
) -> None:
    # Slow start ends at the receiver's window. For CUBIC's curve that is the peak it should have: on its plateau it
    # comes back to it from afar only in hundreds of losses.
    curve = algorithm == "cubic" and expected > theory.reno_window(loss)
    most = expected / 0.925 if curve else 4 * expected
    flow = one(Bottleneck(rate=None, rtt=rtt), seconds, algorithm=algorithm, loss=loss, window=most)
    assert flow.mean_cwnd(seconds / 2) == pytest.approx(expected, rel=0.02)
    assert flow.mean_throughput(seconds / 2) == pytest.approx(8 * 1448 * flow.mean_cwnd(seconds / 2) / rtt)


def test_cubics_mean_over_its_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    """(3 + beta) / 4 holds for the curve itself: fast convergence would lower every other peak."""

    class Plain(Cubic):
        def cut(self, *, full: bool) -> float:
            kept = super().cut(full=full)
            self._last_peak = self.window
            return kept

    monkeypatch.setitem(LAWS, "cubic", lambda rtt, initial, most, _: Plain(rtt, initial, most))
    flow = one(link(1, rtt=0.1), 300, algorithm="cubic")
    first, last = flow.losses[5], flow.losses[-1]
    within = [(t, cwnd) for t, cwnd in zip(flow.t, flow.cwnd, strict=True) if first <= t <= last]
    area = sum((cwnd + later) / 2 * (then - t) for (t, cwnd), (then, later) in pairwise(within))
    assert area / (last - first) / max(cwnd for _, cwnd in within) == pytest.approx(0.925, rel=0.01)
    expected = theory.cubic_k(max(cwnd for _, cwnd in within), 0.7 * max(cwnd for _, cwnd in within))
    assert periods(flow, first) == pytest.approx([expected] * len(periods(flow, first)), rel=0.1)


def test_cubic_does_not_depend_on_the_round_trip_above_its_friendly_region() -> None:
    slow, fast = (one(link(1, rtt=rtt), 200, algorithm="cubic") for rtt in (0.1, 0.2))
    for flow, rtt in ((slow, 0.1), (fast, 0.2)):
        peak = theory.sawtooth_peak(RATE, rtt, 1448, theory.bdp(RATE, rtt))
        mean = sum(periods(flow, 20)) / len(periods(flow, 20))
        # Every other peak is lower by fast convergence, so that a period is between K and twice as much.
        assert theory.cubic_k(peak, 0.7 * peak) * 0.9 < mean < 2 * theory.cubic_k(peak, 0.7 * peak)


def test_hystart_ends_cubics_slow_start_before_the_queue_overflows() -> None:
    cubic, reno = (one(link(2), 0.3, algorithm=name) for name in ("cubic", "reno"))
    assert cubic.losses == ()
    assert max(cubic.cwnd) < 0.7 * theory.sawtooth_peak(RATE, RTT, 1448, 2 * BDP)
    doubled = [later > 1.9 * cwnd for cwnd, later in pairwise(cubic.cwnd)]
    assert cubic.cwnd[doubled.index(False)] < BDP / 1448
    assert max(reno.cwnd) > 1.5 * theory.sawtooth_peak(RATE, RTT, 1448, 2 * BDP)


def test_slow_start_takes_its_time() -> None:
    flow = one(Bottleneck(rate=None, rtt=0.05), 0.5, window=160)
    reached = next(t for t, cwnd in zip(flow.t, flow.cwnd, strict=True) if cwnd >= 160 - 1e-6)
    assert reached == pytest.approx(theory.slow_start_duration(160, 0.05))
    assert flow.cwnd[-1] == 160
    assert flow.throughput[-1] == pytest.approx(theory.window_limited(160 * 1448, 0.05))


def test_htcp_drains_the_queue_and_no_more() -> None:
    flow = one(link(0.5), 100, algorithm="htcp")
    after = [cwnd for t, cwnd in zip(flow.t, flow.cwnd, strict=True) if t > 20]
    assert min(after) / max(after) == pytest.approx(theory.htcp_beta(RTT, 1.5 * RTT), rel=0.02)
    assert flow.mean_throughput(20) == pytest.approx(RATE, rel=0.005)


def test_bbr_fills_the_link_and_keeps_the_queue_short() -> None:
    flow = one(link(4), 60, algorithm="bbr")
    assert 0.975 < flow.mean_throughput(10) / RATE < 0.99  # 200 ms of every 10 s go to the round trip
    assert flow.mean_rtt(10) < 1.05 * RTT
    assert flow.losses == ()
    cruise = [cwnd for t, cwnd in zip(flow.t, flow.cwnd, strict=True) if 5 < t < 9]
    assert cruise == pytest.approx([theory.bbr_window(RATE, RTT, 1448)] * len(cruise))


def test_bbr_does_not_answer_losses() -> None:
    lossy = one(link(1), 60, algorithm="bbr", loss=0.01)
    assert lossy.mean_throughput(10) / RATE > 0.97
    assert one(link(1), 60, algorithm="reno", loss=0.01).mean_throughput(10) / RATE < 0.1


def test_given_losses_cut_the_window_at_their_moments() -> None:
    flow = one(Bottleneck(rate=None, rtt=0.05), 5, losses=(2.0, 1.0, 1.01))
    assert flow.losses == (1.0, 2.0)  # that at 1.01 s is of the same round trip
    before, after = (flow.cwnd[flow.t.index(1.0)], flow.cwnd[flow.t.index(1.0) + 1])
    assert after == before / 2


def test_a_late_flow_gets_its_share() -> None:
    early, late = trajectories(link(1), [Source(), Source(start=20.0)], 200)
    assert late.t[0] == 20
    assert late.at(10) is None
    assert early.at(10) is not None
    shares = [flow.mean_throughput(120) / RATE for flow in (early, late)]
    assert shares == pytest.approx([0.5, 0.5], abs=0.05)


@pytest.mark.parametrize("name", ["full-link", "short-queue"])
def test_linux_draws_the_same_sawtooth(name: str) -> None:
    """Runs of the real lab that are kept for the analysis: one Reno flow over one BDP of queue, and a quarter."""
    kept = run.load(Path(__file__).parents[1] / "analysis" / "runs" / f"{name}.tcprun")
    path, payload = kept.experiment.path, theory.goodput_ratio(1500)
    assert path.rate is not None
    expected = one(Bottleneck(rate=path.rate * payload, rtt=path.delay, queue=path.queue * payload), 50)
    windows = [sample.cwnd for sample in kept.samples if sample.t > 10]
    late = [cwnd for t, cwnd in zip(expected.t, expected.cwnd, strict=True) if t > 10]
    assert sum(windows) / len(windows) == pytest.approx(expected.mean_cwnd(10), rel=0.04)
    assert max(windows) == pytest.approx(max(late), rel=0.03)
    assert min(windows) == pytest.approx(min(late), rel=0.04)
    recovering = [sample.ca_state == CA_STATES.index("recovery") for sample in kept.samples if sample.t > 10]
    cuts = sum(later and not now for now, later in pairwise(recovering))
    assert cuts == pytest.approx(sum(loss > 10 for loss in expected.losses), rel=0.1)


@settings(max_examples=examples(40))
@given(
    st.lists(st.sampled_from(sorted(LAWS)), min_size=1, max_size=4),
    st.floats(1e6, 1e9),
    st.floats(0.002, 0.3),
    st.floats(0, 4),
    st.floats(0, 0.05),
)
def test_no_law_leaves_its_bounds(
    names: list[str], rate: float, rtt: float, buffer_ratio: float, loss: float
) -> None:
    path = link(buffer_ratio, rate, rtt)
    flows = trajectories(path, [Source(algorithm=name, loss=loss) for name in names], 200 * rtt)
    longest = rtt + theory.queueing_delay(path.queue, rate)
    for flow in flows:
        assert len(flow.t) == len(flow.cwnd) == len(flow.rtt) == len(flow.throughput)
        assert all(later >= t for t, later in pairwise(flow.t))
        assert flow.t[-1] == pytest.approx(200 * rtt)
        assert min(flow.cwnd) >= 2
        assert rtt <= min(flow.rtt)
        assert max(flow.rtt) <= longest * (1 + 1e-9)
    for at in zip(*(flow.throughput for flow in flows), strict=True):
        assert sum(at) <= rate * (1 + 1e-9)


@given(st.sampled_from(sorted(LAWS)))
@settings(max_examples=examples(5))
def test_the_same_again_is_the_same(name: str) -> None:
    flows = [Source(algorithm=name)] * 3
    assert trajectories(link(1), flows, 3) == trajectories(link(1), flows, 3)


def test_a_minute_of_eight_flows_is_soon_there() -> None:
    begin = time.process_time()
    trajectories(link(1), [Source(algorithm="cubic")] * 8, 60)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    ("begins", "change"),
    [
        ("rate: 0", {"rate": 0}),
        ("rtt: -1", {"rtt": -1}),
        ("queue: -1", {"queue": -1}),
        ("mss: 0", {"mss": 0}),
        ("algorithm: vegas", {"algorithm": "vegas"}),
        ("start: -1", {"start": -1}),
        ("losses: -1", {"losses": (-1,)}),
        ("loss: 2", {"loss": 2}),
        ("initial: 0", {"initial": 0}),
        ("window: 0", {"window": 0}),
        ("duration: 0", {"duration": 0}),
        ("duration: 1e+09", {"duration": 1e9}),
        ("flows: none", {"flows": []}),
    ],
)
def test_what_cannot_be_computed_is_refused_by_name(begins: str, change: dict[str, object]) -> None:
    def of(names: tuple[str, ...]) -> dict[str, object]:
        return {name: value for name, value in change.items() if name in names}

    with pytest.raises(ParameterError) as error:
        path = Bottleneck(**({"rate": RATE, "rtt": RTT} | of(("rate", "rtt", "queue", "mss"))))  # type: ignore[arg-type]
        flow = Source(**of(("algorithm", "start", "losses", "loss", "initial", "window")))  # type: ignore[arg-type]
        trajectories(path, change.get("flows", [flow]), change.get("duration", 1))  # type: ignore[arg-type]
    assert str(error.value).startswith(begins + " is out of bounds: ")


def test_a_mean_needs_time_to_be_taken_over() -> None:
    flow = one(link(1), 1)
    with pytest.raises(ParameterError, match=r"^after: 1 is out of bounds"):
        flow.mean_cwnd(1)
