"""Many hand-ins at once: each for itself, whatever the others are."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from tcptutor.errors import ContentError
from tcptutor.grading import batch
from tcptutor.grading.batch import Asked
from tests.evidence.student import KEY, LESSONS, handed_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Hand-ins of a class: ten that are good, one that is none, one in a folder of its own."""
    good = handed_in("ada", tmp_path / "ada")
    found = tmp_path / "class"
    (found / "late").mkdir(parents=True)
    for number in range(10):
        shutil.copy(good, found / f"{number}.tcphandin")
    shutil.copy(good, found / "late" / "x.tcphandin")
    (found / "3.tcphandin").write_bytes(b"nothing")
    (found / "notes.txt").write_text("not a hand-in")
    return found


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bad_one_costs_nobody_else_anything(jobs: int, folder: Path) -> None:
    paths = batch.hand_ins([folder])
    assert [path.name for path in paths] == [*(f"{n}.tcphandin" for n in range(10)), "x.tcphandin"]
    found = dict(batch.graded(paths, Asked(LESSONS, KEY.code), jobs))
    assert sorted(found) == list(range(11))
    assert [number for number, one in found.items() if one.grade is None] == [3]
    assert {one.grade.total for one in found.values() if one.grade} == {19}
    assert "is not a hand-in" in found[3].problem


def test_a_process_that_is_killed_is_told_and_the_others_are_graded(folder: Path) -> None:
    """By what we cannot foresee: memory that runs out, for one."""
    paths = batch.hand_ins([folder])
    results = batch.graded(paths, Asked(LESSONS, KEY.code), 2)
    found = dict([next(results)])
    for worker in _workers():
        os.kill(worker, signal.SIGKILL)
    found |= dict(results)
    assert sorted(found) == list(range(11))
    assert sum(one.grade is None for one in found.values()) <= 2
    assert "is not a hand-in" in found[3].problem


def _workers() -> list[int]:
    """Those that grade; Python has another child beside them."""
    mine = Path(f"/proc/{os.getpid()}/task")
    children = [pid for task in mine.iterdir() for pid in (task / "children").read_text().split()]
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_lessons_that_cannot_be_read_whole_are_told_before_anything(tmp_path: Path) -> None:
    shutil.copytree(LESSONS, tmp_path / "lessons")
    (tmp_path / "lessons/01-small/01-asked.md").write_text("+++\nno\n+++\n")
    with pytest.raises(ContentError):
        next(batch.graded([tmp_path / "x"], Asked(tmp_path / "lessons")))
