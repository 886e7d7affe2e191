"""The room experiment: who owns which flow, what the room and each student see, and who gets what in the lab."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.replay import playback
from tcptutor.base.errors import ParameterError, UsageError
from tcptutor.commands.join import view_lines
from tcptutor.room.flows import MOST_FLOWS, FlowMeter, FlowsPlan, ask_algorithms, plan_flows
from tcptutor.room.slides import FlowsShown
from tcptutor.room.votes import Votes
from tcptutor.room.web import vote_page
from tcptutor.run import Fidelity, Finished, FlowResult, Sample
from tcptutor.spec import Experiment, Flows, check
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire.protocol import Samples
from tests.backends.play import play

ALGORITHMS = ("reno", "cubic", "bbr")
BASE = Experiment(
    name="module/shared",
    path=NetworkPath(rate=40e6, delay=0.04, queue=200_000),
    flows=Flows(duration=24, warmup=1),
)


def _picks(*numbers: int) -> dict[str, int]:
    return {f"{index}-{at:04}": index for index, number in enumerate(numbers) for at in range(number)}


@given(numbers=st.lists(st.integers(0, 300), min_size=3, max_size=3))
def test_every_student_owns_a_flow_of_the_picked_algorithm(numbers: list[int]) -> None:
    picks = _picks(*numbers)
    plan = plan_flows(BASE, ALGORITHMS, picks, seed=7)
    check(plan.experiment)
    flows = Counter(plan.algorithms)
    assert plan.owners.keys() == picks.keys()
    for voter, flow in plan.owners.items():
        assert plan.algorithms[flow] == ALGORITHMS[picks[voter]]
    everybody = sum(numbers)
    if not everybody:
        assert set(flows.values()) == {4}
    elif everybody <= MOST_FLOWS:
        assert Counter(plan.owners.values()).most_common(1)[0][1] == 1
        assert sum(flows.values()) == everybody
    else:
        assert sum(flows.values()) == MOST_FLOWS
        for algorithm, number in zip(ALGORITHMS, numbers, strict=True):
            assert bool(flows[algorithm]) is bool(number)
            assert abs(flows[algorithm] - MOST_FLOWS * number / everybody) <= 2
            owners = [
                Counter(plan.owners.values())[at] for at, of in enumerate(plan.algorithms) if of == algorithm
            ]
            assert not owners or max(owners) - min(owners) <= 1


def test_each_flow_has_enough_of_the_link_to_send_at_all() -> None:
    plan = plan_flows(BASE, ALGORITHMS, _picks(30, 30, 40), seed=7)
    assert plan.experiment.path.rate == 64e6
    assert plan.experiment.path.queue == 320_000
    assert plan.experiment.seconds <= 12
    assert plan_flows(BASE, ALGORITHMS, _picks(3, 3, 3), seed=7).experiment.path.rate == 40e6


def test_no_algorithm_starts_first() -> None:
    first = plan_flows(BASE, ALGORITHMS, _picks(10, 10, 10), seed=7).algorithms[:6]
    assert Counter(first) == {"reno": 2, "cubic": 2, "bbr": 2}


def test_an_experiment_without_a_bottleneck_is_refused() -> None:
    with pytest.raises(UsageError, match="no bottleneck"):
        plan_flows(Experiment(name="module/free"), ALGORITHMS, {}, seed=7)
    with pytest.raises(ParameterError):
        plan_flows(BASE, ALGORITHMS, {}, seed=-1)


def _sample(flow: int, t: float, acked: int) -> Sample:
    return Sample(flow, t, *[0] * 6, acked, *[0] * 5, 0, False, *[0] * 6)


def _finished(plan: FlowsPlan, rates: list[float]) -> Finished:
    empty: dict[str, Any] = dict.fromkeys(
        ("retransmits", "losses", "segments", "mean_rtt_s", "mean_cwnd_segments")
    )
    flows = [
        FlowResult(flow=at, pair=0, throughput_bps=bps, mss=1448, **empty) for at, bps in enumerate(rates)
    ]
    return Finished(tuple(flows), Fidelity(), plan.experiment.seconds)


def test_the_room_sees_the_last_second_and_then_the_results() -> None:
    plan = plan_flows(BASE, ALGORITHMS, _picks(1, 0, 1), seed=7)
    meter = FlowMeter(plan)
    assert (meter.view().state, meter.view().jain_index) == ("ready", None)
    for tenth in range(31):
        acked = 0 if tenth < 20 else (tenth - 20) * 25_000
        meter.take(Samples(tenth / 10, (_sample(0, tenth / 10, acked), _sample(1, tenth / 10, 4 * acked))))
    view = meter.view()
    assert (view.state, view.t) == ("running", 3.0)
    assert [(bar.algorithm, bar.bps) for bar in view.flows] == [
        ("reno", pytest.approx(2e6)),
        ("bbr", pytest.approx(8e6)),
    ]
    assert view.fair_bps == pytest.approx(40e6 * 1448 / 1514 / 2)
    meter.take(_finished(plan, [1e6, 9e6]))
    view = meter.view()
    assert [(each.algorithm, each.flows, each.voters, each.bps) for each in view.totals] == [
        ("reno", 1, 1, 1e6),
        ("bbr", 1, 1, 9e6),
    ]
    assert view.state == "ended"
    own = meter.own("0-0000")
    assert own is not None
    assert (own.algorithm, own.bps, own.rank, own.flows, own.others) == ("Reno", 1e6, 2, 2, 0)
    assert meter.own("stranger") is None


def test_each_student_sees_the_own_flow_alone(tmp_path: Path) -> None:
    votes = Votes(tmp_path, "lecture-1")
    shown = FlowsShown(experiment="module/shared", algorithms=ALGORITHMS)
    votes.open(ask_algorithms(shown, BASE))
    tokens = [votes.join() for _ in range(3)]
    assert "40 Mbit/s · 40 ms" in vote_page.shown(votes.voter_view(tokens[0]))
    assert "40 Mbit/s · 40 ms" in "".join(view_lines(votes.voter_view(tokens[0]), 60))
    for token, pick in zip(tokens[:2], (0, 2), strict=True):
        votes.vote(token, "1-1", pick)
    plan = plan_flows(BASE, ALGORITHMS, votes.picks, seed=7)
    meter = FlowMeter(plan)
    votes.show_flows(meter)
    assert votes.vote(tokens[2], "1-1", 0).status == "closed", "the run has begun"
    assert votes.suggestion is None
    flows = [votes.voter_view(token).flow for token in tokens]
    assert [flow and flow.algorithm for flow in flows] == ["Reno", "BBR", None]
    meter.take(_finished(plan, [1e6, 9e6]))
    before = votes.version
    votes.show_flows(meter)
    assert votes.version > before
    ranks = [flow.rank for token in tokens if (flow := votes.voter_view(token).flow)]
    assert sorted(map(str, ranks)) == ["1", "2"]
    votes.open(ask_algorithms(shown, BASE))
    assert votes.view is not None
    assert votes.view.phase == "voting again", "the room may change its mind"
    votes.show_flows(meter)
    assert votes.view.phase == "voting again", "the earlier run is still shown"
    for token in tokens[:2]:
        votes.vote(token, "1-2", 2)
    votes.close()
    votes.close_file()
    votes = Votes(tmp_path, "lecture-1")
    plan = plan_flows(BASE, ALGORITHMS, votes.picks, seed=8)
    meter = FlowMeter(plan)
    meter.take(_finished(plan, [4e6, 6e6]))
    votes.show_flows(meter)
    flow = votes.voter_view(tokens[0]).flow
    assert flow is not None
    assert (flow.earlier_algorithm, flow.earlier_bps, flow.algorithm) == ("Reno", 1e6, "BBR")
    assert "1 Mbit/s</strong>, Reno" in vote_page.shown(votes.voter_view(tokens[0]))
    report = votes.report()
    assert [sum(each.bps for each in run) for run in report.questions[0].flows.values()] == [10e6, 10e6]
    assert "BBR 5 Mbit/s a flow (all 2: 10 Mbit/s)" in report.text()
    votes.close_file()


@pytest.mark.guest
async def test_each_student_gets_what_the_lab_measured(guest: GuestBackend) -> None:
    base = msgspec.structs.replace(BASE, flows=Flows(duration=3, warmup=1))
    picks = _picks(2, 2, 3)
    plan = plan_flows(base, ALGORITHMS, picks, seed=7)
    run = await play(guest, plan.experiment)
    meter = FlowMeter(plan)
    for event in playback(run):
        meter.take(event)
    view = meter.view()
    assert [(each.algorithm, each.flows) for each in view.totals] == [("reno", 2), ("cubic", 2), ("bbr", 3)]
    assert sum(each.bps for each in view.totals) == pytest.approx(view.fair_bps * 7, rel=0.1)
    for voter, pick in picks.items():
        own = meter.own(voter)
        assert own is not None
        (result,) = (flow for flow in run.flows if flow.flow == plan.owners[voter])
        assert (own.algorithm.lower(), own.bps) == (ALGORITHMS[pick], result.throughput_bps)
        assert result.algorithm == ALGORITHMS[pick]
