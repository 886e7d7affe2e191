"""Runs of a hand-in made again: equal to the byte, within chance, or another one."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import msgspec
import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import KernelLacks, UsageError
from tcptutor.grading import reruns
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.reruns import Repetition, Reruns, parse_choice
from tcptutor.run import Fidelity, Run, SampleTable, lab_parts, load
from tcptutor.spec import Experiment
from tests.backends.play import play
from tests.grading.evidence.student import KEY, RUNS, Student, course, handed_in
from tests.sweep.test_cluster import cluster


def _run() -> Run:
    return load(RUNS / "ada.tcprun")


def _grade(file: Path) -> Grade:
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, course(), KEY.code)


def _repeated(reruns: Reruns, path: Path, graded: GradedFile) -> list[GradedFile]:
    graded = graded._replace(sources=(path,))
    experiments = reruns.plan([graded])
    if experiments:
        reruns.run(experiments, lambda _: None)
    return reruns.compare([graded])


def test_a_run_of_an_equal_lab_is_asked_for_as_it_was_and_another_with_other_seeds() -> None:
    run = _run()
    here = run.environment.lab
    assert lab_parts.fingerprint(here) == run.environment.snapshot
    assert reruns.is_repeatable(run, here)
    assert not reruns.is_repeatable(run, {**here, "agent": "patched"})
    assert reruns.experiments(run, exactly=True) == [run.experiment]
    others = reruns.experiments(run, exactly=False)
    assert len({each.seed for each in others} | {run.experiment.seed}) == 1 + reruns.DRAWS


def test_a_run_that_says_it_is_of_our_lab_and_names_other_parts_is_not() -> None:
    run = _run()
    run.environment = msgspec.structs.replace(
        run.environment, lab={**run.environment.lab, "machine": "another"}
    )
    assert not reruns.is_repeatable(run, _run().environment.lab)


def test_equal_is_to_the_byte() -> None:
    assert reruns.compare(_run(), [_run()], exactly=True) == Repetition(_run().id, "equal")
    changed = _run()
    rows = list(changed.samples)
    rows[100] = msgspec.structs.replace(rows[100], rtt=rows[100].rtt + 1e-6)
    changed.samples = SampleTable(rows)
    found = reruns.compare(changed, [_run()], exactly=True)
    assert (found.verdict, "(flow 1: rtt)" in found.reason) == ("different", True)
    figures = _run()
    figures.flows = [msgspec.structs.replace(figures.flows[0], throughput_bps=9e6)]
    assert reruns.compare(figures, [_run()], exactly=True).verdict == "different"
    believed = _run()
    believed.fidelity = Fidelity(status="invalid", reasons=("no",))
    assert reruns.compare(_run(), [believed], exactly=True).reason == "made again it is invalid, not valid"


def _with_throughput(factor: float) -> Run:
    run = _run()
    run.flows = [msgspec.structs.replace(run.flows[0], throughput_bps=factor * 1e6)]
    return run


@pytest.mark.parametrize(("measured", "verdict"), [(2.0, "chance"), (2.5, "chance"), (9.0, "different")])
def test_of_another_lab_it_is_one_draw_of_many(measured: float, verdict: str) -> None:
    again = [_with_throughput(each) for each in (1.8, 2.0, 2.2, 2.1)]
    assert reruns.compare(_with_throughput(measured), again, exactly=False).verdict == verdict


def test_where_chance_has_no_part_two_labs_agree_closely() -> None:
    again = [_with_throughput(2.0)] * 4
    assert reruns.compare(_with_throughput(2.03), again, exactly=False).verdict == "chance"
    assert reruns.compare(_with_throughput(2.1), again, exactly=False).verdict == "different"


def test_marks_of_a_run_that_is_another_one_are_refused(tmp_path: Path) -> None:
    found = _grade(handed_in("ada", tmp_path, Student.does_asked_and_ran))
    (id,) = reruns.marked_runs(found)
    after = reruns.apply_repetitions(found, [Repetition(id, "different", "made again it is another one")])
    lost = {mark.activity for mark in after.marks if mark.outcome == "refused"}
    assert lost == {"experiment", "largest"}
    assert after.total == found.total - 1 - 2
    assert (*map(str, after.remarks),) == ("1 run was made again: 1 different",)
    assert reruns.apply_repetitions(found, [Repetition(id, "equal")]).total == found.total
    failed = reruns.apply_repetitions(found, [Repetition(id, "failed", "no memory")])
    assert failed.total == found.total
    assert failed.remarks[-1].text == f"{id} could not be made again: no memory"


def test_the_key_draws_what_is_made_again(tmp_path: Path) -> None:
    found = _grade(handed_in("ada", tmp_path, Student.does_asked_and_ran))
    (id,) = reruns.marked_runs(found)
    for share, there in (("100%", [id]), (f"{99.9 * KEY.lot(id):.12f} %", [])):
        choice = parse_choice(None, share, KEY)
        assert choice is not None
        assert choice(found) == there
    every, some = parse_choice("all", None, None), parse_choice("3", None, KEY)
    assert every is not None
    assert some is not None
    assert every(found) == some(found) == [id]
    assert parse_choice(None, None, KEY) is None


@pytest.mark.parametrize("seconds", [20.0, 1e4])
def test_settings_that_are_not_the_pages_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """They are the student's choice: of a hostile hand-in, whatever takes longest."""

    def do(one: Student) -> None:
        run = _run()
        flows = msgspec.structs.replace(run.experiment.flows, duration=seconds)
        run.experiment = msgspec.structs.replace(run.experiment, flows=flows)
        one.answer(2, "predict", "2 Mbit/s")
        one.runs(run)

    path = handed_in("ada", tmp_path / "ada", do)
    found = _grade(path)
    failed = parse_choice("failed", None, None)
    assert failed is not None
    (id,) = failed(found)
    assert Reruns(failed, course(), 1).plan([GradedFile("ada", found, sources=(path,))]) == []
    (after,) = _repeated(Reruns(failed, course(), 1), path, GradedFile("ada", found))
    assert after.grade is not None
    assert after.grade.total == found.total
    assert f"{id} could not be made again: the run has other settings than the page's" in map(
        str, after.grade.remarks
    )


def test_the_pages_own_experiment_is_made_again_with_any_seed_while_it_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _grade(handed_in("ada", tmp_path / "ada", Student.does_asked_and_ran))
    run = _run()
    run.experiment = msgspec.structs.replace(run.experiment, seed=run.experiment.seed + 3)
    assert reruns.refusal(run, found, course()) == ""
    monkeypatch.setattr(reruns, "expected_seconds", lambda *_: 3600.0)
    assert "3600 s" in reruns.refusal(run, found, course())
    run.id = "elsewhere"
    assert reruns.refusal(run, found, course()) == "no page of the course has this experiment"


@pytest.mark.parametrize("audit", ["0", "2", "-5%", "5 ms", "x" * 1000])
def test_a_share_that_is_none_is_told(audit: str) -> None:
    with pytest.raises(UsageError, match="--audit"):
        parse_choice(None, audit, KEY)


async def _made_here(snapshots: Snapshots, seed: int | None = None) -> Run:
    experiment = _run().experiment
    if seed is not None:
        experiment = msgspec.structs.replace(experiment, seed=seed)
    backend = GuestBackend("virtual", snapshots)
    try:
        return await play(backend, experiment)
    finally:
        await backend.close()


@pytest.mark.guest
def test_an_honest_run_of_this_lab_is_equal_and_a_forged_one_is_not(
    snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob's run, made here, with Ada's seed written into it keeps every rule but this one."""
    honest = asyncio.run(_made_here(snapshots))
    forged = load(RUNS / "bob.tcprun")
    forged.id, forged.started, forged.experiment = "forged", honest.started, honest.experiment
    forged.environment, forged.wall_s = honest.environment, honest.wall_s

    def graded(name: str, run: Run) -> Grade:
        def do(one: Student) -> None:
            one.answer(2, "predict", "2 Mbit/s")
            one.runs(run)

        path = handed_in("ada", tmp_path / name, do)
        found = _grade(path)
        assert found.total == 2
        (again,) = _repeated(Reruns(reruns.marked_runs, course(), 1), path, GradedFile(name, found))
        assert again.grade is not None
        return again.grade

    good, bad = graded("honest", honest), graded("forged", forged)
    assert (good.total, (*map(str, good.remarks),)) == (2, ("1 run was made again: 1 equal to the byte",))
    assert bad.total == 1
    assert (*map(str, bad.remarks),) == ("1 run was made again: 1 different",)


@pytest.mark.guest
def test_a_run_that_no_guest_holds_costs_the_others_nothing(
    snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(experiment: Experiment) -> int:
        raise KernelLacks(f"no guest holds {experiment.name}")

    path = handed_in("ada", tmp_path / "ada", Student.does_asked_and_ran)
    found = _grade(path)
    (id,) = reruns.marked_runs(found)
    monkeypatch.setattr("tcptutor.fleet.run_cache.sizes.size", lacks)
    (again,) = _repeated(Reruns(reruns.marked_runs, course(), 1), path, GradedFile("ada", found))
    assert again.grade is not None
    assert again.grade.total == found.total
    assert (*map(str, again.grade.remarks),) == (
        "1 run was made again: 1 failed",
        f"{id} could not be made again: no guest holds small/lossy",
    )


@pytest.mark.guest
@pytest.mark.host
def test_a_cluster_makes_runs_again(snapshots: Snapshots, tmp_path: Path) -> None:
    # Another seed each time: it is in no cache.
    run = asyncio.run(_made_here(snapshots, secrets.randbelow(1 << 32)))

    def do(one: Student) -> None:
        one.answer(2, "predict", "2 Mbit/s")
        one.runs(run)

    path = handed_in("ada", tmp_path / "ada", do, enrolled=False)
    with open_hand_in(path) as hand_in:
        found = grade_hand_in(hand_in, course())
    with cluster(1) as (address, _):
        (again,) = _repeated(
            Reruns(reruns.marked_runs, course(), None, address), path, GradedFile("ada", found)
        )
    assert again.grade is not None
    assert (*map(str, again.grade.remarks),) == ("1 run was made again: 1 equal to the byte",)
