"""Why a run was limited: one for each cause, from what the kernel would report of it."""

from __future__ import annotations

from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor.analysis import explain, measure, report
from tcptutor.analysis.compared.clauses import CLAUSES, figures
from tcptutor.analysis.compared.findings import RULES, conclude
from tcptutor.analysis.observed.facts import observe
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.run import Fidelity, FlowResult, Run, Sample, SampleTable

from .audit import problems
from .synthetic import (
    Value,
    at_different_times,
    empty,
    experiment,
    losing,
    numbers,
    run_of,
    samples,
    with_queue,
)

LINK = 100e6 * 1448 / 1514


def test_random_loss() -> None:
    run = run_of(experiment(loss="0.1 %", streams="8"), *[9.5e6] * 8, **losing(1.3))
    verdict = explain(run)
    assert verdict.limited_by == "random-loss"
    assert verdict.sentence == "random loss, 0.1 %, cut the window 64 times; the link is 79 % used"
    assert numbers(verdict).loss_events == 8 * 8  # one every 1.3 s in the 10 s after the warm-up
    assert numbers(verdict).link_used == pytest.approx(76 / 95.64, rel=0.01)


def test_a_full_bottleneck() -> None:
    run = run_of(experiment(), LINK * 0.995, rtt=0.075, **losing(4))
    verdict = explain(run)
    assert verdict.limited_by == "bottleneck"
    assert verdict.sentence == "the bottleneck is full, its queue adds 25 ms; the link is 100 % used"


def test_a_bottleneck_with_a_short_queue() -> None:
    run = run_of(experiment(queue="0.02 BDP"), LINK * 0.77, **losing(3))
    told = explain(with_queue(run, drops=lambda t: 2 * int(t / 3)))
    assert told.limited_by == "bottleneck"
    assert (
        told.sentence
        == "the bottleneck's short queue overflows: 8 dropped, 4 retransmitted; the link is 77 % used"
    )
    # Without samples of the queue nobody has seen it; and one that dropped nothing did not overflow.
    unseen = explain(run_of(experiment(queue="0.02 BDP"), LINK * 0.77, **losing(3)))
    assert unseen.sentence.startswith("4 segments were retransmitted: a queue overflowed")
    empty_queue = explain(with_queue(run_of(experiment(queue="0.02 BDP"), LINK * 0.77, **losing(3))))
    assert "overflow" not in empty_queue.sentence


def test_the_queues_own_samples_tell_what_it_adds() -> None:
    """Round trips that differ are no queue, and what fq holds back in the sender is none of the bottleneck's."""
    run = with_queue(run_of(experiment(), LINK * 0.995, rtt=0.09, min_rtt=0.05), waiting=125_000)
    assert explain(run).sentence.startswith("the bottleneck is full, its queue adds 10 ms")
    made = experiment(pairs=4, maxrate="24 Mbit/s")
    paced = run_of(made, *[24e6 * 1448 / 1514] * 4, rtt=0.07)
    assert explain(with_queue(paced)).sentence.startswith("fq paces each flow at 24 Mbit/s")


def test_where_data_waits_in_the_sender_the_lower_pace_is_told() -> None:
    for fq, application, said in (
        ("10 Mbit/s", "20 Mbit/s", "fq paces each flow at 10"),
        ("20 Mbit/s", "10 Mbit/s", "the application paces each flow at 10"),
    ):
        run = run_of(experiment(maxrate=fq, pacing=application), 9.56e6)
        assert explain(run).sentence.startswith(said)
    # By hand nobody has said what the pace is: the socket shows it.
    by_hand = run_of(experiment(), 5e6, pacing_rate=5e6, notsent=100_000, unacked=20, cwnd=60)
    assert explain(by_hand).sentence.startswith("the application paces each flow at 5 Mbit/s")
    # And where nothing shows what holds it, that it is held is shown.
    held = run_of(experiment(), 3e6, notsent=100_000, unacked=20, cwnd=60)
    assert explain(held).limited_by == "pacing"
    assert explain(held).sentence.startswith("data waits in the sender 100 % of the time")


def test_what_nothing_shows_is_not_explained() -> None:
    verdict = explain(with_queue(run_of(experiment(), 40e6)))
    assert verdict.limited_by == "unexplained"
    assert verdict.sentence.startswith("not explained")


def test_a_way_back_without_room_for_acknowledgements() -> None:
    run = run_of(experiment(reverse_rate="200 kbit/s"), 9e6, rtt=0.2)
    verdict = explain(with_queue(run))
    assert verdict.limited_by == "bottleneck"
    assert verdict.sentence.startswith("the reverse path, 200 kbit/s, has no room for more acknowledgements")
    # The window fills with what is not acknowledged: that is no cause of its own.
    full = run_of(experiment(reverse_rate="200 kbit/s"), 9e6, rtt=0.2, rwnd_limited=lambda t: 0.65 * t)
    assert explain(with_queue(full)).sentence == verdict.sentence


def test_acknowledgements_that_wait_nowhere_do_not_fill_the_way_back() -> None:
    """The window was full, and twice as much room on the way back made no difference."""
    made = experiment(rate="12 Mbit/s", delay="34.5 ms", reverse_rate="94.5 kbit/s", window="19.6 kB")
    full: dict[str, Value] = {"snd_wnd": 18_432, "unacked": 12, "cwnd": 30, "rwnd_limited": lambda t: t}
    quick = with_queue(run_of(made, 4.03e6, rtt=0.03456, min_rtt=0.03453, **full))
    assert report(quick).verdict.limited_by == "receive-window"
    assert not list(problems(quick, report(quick)))
    late = with_queue(run_of(made, 4.03e6, rtt=0.045, min_rtt=0.03453, **full))
    assert explain(late).sentence.startswith("the reverse path, 94.5 kbit/s, has no room")


def test_a_way_back_is_full_of_an_acknowledgement_for_each_segment() -> None:
    """A window that grows behind a queue of acknowledgements was called the limit."""
    made = experiment(rate="1.6 Mbit/s", delay="12 ms", reverse_rate="22 kbit/s")
    growing: dict[str, Value] = {
        "cwnd": lambda t: 100 + 40 * t,
        "rtt": lambda t: 0.5 + 0.5 * t,
        "min_rtt": 0.0125,
    }
    run = with_queue(run_of(made, 0.487e6, **growing))
    assert report(run).verdict.limited_by == "bottleneck"
    assert report(run).verdict.sentence.startswith("the reverse path, 22 kbit/s, has no room")
    assert not list(problems(run, report(run)))
    # Where the time passes in the bottleneck's own queue, or nowhere, half of the way back is not what limits.
    here = with_queue(run_of(made, 0.487e6, **growing), waiting=lambda t: 1.6e6 / 8 * (0.5 + 0.5 * t))
    assert "reverse path" not in explain(here).sentence
    quick = with_queue(run_of(made, 0.487e6, **growing | {"rtt": 0.0126}))
    assert "reverse path" not in explain(quick).sentence


def test_a_connection_that_is_not_made_yet_waits_for_timeouts() -> None:
    """The SYN was lost, and the next one too: the application has nothing to do with it."""
    made = experiment(loss="50 %", rate="10 Mbit/s", delay="20 ms", duration="4 s", warmup="0 s")
    run = run_of(
        made,
        lambda t: 8e5 * max(0.0, t - 3),
        rtt=lambda t: 0 if t < 3 else 0.02,
        min_rtt=lambda t: 0 if t < 3 else 0.02,
        unacked=lambda t: 1 if t < 3 else 10,
        cwnd=lambda t: 10 if t < 1 else 1,
        busy=lambda t: max(0.0, t - 3),
        app_limited=1,
        ca_state=lambda t: 4 if 1 <= t < 3 else 0,
        total_rto=lambda t: 0 if t < 1 else 1 if t < 3 else 2,
        delivered=lambda t: 0 if t < 3 else 10,
    )
    verdict = explain(run)
    assert verdict.limited_by == "timeout"
    assert verdict.sentence.startswith("waiting for timeouts (2 of them) took 7")
    assert [second.limited_by for second in verdict.flows[0].seconds[:3]] == ["timeout"] * 3
    assert numbers(verdict).busy == pytest.approx(1.0, abs=0.06)


def test_a_cut_link_is_told_from_when_to_when() -> None:
    made = experiment(changes="4 s link=down; 8 s link=up", duration="10 s", warmup="0 s")
    sent: Value = lambda t: LINK * (min(t, 4) + max(0.0, t - 8))  # noqa: E731
    sentence = explain(with_queue(run_of(made, sent, rtt=0.075), waiting=200_000)).sentence
    assert sentence.startswith("the link was cut from 4 to 8 s; ")
    open_end = experiment(changes="4 s link=down", duration="10 s", warmup="0 s")
    lost = explain(run_of(open_end, lambda t: LINK * min(t, 4), rtt=0.075)).sentence
    assert lost.startswith("the link was cut from 4 to 10 s; ")


def test_of_a_stretch_the_use_of_the_link_is_that_of_the_stretch() -> None:
    """Half of the time the application has nothing to send; then the link is full, and that is what is told."""
    sent: Value = lambda t: LINK * max(0.0, t - 5)  # noqa: E731
    waiting: Value = lambda t: 200_000 if t > 5 else 0  # noqa: E731
    run = with_queue(run_of(experiment(warmup="0 s"), sent, rtt=0.06), waiting=waiting)
    sentence = explain(run).sentence
    assert sentence.startswith("from ") and sentence.endswith("the link is then 100 % used")


def test_many_lossy_flows_that_fill_the_link_are_limited_by_it() -> None:
    run = run_of(experiment(loss="0.1 %", streams="16"), *[95.1e6 / 16] * 16, rtt=0.06, **losing(1.1))
    assert explain(run).limited_by == "bottleneck"


def test_the_receivers_window_by_the_kernels_count() -> None:
    run = run_of(experiment(window="64 KiB"), 10.4e6, snd_wnd=65536, rwnd_limited=lambda t: 0.9 * t)
    verdict = explain(run)
    assert verdict.limited_by == "receive-window"
    assert (
        verdict.sentence == "the receiver's window, 65.5 kB, was full 90 % of the time; the link is 11 % used"
    )


def test_the_receivers_window_by_what_is_in_flight() -> None:
    run = run_of(experiment(window="64 KiB"), 10.4e6, snd_wnd=65536, cwnd=90, rwnd_limited=lambda t: 0.2 * t)
    assert explain(run).limited_by == "receive-window"


def test_a_window_of_just_the_path_is_still_the_limit() -> None:
    run = run_of(experiment(window="1 BDP"), LINK * 0.97, snd_wnd=625_000, rwnd_limited=lambda t: 0.9 * t)
    assert explain(run).limited_by == "receive-window"
    # With a queue behind it a larger window would gain nothing.
    queued = run_of(
        experiment(window="2 BDP"), LINK, rtt=0.1, snd_wnd=1_250_000, rwnd_limited=lambda t: 0.9 * t
    )
    assert explain(queued).limited_by == "bottleneck"


def test_the_send_buffer() -> None:
    verdict = explain(run_of(experiment(), 20e6, sndbuf_limited=lambda t: 0.7 * t, app_limited=1))
    assert verdict.limited_by == "send-buffer"
    assert "70 %" in verdict.sentence


def test_an_application_that_has_nothing_to_send() -> None:
    verdict = explain(run_of(experiment(), 20e6, busy=lambda t: 0.3 * t))
    assert verdict.limited_by == "application"
    assert verdict.sentence == "the application had data to send 30 % of the time; the link is 21 % used"


def test_an_application_that_writes_too_little() -> None:
    assert explain(run_of(experiment(), 20e6, app_limited=1, unacked=20)).limited_by == "application"


def test_pacing() -> None:
    run = run_of(experiment(pairs=4, pacing="23 Mbit/s"), *[22.9e6] * 4)
    verdict = explain(run)
    assert verdict.limited_by == "pacing"
    assert verdict.sentence.startswith("the application paces each flow at 23 Mbit/s")
    # Slower than its pace, something else holds it.
    assert (
        explain(run_of(experiment(pacing="50 Mbit/s", loss="0.1 %"), 9e6, **losing(1))).limited_by
        == "random-loss"
    )


def test_still_growing() -> None:
    verdict = explain(run_of(experiment(), lambda t: 2e6 * t * t, cwnd=lambda t: 20 + 10 * t))
    assert verdict.limited_by == "growing"
    assert "growing" in verdict.sentence


def test_reordering() -> None:
    run = run_of(experiment(jitter="5 ms"), 20e6, **(losing(2) | {"reord_seen": lambda t: 4 * t}))
    verdict = explain(run)
    assert verdict.limited_by == "reordering"
    assert numbers(verdict).reordered == 40


def test_cuts_that_are_taken_back_do_not_hide_random_loss() -> None:
    """Of two lost segments a second the window never recovers; of six that were only late it does at once."""
    made = experiment(rate="20 Mbit/s", loss="0.6 %", reorder="1 %")
    state: dict[str, Value] = {
        "cwnd": lambda t: 20 + 15 * (t % 1),
        "ssthresh": lambda t: 20 + int(2 * t) % 2,
        "retransmits": lambda t: int(t) + 6 * int(t + 0.5),
        "dsack_dups": lambda t: 6 * int(t + 0.45),
        "reord_seen": lambda t: 20 * int(t + 0.5),
    }
    run = with_queue(run_of(made, 6e6, **state))
    found = report(run)
    assert found.verdict.limited_by == "random-loss"
    assert found.verdict.sentence.startswith("random loss, 0.6 %, cut the window 10 times")
    assert not list(problems(run, found))
    # Without a loss of the path the same samples are reordering.
    calm = experiment(rate="20 Mbit/s", reorder="1 %")
    assert explain(with_queue(run_of(calm, 6e6, **state))).limited_by == "reordering"


def test_timeouts() -> None:
    def in_bursts(t: float) -> float:
        return 1e6 * (int(t) + min(1.0, 2 * (t % 1)))  # half of each second without an ACK

    run = run_of(
        experiment(loss="10 %"), in_bursts, retransmits=lambda t: int(t), ssthresh=lambda t: 2 + int(t) % 2
    )
    verdict = explain(run)
    assert verdict.limited_by == "timeout"
    assert numbers(verdict).stalled == pytest.approx(0.5, abs=0.05)


def test_data_that_flows_in_the_state_of_loss_waits_for_nothing() -> None:
    """The kernel stays in it until all is repaired; waiting is the time in which nothing is acknowledged."""
    run = run_of(experiment(loss="10 %"), 3e5, retransmits=lambda t: int(9 * t), ca_state=4)
    assert numbers(explain(run)).stalled == 0
    assert explain(run).limited_by != "timeout"


def test_bbr_is_not_limited_by_random_loss() -> None:
    run = run_of(experiment(algorithm="bbr", loss="1 %"), LINK * 0.9, **losing(0.3))
    assert explain(run).limited_by == "bottleneck"


def test_random_loss_lowers_bbrs_rate_and_does_not_cut_its_window() -> None:
    """At 15 % it never leaves recovery, or now and then: its window is no less for that."""
    made = experiment(algorithm="bbr", loss="15 %", delay="40 ms")
    for recoveries in ({"ca_state": 3, "retransmits": lambda t: int(300 * t)}, losing(0.5)):
        verdict = explain(run_of(made, LINK * 0.4, **recoveries))
        assert verdict.limited_by == "random-loss"
        assert verdict.sentence.startswith(
            "random loss, 15 %, keeps the rate that BBR measures below the link's"
        )


def test_flows_one_after_the_other_do_not_use_the_link_twice() -> None:
    verdict = explain(at_different_times(50e6, 5, 5, loss="0.1 %", **losing(0.5)))
    assert numbers(verdict).throughput_bps == pytest.approx(50e6, rel=0.01)
    assert numbers(verdict).link_used == pytest.approx(50e6 / LINK, rel=0.01)
    assert numbers(verdict).link_share == pytest.approx(50e6 / LINK, rel=0.01)
    assert verdict.limited_by == "random-loss"
    assert verdict.sentence.endswith("the link is 52 % used")


def test_the_link_is_used_until_the_last_byte_has_arrived() -> None:
    made = experiment(bytes="20 MB", streams="2", warmup="0 s", duration="20 s")
    run = run_of(made, lambda t: min(160e6, t * 40e6), lambda t: min(160e6, t * 20e6))
    assert numbers(explain(run)).link_used == pytest.approx(320e6 / 8 / LINK, rel=0.02)
    assert numbers(explain(run)).throughput_bps == report(run).throughput_bps


def test_a_path_without_a_rate_is_limited_by_the_computer() -> None:
    run = run_of(experiment(rate="none", delay="0"), 5e9, rtt=2e-4, min_rtt=5e-5)
    assert explain(run).limited_by == "unexplained"
    run.fidelity = Fidelity(status="valid", checks={"busiest processor": 0.97})
    verdict = explain(run)
    assert verdict.limited_by == "bottleneck"
    assert "computer" in verdict.sentence
    assert numbers(verdict).link_used is None


@pytest.mark.parametrize(("processor", "write", "cause"), [
    (0.97, None, "bottleneck"), (0.5, None, "application"), (0.97, "100 B", "application"),
])  # fmt: skip
def test_a_program_that_gets_no_processor_time_is_not_called_slow(
    processor: float, write: str | None, cause: str
) -> None:
    settings = {} if write is None else {"length": write}
    run = run_of(
        experiment(rate="none", delay="0", **settings), 5e7, rtt=2e-4, min_rtt=5e-5,
        busy=lambda t: 0.6 * t,
    )  # fmt: skip
    run.fidelity = Fidelity(status="suspect", checks={"busiest processor": processor})
    assert explain(run).limited_by == cause


def test_only_the_measured_time_counts() -> None:
    # During the warm-up the flow waited for the receiver and lost segments; afterwards only the window grows.
    run = run_of(
        experiment(warmup="5 s"), 20e6, rwnd_limited=lambda t: min(t, 5), cwnd=lambda t: 10 + 5 * t,
        retransmits=lambda t: min(50, int(20 * t)), ssthresh=lambda t: 20 if t < 5 else 30,
    )  # fmt: skip
    verdict = explain(run)
    assert verdict.limited_by == "growing"
    assert numbers(verdict).retransmits == 0


CUT = "cut short before anything could be measured"


@pytest.mark.parametrize("until", [0.0, 0.05, 1.0, 2.0])
def test_a_run_that_was_cut_before_the_measured_time(until: float) -> None:
    run = run_of(experiment(warmup="2 s"), 9e6, until=until)
    assert (explain(run).limited_by, explain(run).sentence) == ("unexplained", CUT)
    assert report(run).note == CUT
    assert report(run).throughput_bps == 0


def test_runs_without_samples() -> None:
    assert explain(empty(experiment())).sentence == CUT
    assert explain(empty(experiment(), complete=True)).sentence == "nothing was measured"


def test_a_missing_flow_is_left_out() -> None:
    run = run_of(experiment(loss="0.1 %", streams="3"), 9e6, 9e6, **losing(1))
    run.samples.extend(samples(2, 9e6, 0, {}))
    assert explain(run).limited_by == "random-loss"
    assert report(run).throughput_bps == pytest.approx(18e6, rel=1e-3)


def test_results_without_samples_are_explained_by_what_they_tell() -> None:
    run = empty(experiment(loss="0.1 %"), complete=True)
    run.flows = [
        FlowResult(
            flow=0, pair=0, throughput_bps=9e6, retransmits=8, losses=8, segments=8000, mean_rtt_s=0.05,
            mean_cwnd_segments=40, mss=1448,
        )
    ]  # fmt: skip
    assert explain(run).limited_by == "random-loss"


def test_counters_that_stand_still_divide_nothing_by_zero() -> None:
    still: dict[str, Value] = {"busy": 0, "rtt": 0, "min_rtt": 0, "cwnd": 0, "snd_wnd": 0}
    verdict = explain(run_of(experiment(), 0.0, **still))
    assert verdict.limited_by == "application"
    assert "0 %" in verdict.sentence


_DRAWN = {int: st.integers(0, 2**31), float: st.floats(0, 1e9), bool: st.booleans()}
_TYPES = get_type_hints(Sample)
_COUNTERS = [_DRAWN[_TYPES[name]] for name in Sample.__struct_fields__[2:]]
rows = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 14), *_COUNTERS), max_size=40)


@settings(deadline=None)  # a machine that is busy with other things makes no example slow
@given(rows, st.booleans(), st.sampled_from(["none", "100 Mbit/s"]))
def test_whatever_the_samples_say_there_is_a_verdict(
    drawn: list[tuple[float, ...]], complete: bool, rate: str
) -> None:
    run: Run = empty(experiment(rate=rate, loss="0.1 %", pacing="1 Mbit/s"), complete)
    run.samples = SampleTable(Sample(*row) for row in sorted(drawn, key=lambda row: row[1]))
    verdict = explain(run)
    assert 0 < len(verdict.sentence) <= 110
    assert report(run).jain_index <= 1


def test_every_clause_can_be_said_of_any_run() -> None:
    run = run_of(experiment(), 9e6)
    found = conclude(observe(measure(run)).run)
    assert set(CLAUSES) == set(CAUSE_NAMES)
    assert {limited_by for limited_by, _ in RULES} == set(CAUSE_NAMES) - {"unexplained"}
    for clauses in CLAUSES.values():
        assert all(each.text.format_map(figures(found)) for each in clauses)
