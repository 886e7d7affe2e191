"""A sentence is about a time, and what it says is of that time: changes of the path, growth, transfers, many flows."""

from __future__ import annotations

import pytest

from tcptutor.analysis import explain, report

from .audit import problems
from .synthetic import Value, experiment, losing, numbers, run_of, samples, with_queue

LINK = 100e6 * 1448 / 1514


def test_what_waits_is_by_the_rate_then() -> None:
    """125 kB take 10 ms at 100 Mbit/s, and 100 ms at 10 Mbit/s."""
    made = experiment(changes="7 s rate=10 Mbit/s", duration="10 s", warmup="2 s")
    sent: Value = lambda t: LINK * (min(t, 7) + max(0.0, t - 7) / 10)  # noqa: E731
    rtt: Value = lambda t: 0.06 if t < 7 else 0.15  # noqa: E731
    verdict = explain(with_queue(run_of(made, sent, rtt=rtt), waiting=125_000))
    assert numbers(verdict).queue_s == pytest.approx((5 * 0.01 + 5 * 0.1) / 10, rel=0.02)
    assert "its queue adds 100 ms" in verdict.sentence


def test_drops_before_a_change_are_no_evidence_for_the_time_after_it() -> None:
    """A longer delay makes room: the window grows, and the queue drops no more."""
    made = experiment(changes="7 s delay=200 ms", duration="10 s", warmup="2 s", queue="200 kB")
    window: Value = lambda t: 200 + 40 * (t % 1) if t < 7 else 200 + 30 * (t - 7)  # noqa: E731
    late: Value = lambda t: 200 * max(0.0, t - 7) + 15 * max(0.0, t - 7) ** 2  # noqa: E731
    sent: Value = lambda t: LINK * min(t, 7) + 8 * 1448 / 0.2 * late(t)  # noqa: E731
    run = run_of(
        made, sent, cwnd=window, rtt=lambda t: 0.06 if t < 7 else 0.2, retransmits=lambda t: int(min(t, 6.9)),
        ssthresh=lambda t: 150 + int(min(t, 6.9)) % 2,
    )  # fmt: skip
    verdict = explain(with_queue(run, drops=lambda t: int(min(t, 6.9)), waiting=lambda t: 90_000 * (t < 7)))
    assert verdict.sentence.startswith("at 7 s the delay became 200 ms: the window was still growing")
    assert "dropped" not in verdict.sentence
    assert verdict.flows[0].seconds[-2].limited_by == "growing"


def test_losses_that_have_ended_are_no_evidence_for_the_time_after_it() -> None:
    made = experiment(changes="7 s loss=0", loss="1 %", duration="10 s", warmup="2 s")
    window: Value = lambda t: 20 + 10 * (t % 1) if t < 7 else 20 + 10 * (t - 7)  # noqa: E731
    run = run_of(
        made, lambda t: 5e6 * t + 1e6 * max(0.0, t - 7) ** 2, cwnd=window,
        retransmits=lambda t: int(min(t, 6.9)), ssthresh=lambda t: 15 + int(min(t, 6.9)) % 2,
    )  # fmt: skip
    verdict = explain(with_queue(run))
    assert verdict.sentence.startswith("at 7 s the loss became 0 %: the window was still growing")
    assert "(before: random loss)" in verdict.sentence


def test_growth_that_ends_in_an_overflow_is_growth() -> None:
    """A cut in the warm-up, ten seconds of growth, and two drops at the end of them."""
    window: Value = lambda t: 200 if t < 0.3 else 60 + 20 * t  # noqa: E731
    drops: Value = lambda t: 0 if t < 0.3 else 20 if t < 11.8 else 22  # noqa: E731
    run = run_of(
        experiment(queue="0.1 BDP"), lambda t: 2e6 * t * t + 20e6 * t, cwnd=window, retransmits=drops,
        ssthresh=lambda t: 500 if t < 0.3 else 60 if t < 11.8 else 130,
    )  # fmt: skip
    verdict = explain(with_queue(run, drops=drops))
    assert verdict.limited_by == "growing"
    assert "still growing" in verdict.sentence


def test_a_cut_after_which_the_link_stays_full_costs_nothing() -> None:
    """A transfer that grows for 0.7 s, loses segments at once, and ends while the queue still feeds the link."""
    made = experiment(bytes="6 MB", duration="10 s", warmup="0 s")
    sent: Value = lambda t: min(48e6, LINK / 2 * min(t, 0.6) ** 2 + LINK * max(0.0, t - 0.6))  # noqa: E731
    drops: Value = lambda t: 300 if t > 0.7 else 0  # noqa: E731
    run = run_of(
        made, sent, cwnd=lambda t: 10 + 1000 * min(t, 0.7), retransmits=drops, unacked=lambda t: 10 + 900 * min(t, 0.7),
        ssthresh=lambda t: 500 if t > 0.7 else 2**31 - 1,
    )  # fmt: skip
    verdict = explain(with_queue(run, drops=drops, waiting=lambda t: 300_000 * (0.7 < t < 1.05)))
    assert verdict.limited_by == "growing"
    assert "dropped" not in verdict.sentence


def test_the_time_after_a_transfer_is_nobodys() -> None:
    """Four short transfers that end one after the other: none of their applications was idle."""
    made = experiment(bytes="50 kB", streams="4", duration="10 s", warmup="0 s")
    run = run_of(
        made, *[lambda t, end=0.1 + 0.05 * flow: min(4e5, 4e5 * t / end) for flow in range(4)],
        cwnd=lambda t: 10 + 100 * min(t, 0.25), busy=lambda t: min(t, 0.25),
    )  # fmt: skip
    verdict = explain(run)
    assert {flow.limited_by for flow in verdict.flows} == {"growing"}
    assert numbers(verdict).busy == 1
    assert all(flow.seconds[-1].end < 0.3 for flow in verdict.flows)


def test_a_window_that_cannot_move_on_is_not_the_limit() -> None:
    """A hole pins the window's left edge: the kernel counts it as full at a fiftieth of what it would give."""
    state: dict[str, Value] = {
        "ca_state": lambda t: 3 * (t > 0.5),
        "snd_wnd": 2_160_000,
        "rwnd_limited": lambda t: 0.6 * t,
    }
    made = experiment(tcp_sack="0")
    run = run_of(
        made,
        8e6,
        retransmits=lambda t: 20 * max(0.0, t - 0.5),
        ssthresh=lambda t: 90 if t > 0.5 else 200,
        **state,
    )
    verdict = explain(with_queue(run, drops=lambda t: 190 if t > 0.4 else 0))
    assert verdict.limited_by == "bottleneck"
    assert "without SACK a round trip repairs one lost segment" in verdict.sentence


def test_flows_count_by_the_bytes_that_they_carry() -> None:
    """One that carries next to nothing and is held in its host says nothing of all."""
    run = with_queue(run_of(experiment(streams="2"), LINK * 0.97, rtt=0.07), waiting=200_000)
    held: dict[str, Value] = {"notsent": 100_000, "unacked": 2, "cwnd": 60}
    run.samples.extend(samples(1, 1e5, 12, held))
    run.samples = type(run.samples)(sorted(run.samples, key=lambda row: row.t))
    verdict = explain(run)
    assert verdict.limited_by == "bottleneck"
    assert numbers(verdict).host_limited < 0.01
    assert "1 of 2 flows got next to nothing" in verdict.sentence


def test_flows_that_starve_beside_a_full_link_are_counted() -> None:
    waits: dict[str, Value] = {"total_rto": lambda t: int(t), "ca_state": 4, "unacked": 1}
    run = run_of(experiment(streams="5"), LINK / 2, LINK / 2, rtt=0.075, **losing(2))
    for flow in (2, 3, 4):
        run.samples.extend(samples(flow, 0, 12, waits))
    run.samples = type(run.samples)(sorted(run.samples, key=lambda row: row.t))
    verdict = explain(run)
    assert verdict.limited_by == "bottleneck"
    assert "3 of 5 flows got nothing" in verdict.sentence
    assert verdict.flows[3].limited_by == "timeout"


def test_one_flow_of_several_is_not_told_the_drops_of_all() -> None:
    made = experiment(streams="2", queue="0.02 BDP")
    run = with_queue(run_of(made, LINK * 0.38, LINK * 0.38, **losing(3)), drops=lambda t: 2 * int(t / 3))
    verdict = explain(run)
    assert "8 dropped" in verdict.sentence
    for flow in verdict.flows:
        assert flow.sentence == "the bottleneck's short queue overflows: 4 retransmitted"


def test_retransmissions_of_what_had_arrived_are_reordering_though_the_queue_drops() -> None:
    state = losing(1) | {"reord_seen": lambda t: 30 * t, "dsack_dups": lambda t: 0.8 * t}
    run = run_of(experiment(reorder="1 %"), LINK * 0.88, **(state | {"retransmits": lambda t: int(t)}))
    verdict = explain(with_queue(run, drops=lambda t: int(t / 5), waiting=90_000))
    assert verdict.limited_by == "reordering"
    assert "8 of 10 retransmissions were needless" in verdict.sentence
    # Both counters count the same segments: no sum of theirs is told.
    assert numbers(verdict).reordered == 300


def test_the_window_is_the_one_that_was_advertised() -> None:
    made = experiment(window="6 kB", rate="10 Mbit/s")
    verdict = explain(run_of(made, 0.73e6, snd_wnd=4608, rwnd_limited=lambda t: t))
    assert verdict.sentence.startswith(
        "the receiver's window, 4.61 kB (6 kB set), was full 100 % of the time"
    )


def test_data_the_other_way_that_fills_the_reverse_path_is_named() -> None:
    made = experiment(streams="2", directions="forward, reverse", reverse_rate="1 Mbit/s")
    run = run_of(made, 40e6, rtt=0.25)
    run.samples.extend(samples(1, 0.3e6, 12, {"rtt": 0.25}))
    run.samples = type(run.samples)(sorted(run.samples, key=lambda row: row.t))
    verdict = explain(with_queue(run))
    assert verdict.limited_by == "bottleneck"
    assert verdict.sentence.startswith("data fills the reverse path, 1 Mbit/s: its queue adds 200 ms")


def test_where_flows_go_both_ways_the_sentence_is_about_the_direction_with_most_data() -> None:
    """Three drops of the forward queue and ten retransmissions of a reversed flow were told in one clause."""
    made = experiment(streams="2", directions="forward, reverse", rate="10 Mbit/s", reverse_rate="10 Mbit/s")
    run = run_of(made, 1e6, **losing(4) | {"rtt": 0.2, "cwnd": 17})
    run.samples.extend(samples(1, 9.55e6, 12, {**losing(0.5), "rtt": 0.2, "min_rtt": 0.05, "cwnd": 165}))
    run.samples = type(run.samples)(sorted(run.samples, key=lambda row: row.t))
    run = with_queue(run, drops=lambda t: int(t / 4))
    verdict = explain(run)
    assert verdict.limited_by == "bottleneck"
    assert verdict.sentence.startswith(
        "in the reverse direction the bottleneck is full, its queue adds 150 ms"
    )
    assert not list(problems(run, report(run)))
