"""One run beside another with a setting changed: as far as their samples are the same, and what differs then."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.analysis import what_if
from tcptutor.analysis.compared.what_if import (
    FigureChanged,
    limits,
    rows,
    sentence,
    settings_changed,
    shared_history,
)
from tcptutor.run import Run, Sample, load, save
from tcptutor.run.change import apply_change
from tests.each import each

from .synthetic import empty, experiment, run_of, with_queue

RECORDED = Path(__file__).parents[2] / "assets" / "recorded"
TABLES = ("samples", "queue", "senders", "udp_samples", "acks")


@cache
def loaded(name: str) -> Run:
    return load(RECORDED / f"{name}.tcprun")


def pairs() -> list[tuple[str, str]]:
    """Runs of one sweep with the same seed: one setting is another."""
    found = []
    for folder in sorted(path for path in RECORDED.glob("*/*") if path.is_dir()):
        names = [
            str(path.relative_to(RECORDED).with_suffix("")) for path in sorted(folder.glob("*-1.tcprun"))
        ]
        found += list(combinations(names[:4], 2))
    return found


def first_difference(one: Run, other: Run) -> float | None:
    """Row by row, as plain objects: the time of the first that is not the same in both."""
    times = []
    for name in TABLES:
        mine, theirs = list(getattr(one, name)), list(getattr(other, name))
        at = next(
            (at for at, (a, b) in enumerate(zip(mine, theirs, strict=False)) if repr(a) != repr(b)), None
        )
        if at is None and len(mine) != len(theirs):
            at = min(len(mine), len(theirs))
        if at is not None:
            times.append(min(rows[at].t for rows in (mine, theirs) if at < len(rows)))
    return min(times, default=None)


def from_then_on(run: Run, t: float, more: int) -> Run:
    """`run` with windows that are so many segments larger from `t` on."""
    rows = [replace(row, cwnd=row.cwnd + more * (row.t >= t)) for row in run.samples]
    return replace(run, samples=type(run.samples)(rows))


@each("names", pairs(), ids=lambda names: " ".join(names))
def test_two_recorded_runs_are_the_same_up_to_where_their_rows_are(names: tuple[str, str]) -> None:
    one, other = map(loaded, names)
    shared = shared_history(one, other)
    assert shared.differs_at == first_difference(one, other)
    assert shared.first_difference
    before = [row.t for table in TABLES for row in getattr(one, table) if row.t < (shared.differs_at or 0)]
    assert shared.until == max(before, default=None)


def test_recorded_runs_of_one_seed_do_have_a_history_in_common() -> None:
    """A window of another size changes nothing until it is advertised."""
    sweep = "tcp-basics/more-than-the-pipe-holds"
    shared = what_if(loaded(f"{sweep}/4-1"), loaded(f"{sweep}/5-1"))
    assert [(one.name, one.before, one.after) for one in shared.changed] == [("window", "300 kB", "400 kB")]
    assert shared.same_seed
    assert shared.shared.differs_at == pytest.approx(0.5, abs=0.01)
    assert shared.shared.first_difference == "flow 1: snd_wnd"


def test_a_run_is_the_same_as_itself_to_its_end() -> None:
    run = loaded("parallel-streams/one-lossy-flow")
    same = what_if(run, run)
    assert same.changed == ()
    assert same.shared.differs_at is None
    assert same.shared.until == max(run.sampled_until, run.queue.column("t")[-1])
    assert same.figures_after == ()
    assert all(figure.before == figure.after for figure in same.figures)


def test_a_run_is_the_same_as_its_file(tmp_path: Path) -> None:
    """One of the two has just ended, the other is read from where it was kept, with fewer digits."""
    whole = loaded("parallel-streams/one-lossy-flow")
    rows = [replace(row, rtt=row.rtt + 1e-13) for row in whole.samples]
    run = replace(whole, samples=type(whole.samples)(rows))
    save(run, tmp_path / "kept.tcprun")
    assert shared_history(run, load(tmp_path / "kept.tcprun")).differs_at is None


@pytest.mark.parametrize("t", [0.0, 5.0, 22.0, 40.0])
def test_what_changes_at_an_instant_is_the_same_before_it(t: float) -> None:
    run = loaded("parallel-streams/one-lossy-flow")
    shared = shared_history(run, from_then_on(run, t, 1))
    assert shared.differs_at == next(row.t for row in run.samples if row.t >= t)
    assert shared.until is None or shared.until < shared.differs_at
    assert shared.until is None or shared.until > t - 0.06
    assert shared.first_difference == "flow 1: cwnd"


def test_the_flow_that_differs_first_is_named() -> None:
    run = loaded("parallel-streams/four-lossy-flows")

    def other(row: Sample) -> Sample:
        return replace(row, retransmits=row.retransmits + 1) if row.flow == 2 and row.t > 7 else row

    changed = replace(run, samples=type(run.samples)(map(other, run.samples)))
    assert shared_history(run, changed).first_difference == "flow 3: retransmits"


def test_a_run_that_was_cut_short_is_the_same_as_far_as_it_came() -> None:
    run = loaded("parallel-streams/one-lossy-flow")
    cut = replace(
        run,
        samples=type(run.samples)(row for row in run.samples if row.t < 10),
        queue=type(run.queue)(row for row in run.queue if row.t < 10),
    )
    for one, other in ((run, cut), (cut, run)):
        shared = shared_history(one, other)
        assert shared.differs_at == pytest.approx(10.0, abs=0.06)
        assert "a sample that only one has" in shared.first_difference


def test_figures_are_given_of_all_the_time_and_from_the_difference_on() -> None:
    made = experiment(warmup="0 s")
    slow = with_queue(run_of(made, 8e6))
    # The same until 5 s, twice as fast after that.
    fast = with_queue(run_of(made, lambda t: 8e6 * t + max(0.0, t - 5) * 8e6))
    beside = what_if(slow, fast)
    assert beside.shared.differs_at == pytest.approx(5.05)
    whole = {figure.quantity: figure for figure in beside.figures}
    since = {figure.quantity: figure for figure in beside.figures_after}
    assert whole["throughput"].ratio == pytest.approx(1.5, rel=0.01)
    assert since["throughput"].ratio == pytest.approx(2.0, rel=0.01)
    assert since["throughput"].unit == "bit/s"
    assert since["retransmitted"].before == 0
    assert since["retransmitted"].ratio is None
    assert "Jain's index" not in since


def test_the_settings_that_differ_are_named_as_they_are_written() -> None:
    before, after = experiment(), experiment(changes="5s loss=0", queue="100 kB")
    told = {one.name: (one.before, one.after) for one in settings_changed(before, after)}
    assert told["changes"] == ("", "5 s loss=0 %")
    assert told["queue"][1] == "100 kB"
    assert set(told) == {"changes", "queue"}
    assert not what_if(empty(before), empty(replace(before, seed=before.seed + 1))).same_seed


def test_nothing_in_common_and_nothing_measured_is_no_error() -> None:
    nothing = what_if(empty(experiment()), empty(experiment()))
    assert nothing.shared.until is None
    assert nothing.shared.differs_at is None
    assert nothing.figures == ()
    one = what_if(empty(experiment()), run_of(experiment(), 8e6))
    assert one.shared.differs_at == 0.0
    assert one.shared.until is None
    assert {figure.before for figure in one.figures} == {None}


def test_a_factor_over_next_to_nothing_is_left_out() -> None:
    def change(before: float, after: float) -> str:
        figure = FigureChanged(quantity="queueing", unit="s", before=before, after=after)
        ((_, _, _, told),) = rows([figure])
        return told

    assert change(5.57e-8, 1.2e-4) == ""
    assert change(1e-3, 5e-3) == "× 5.0"
    assert change(1.2e-4, 5.57e-8) == "−100 %"


def changed_pair(differs_at: float, changed_at: float | None) -> tuple[Run, Run]:
    """Runs of 10 s; from `differs_at` on one is twice as fast."""
    one = with_queue(run_of(experiment(warmup="0 s"), 8e6))
    other = with_queue(run_of(experiment(warmup="0 s"), lambda t: 8e6 * t + max(0.0, t - differs_at) * 8e6))
    after = apply_change(one.experiment, "rate", "7 Mbit/s", changed_at)
    return one, replace(other, experiment=after)


def said(one: Run, other: Run) -> str:
    return sentence(what_if(one, other), one, other)


def test_the_same_history_is_told_to_the_sample() -> None:
    assert said(*changed_pair(5.0, 5.0)).startswith(
        "The same to the byte up to 5.00 s. They differ from 5.05 s on"
    )


def test_nothing_that_differs_is_told_as_that() -> None:
    one, _ = changed_pair(5.0, 5.0)
    assert said(one, one).startswith("Nothing differs: both are the same to the byte")
    assert said(empty(one.experiment), empty(one.experiment)) == "Nothing was sampled."


def test_what_differs_before_its_time_says_why() -> None:
    one, other = changed_pair(5.0, 8.0)
    start = "They differ from 5.05 s on, before the change: "
    virtual = replace(one.environment, backend="guest", clock="virtual", versions={"snapshot": "a"})
    one, same = replace(one, environment=virtual), replace(other, environment=virtual)
    assert said(one, same) == f"{start}the lab had to be set up for it from the start."
    newer = replace(other, environment=replace(virtual, versions={"snapshot": "b"}))
    assert said(one, newer).startswith(f"{start}another build or size of the guest")
    real = replace(other, environment=replace(virtual, clock="real"))
    assert said(one, real) == f"{start}only on the virtual clock does a seed repeat a run exactly."


def test_figures_have_units_and_how_much_they_have_changed() -> None:
    one, other = changed_pair(5.0, 5.0)
    what = what_if(one, other)
    told = {row[0]: row[1:] for row in rows(what.figures_after)}
    before, after, more = told["throughput"]
    assert (before, more) == ("8 Mbit/s", "+100 %")
    assert after in ("16 Mbit/s", "15.9 Mbit/s")
    assert told["retransmitted"] == ("0", "0", "same")
    assert limits(what)[0] == "limited by"
