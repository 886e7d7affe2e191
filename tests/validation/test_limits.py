"""The counterfactual judge of verdicts and the count of withheld retransmissions, on runs made of chosen numbers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tcptutor.run import Fidelity
from tests.analysis.synthetic import experiment, losing, run_of, with_queue
from tests.validation import hostqueues, limits
from tests.validation.limits import Resource

_LOSS = experiment(loss="1 %", window="100 kB")


def _resource(name: str, cause: str) -> Resource:
    return Resource(name, (cause,), _LOSS)


def test_the_resource_that_raises_the_throughput_most_is_the_limit() -> None:
    base = run_of(_LOSS, 10e6)
    others = [
        (_resource("loss / 4", "random-loss"), run_of(_LOSS, 18e6)),
        (_resource("window x4", "receive-window"), run_of(_LOSS, 11e6)),
        (_resource("rate x2", "bottleneck"), run_of(_LOSS, 10e6)),
    ]
    found = limits.truth(base, others, (2.0, 12.0))
    assert found.causes == ("random-loss",)
    assert found.gains == pytest.approx({"loss / 4": 0.8, "window x4": 0.1, "rate x2": 0.0}, abs=1e-3)


def test_two_resources_that_raise_it_as_much_are_both_right() -> None:
    others = [
        (_resource("loss / 4", "random-loss"), run_of(_LOSS, 15e6)),
        (_resource("window x4", "receive-window"), run_of(_LOSS, 14e6)),
    ]
    found = limits.truth(run_of(_LOSS, 10e6), others, (2.0, 12.0))
    assert found.causes == ("random-loss", "receive-window")


def test_no_resource_alone_is_the_limit_where_none_is_worth_it() -> None:
    others = [(_resource("loss / 4", "random-loss"), run_of(_LOSS, 11e6))]
    assert limits.truth(run_of(_LOSS, 10e6), others, (2.0, 12.0)).causes == ()


def test_before_and_after_a_change_are_judged_apart() -> None:
    made = experiment(changes="7 s rate=20 Mbit/s")

    def bits(t: float) -> float:
        return 10e6 * min(t, 7) + 40e6 * max(0.0, t - 7)

    base, other = run_of(made, 10e6), run_of(made, bits)
    spans = limits.pieces(made)
    assert spans == {"all": (2.0, 12.0), "before": (2.0, 7.0), "after": (7.0, 12.0)}
    relaxed = [(Resource("rate x2", ("bottleneck",), made), other)]
    assert not limits.truth(base, relaxed, spans["before"]).causes
    assert limits.truth(base, relaxed, spans["after"]).causes == ("bottleneck",)


def test_only_what_is_there_is_relaxed() -> None:
    made = experiment(loss="1 %", window="100 kB", changes="5 s loss=2 %")
    quiet = with_queue(run_of(made, 10e6, **losing(1)), drops=0)
    names = {each.name: each.relaxed for each in limits.resources(made, quiet)}
    assert set(names) == {"rate x2", "loss / 4", "window x4"}
    path = names["loss / 4"].path
    assert (path.loss, path.changes[0].value) == (0.0025, 0.005)
    overflowing = with_queue(run_of(made, 10e6, **losing(1)), drops=5)
    assert "queue x4" not in names
    assert "queue x4" in {each.name for each in limits.resources(made, overflowing)}


def test_a_seed_names_the_drawn_experiments_and_a_turn_has_every_kind() -> None:
    once, again = (list(limits.drawn(7, 60)) for _ in range(2))
    assert once == again
    assert len({kind for kind, _ in once}) > 45
    assert any(made.path.changes for _, made in once)


def test_a_cut_experiment_keeps_ten_seconds_and_its_changes() -> None:
    made = experiment(changes="30 s rate=20 Mbit/s", duration="300 s")
    cut = hostqueues.shortened(made)
    assert 34 <= cut.seconds < 60
    assert cut.path == made.path
    plain = hostqueues.shortened(replace(made, path=replace(made.path, changes=())))
    assert plain.seconds >= hostqueues.LEAST_SECONDS


def test_withheld_retransmissions_of_all_hosts_are_counted() -> None:
    run = run_of(_LOSS, 10e6)
    names = [f"{host} TCPSpuriousRtxHostQueues" for host in ("h1", "h2")]
    run.fidelity = Fidelity(status="valid", checks={names[0]: 3, names[1]: 2, "random drops": 9})
    assert hostqueues.withheld(run) == 5
    assert not hostqueues.is_disclosed(run)


def test_an_experiment_that_is_named_is_counted_with_the_settings_of_its_pages() -> None:
    assert len({one.name for one in hostqueues.chosen()}) == len(hostqueues.chosen())
    named = hostqueues.chosen("tcp-basics/jitter")
    assert {one.name for one in named} == {"tcp-basics/jitter"}
    assert len({one.path.jitter for one in named}) > 3
