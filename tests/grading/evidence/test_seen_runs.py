"""What was seen in another hand-in is not read again, and never excuses a run that differs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tcptutor.grading.evidence.physics import impossibilities
from tcptutor.grading.evidence.seen_runs import SeenRuns
from tcptutor.run import Run, load
from tcptutor.run.files import KnownTables, text_lines
from tests.grading.evidence.student import RUNS, STUDENTS

HONEST = load(RUNS / f"{STUDENTS[0]}.tcprun")
OTHER = load(RUNS / f"{STUDENTS[1]}.tcprun")


def _text(run: Run) -> bytes:
    return b"".join(text_lines(run))


def _of_another_student(run: Run = HONEST) -> Run:
    return msgspec.structs.replace(run, id="20261128-101010-abcdef", started="2026-11-28T10:10:10+00:00")


def _seen(*runs: Run) -> SeenRuns:
    seen = SeenRuns()
    for run in runs:
        assert seen.impossibilities(seen.load(Path("one"), _text(run))) == tuple(impossibilities(run))
    return seen


def test_equal_samples_are_shared_from_the_second_time() -> None:
    seen = _seen(HONEST, _of_another_student())
    for run in (HONEST, _of_another_student()):
        again = seen.load(Path("again"), _text(run))
        assert again == run
        assert again.samples is seen.load(Path("once more"), _text(HONEST)).samples


def test_a_figure_that_the_samples_do_not_give_is_seen_after_honest_runs() -> None:
    seen = _seen(HONEST, HONEST, HONEST)
    faster = msgspec.structs.replace(HONEST.flows[0], throughput_bps=2 * HONEST.flows[0].throughput_bps)
    forged = msgspec.structs.replace(HONEST, flows=[faster, *HONEST.flows[1:]])
    for _ in range(2):
        (said, *_) = seen.impossibilities(seen.load(Path("forged"), _text(forged)))
        assert "throughput" in said
    assert seen.impossibilities(seen.load(Path("honest"), _text(HONEST))) == ()


def test_samples_of_another_experiment_are_no_excuse() -> None:
    seen = _seen(HONEST, HONEST, HONEST)
    slower = msgspec.structs.replace(HONEST.experiment.path, rate=1e5)
    moved = msgspec.structs.replace(
        HONEST, experiment=msgspec.structs.replace(HONEST.experiment, path=slower)
    )
    assert seen.impossibilities(seen.load(Path("moved"), _text(moved))) == tuple(impossibilities(moved)) != ()


def test_what_was_used_longest_ago_makes_room() -> None:
    numbers = max(len(run.samples) for run in (HONEST, OTHER)) * (
        len(HONEST.samples.row.__struct_fields__) + 5
    )
    known = KnownTables(most=numbers)
    first, again, other, other_again = (
        load(Path("any"), _text(run), known) for run in (HONEST, HONEST, OTHER, OTHER)
    )
    assert (known.key(first), known.key(again), known.key(other)) == (b"", b"", b"")
    assert known.key(other_again)
