"""One thing of an experiment changed, all the time or from an instant on."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import ParameterError
from tcptutor.run.change import (
    DURING,
    apply_change,
    current_value,
    describe_changes,
    divergence_time,
    suggested_values,
    summarize_changes,
)
from tcptutor.spec import PARAMETERS, Experiment, build
from tests.each import each


def made(**parameters: str) -> Experiment:
    usual = {"rate": "10 Mbit/s", "delay": "20 ms", "loss": "0.1 %", "window": "50 kB"}
    return build("test/changed", {"parameters": usual | parameters}, seed=7)


@pytest.mark.parametrize(
    ("name", "text", "at", "words", "short"),
    [
        ("loss", "0", None, "loss 0.1 % → 0 %", "loss 0 %"),
        ("loss", "0", 12.0, "from 12 s on loss 0.1 % → 0 %", "loss 0 % from 12 s"),
        ("rate", "5M", 1.5, "from 1.5 s on rate 10 Mbit/s → 5 Mbit/s", "rate 5 Mbit/s from 1.5 s"),
        ("link", "down", 4.0, "from 4 s on link up → down", "link down from 4 s"),
        ("algorithm", "reno", None, "algorithm cubic → reno", "algorithm reno"),
        ("window", "none", None, "window 50 kB → none", "window none"),
        ("tcp_sack", "0", None, "tcp_sack the kernel's own → 0", "tcp_sack 0"),
        ("queue", "2 BDP", 3.0, "from 3 s on queue 96.896 kB → 50 kB", "queue 50 kB from 3 s"),
    ],
)
def test_what_is_another_is_told(name: str, text: str, at: float | None, words: str, short: str) -> None:
    before = made()
    after = apply_change(before, name, text, at)
    assert describe_changes(before, after) == words
    assert summarize_changes(before, after) == short
    assert divergence_time(before, after) == at
    assert after.seed == before.seed


def test_everything_else_stays_to_the_last_digit() -> None:
    before = made(rate="10.1234567 Mbit/s", delay="20.00000123 ms")
    after = apply_change(before, "loss", "0")
    assert after.path.rate == before.path.rate
    assert after.path.delay == before.path.delay
    assert after.path.queue == before.path.queue, "one thing is changed: the queue is as it was"


def test_from_an_instant_on_means_to_the_end() -> None:
    before = made(changes="5 s loss=1 %; 8 s loss=2 %; 9 s rate=5 Mbit/s")
    after = apply_change(before, "loss", "0", 6.0)
    assert [(one.at, one.name, one.value) for one in after.path.changes] == [
        (5.0, "loss", 0.01),
        (6.0, "loss", 0.0),
        (9.0, "rate", 5e6),
    ]
    assert describe_changes(before, after) == "from 6 s on loss 1 % → 0 %"
    assert divergence_time(before, after) == 6.0
    throughout = apply_change(before, "loss", "0")
    assert [one.name for one in throughout.path.changes] == ["rate"]


@pytest.mark.parametrize(
    ("name", "text", "at", "reason"),
    [
        ("loss", "0.1 %", None, "loss is already 0.1 %"),
        ("loss", "0.1 %", 3.0, "loss is already 0.1 % at 3 s"),
        ("window", "10 kB", 3.0, "window cannot change during a run"),
        ("tcp_sack", "0", 3.0, "tcp_sack cannot change during a run"),
        ("link", "down", None, "link can only go down during a run"),
        ("loss", "0", 99.0, "the run ends after 22 s"),
        ("loss", "200 %", None, "loss: '200 %' is out of bounds"),
        ("latency", "1 ms", None, "did you mean delay?"),
        ("mss", "5000", None, "does not fit into an MTU"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(name: str, text: str, at: float | None, reason: str) -> None:
    with pytest.raises(ParameterError) as error:
        apply_change(made(), name, text, at)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@each("name", [*PARAMETERS, "link"])
@each("at", [None, 5.0])
def test_every_offer_can_be_run(name: str, at: float | None) -> None:
    before = made(loss="0", rate="20 Mbit/s")
    for text in suggested_values(before, name, at):
        assert apply_change(before, name, text, at) != before
        assert text != current_value(before, name, at)
    if at is not None and name not in DURING:
        assert not suggested_values(before, name, at)


def test_what_has_numbers_has_offers() -> None:
    for name in (
        "rate",
        "delay",
        "loss",
        "queue",
        "window",
        "streams",
        "algorithm",
        "qdisc",
        "pacing",
        "mtu",
    ):
        assert suggested_values(made(), name), name
    assert suggested_values(made(), "algorithm", None, ("reno", "cubic")) == ["reno"]
