"""A what-if in words: what is claimed of the history is what the samples have."""

from __future__ import annotations

from msgspec.structs import replace

from tcptutor.analysis import what_if
from tcptutor.analysis.compared.what_if_text import limits, rows, sentence
from tcptutor.run import Run
from tcptutor.run.change import apply_change

from .synthetic import empty, experiment, run_of, with_queue


def pair(differs_at: float, changed_at: float | None) -> tuple[Run, Run]:
    """Runs of 10 s; from `differs_at` on one is twice as fast."""
    one = with_queue(run_of(experiment(warmup="0 s"), 8e6))
    other = with_queue(run_of(experiment(warmup="0 s"), lambda t: 8e6 * t + max(0.0, t - differs_at) * 8e6))
    after = apply_change(one.experiment, "rate", "7 Mbit/s", changed_at)
    return one, replace(other, experiment=after)


def said(one: Run, other: Run) -> str:
    return sentence(what_if(one, other), one, other)


def test_the_same_history_is_told_to_the_sample() -> None:
    assert said(*pair(5.0, 5.0)).startswith("The same to the byte up to 5.00 s. They differ from 5.05 s on")


def test_nothing_that_differs_is_told_as_that() -> None:
    one, _ = pair(5.0, 5.0)
    assert said(one, one).startswith("Nothing differs: both are the same to the byte")
    assert said(empty(one.experiment), empty(one.experiment)) == "Nothing was sampled."


def test_what_differs_before_its_time_says_why() -> None:
    one, other = pair(5.0, 8.0)
    start = "They differ from 5.05 s on, before the change: "
    virtual = replace(one.environment, backend="guest", clock="virtual", versions={"snapshot": "a"})
    one, same = replace(one, environment=virtual), replace(other, environment=virtual)
    assert said(one, same) == f"{start}the lab had to be set up for it from the start."
    newer = replace(other, environment=replace(virtual, versions={"snapshot": "b"}))
    assert said(one, newer).startswith(f"{start}another build or size of the guest")
    real = replace(other, environment=replace(virtual, clock="real"))
    assert said(one, real) == f"{start}only on the virtual clock does a seed repeat a run exactly."


def test_figures_have_units_and_how_much_they_have_changed() -> None:
    one, other = pair(5.0, 5.0)
    what = what_if(one, other)
    told = {row[0]: row[1:] for row in rows(what.figures_after)}
    before, after, more = told["throughput"]
    assert (before, more) == ("8 Mbit/s", "+100 %")
    assert after in ("16 Mbit/s", "15.9 Mbit/s")
    assert told["sent again"] == ("0", "0", "same")
    assert limits(what)[0] == "limited by"
