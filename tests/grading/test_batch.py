"""Many hand-ins at once: each for itself, whatever the others are."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from tcptutor.base.errors import ContentError, TutorError
from tcptutor.grading import batch, session
from tcptutor.grading.batch import GradingBasis
from tests import patience
from tests.command import COMMAND, process
from tests.grading.evidence.student import KEY, LESSONS, handed_in
from tests.grading.graded import Counter, graded
from tests.sweep.test_cluster import cluster


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
    paths = batch.find_hand_ins([folder])
    assert [path.name for path in paths] == [*(f"{n}.tcphandin" for n in range(10)), "x.tcphandin"]
    found = graded(paths, GradingBasis(LESSONS, KEY.code), jobs)
    assert [number for number, one in enumerate(found) if one.grade is None] == [3]
    assert [one.grade.total for one in found if one.grade] == [19] * 10
    assert "is not a hand-in" in found[3].problem


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_without_end_is_told_at_once(jobs: int, folder: Path) -> None:
    with (folder / "4.tcphandin").open("wb") as sparse:
        sparse.truncate(1 << 40)
    began = time.monotonic()
    found = graded(batch.find_hand_ins([folder]), GradingBasis(LESSONS, KEY.code), jobs)
    assert "is larger than 64 MB" in found[4].problem
    assert sum(one.grade is None for one in found) == 2
    assert time.monotonic() - began < patience.seconds(60)


def test_a_process_that_is_killed_is_told_and_the_others_are_graded(folder: Path) -> None:
    """By what we cannot foresee: memory that runs out, for one."""
    paths = batch.find_hand_ins([folder])
    results = batch.grade_files([(path,) for path in paths], GradingBasis(LESSONS, KEY.code), 2)
    found = [next(results)]
    for worker in _workers():
        os.kill(worker, signal.SIGKILL)
    found += results
    problems = {number: problem for number, (grade, problem), _ in found if grade is None}
    assert sorted(number for number, *_ in found) == list(range(11))
    assert len(problems) <= 2
    assert "is not a hand-in" in problems[3]


def test_who_stops_waiting_leaves_no_process(folder: Path) -> None:
    paths = batch.find_hand_ins([folder])
    results = batch.grade_files([(path,) for path in paths], GradingBasis(LESSONS, KEY.code), 2)
    next(results)
    assert _workers()
    results.close()  # type: ignore[attr-defined]
    assert _workers() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_grading_with_one_line(number: signal.Signals, folder: Path) -> None:
    good = (folder / "0.tcphandin").read_bytes()
    for copy in range(60):
        # Each is another file, which no cache has.
        (folder / f"more-{copy}.tcphandin").write_bytes(good + bytes(512 * copy))
    words = ["grade", str(folder), "--course", str(LESSONS), "--key", KEY.code, "--jobs", "2"]
    with subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as grading:
        deadline = patience.Deadline(60)
        while not _workers(grading.pid) and deadline.left:
            time.sleep(0.05)
        grading.send_signal(number)
        out, said = grading.communicate(timeout=patience.seconds(30))
    assert (grading.returncode, out, said) == (130, "", "tcptutor: stopped\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_a_grading_that_was_killed(number: signal.Signals, folder: Path) -> None:
    good = (folder / "0.tcphandin").read_bytes()
    for copy in range(60):
        (folder / f"more-{copy}.tcphandin").write_bytes(good + bytes(512 * copy))
    words = ["grade", str(folder), "--course", str(LESSONS), "--key", KEY.code, "--jobs", "2"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*COMMAND, *words], **silent) as grading:  # type: ignore[call-overload]
        deadline = patience.Deadline(60)
        workers: list[int] = []
        while len(workers) < 2 and deadline.left:
            workers = _workers(grading.pid)
        started = _workers(grading.pid, b"")
        grading.send_signal(number)
        grading.wait(timeout=patience.seconds(30))
    assert len(workers) == 2
    deadline = patience.Deadline(20)
    while any(_is_alive(pid) for pid in started) and deadline.left:
        time.sleep(0.05)
    assert [pid for pid in started if _is_alive(pid)] == []


def _is_alive(pid: int) -> bool:
    """Whether the process is still at work; a zombie is not, nor another process of its number."""
    try:
        return any(each in Path(f"/proc/{pid}/cmdline").read_bytes() for each in (b"spawn_main", b"tracker"))
    except (FileNotFoundError, ProcessLookupError):
        return False


def _workers(of: int | None = None, kind: bytes = b"spawn_main") -> list[int]:
    """Those that grade, for that process or ours; Python has another child beside them, a tracker of resources."""
    found = []
    for task in Path(f"/proc/{of or os.getpid()}/task").iterdir():
        # A thread, or a child, may end while it is looked at.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for pid in (task / "children").read_text().split():
                if kind in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


def test_lessons_that_cannot_be_read_whole_are_told_before_anything(tmp_path: Path) -> None:
    shutil.copytree(LESSONS, tmp_path / "lessons")
    (tmp_path / "lessons/01-small/01-asked.md").write_text("+++\nno\n+++\n")
    with pytest.raises(ContentError):
        graded([tmp_path / "x"], GradingBasis(tmp_path / "lessons"))


def test_what_was_graded_is_not_graded_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths, asked = batch.find_hand_ins([folder]), GradingBasis(LESSONS, KEY.code)
    first = graded(paths, asked)
    # Ten of the eleven are equal, and are graded as one as well; nothing of the other is put into the cache.
    entries = list((tmp_path / "cache/tcptutor/grades").iterdir())
    assert [entry.stat().st_mode & 0o777 for entry in entries] == [0o600] * 2
    monkeypatch.setattr("tcptutor.grading.batch.grade_hand_in", _never)
    again = Counter()
    assert graded(paths, asked, counter=again) == first
    # The time left is that of what is graded: here of the file that is none.
    assert (again.done, again.timed, again.more) == (12, 1, 1)
    # By other rules it is another grade, and a damaged entry is none.
    for by in (GradingBasis(LESSONS, ""), asked):
        for entry in entries:
            entry.write_bytes(b"{")
        with pytest.raises(AssertionError, match="graded again"):
            graded(paths, by)


def _never(*_: object) -> None:
    raise AssertionError("graded again")


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """As course systems pack them: a folder a student."""
    good = handed_in("ada", tmp_path / "ada")
    for name in ("ada", "bob"):
        (tmp_path / "class" / name).mkdir(parents=True)
        shutil.copy(good, tmp_path / "class" / name / "hand-in.tcphandin")
    found = graded(batch.find_hand_ins([tmp_path / "class"]), GradingBasis(LESSONS))
    assert [each.file for each in found] == ["ada/hand-in.tcphandin", "bob/hand-in.tcphandin"]


def tcptutor(*words: str, cache: str = "") -> subprocess.CompletedProcess[str]:
    return process(*words, env={**os.environ, **({"XDG_CACHE_HOME": cache} if cache else {})})


@pytest.mark.host
def test_a_cluster_grades_as_this_machine_does(folder: Path, tmp_path: Path) -> None:
    decided = tmp_path / "decisions.toml"
    decided.write_text(
        '[[decision]]\nstudent = "ada"\ndeadline = "2020-01-31T12:00+00:00"\nreason = "r"\nby = "AB"\n'
    )
    names = ["grade", "--course", str(LESSONS), "--key", KEY.code, "--format", "json", str(folder)]
    names += ["--exceptions", str(decided)]
    here = tcptutor(*names, cache=str(tmp_path / "here"))
    with cluster(2, XDG_CACHE_HOME=str(tmp_path / "there")) as (address, _):
        there = tcptutor(*names, "--cluster", address, cache=str(tmp_path / "there"))
        assert (there.returncode, there.stdout) == (1, here.stdout)
        assert json.loads(there.stdout)["hand_ins"][0]["total"] == 9.5  # late by the student's own deadline
        assert "is not a hand-in" in there.stderr
        jobs = tcptutor(*names, "--cluster", address, "--jobs", "2")
        assert (jobs.returncode, "omit --jobs" in jobs.stderr) == (2, True)
    # What was graded is in the cache: no scheduler is needed any more but for the one that is damaged.
    gone = tcptutor(*names, "--cluster", address, cache=str(tmp_path / "there"))
    assert gone.returncode == 3
    assert "no Dask scheduler answers" in gone.stderr


@pytest.mark.host
def test_a_worker_reads_lessons_again_that_were_edited(folder: Path, tmp_path: Path) -> None:
    lessons = tmp_path / "lessons"
    shutil.copytree(LESSONS, lessons)
    with cluster(1) as (address, _):
        names = ["grade", "--course", str(lessons), str(folder / "1.tcphandin"), "--cluster", address]
        assert "19 of 19" in tcptutor(*names, cache=str(tmp_path / "1")).stdout
        page = lessons / "01-small/01-asked.md"
        page.write_text(
            page.read_text().replace("correct = true\n", "").replace('"RTT"', '"RTT"\ncorrect = true')
        )
        assert "17 of 19" in tcptutor(*names, cache=str(tmp_path / "2")).stdout


def test_a_worker_with_other_lessons_grades_nothing() -> None:
    asked = {"name": "x", "content": b"", "lessons": str(LESSONS), "versions": "", "digest": "0"}
    asked |= {"code": "", "modules": ()}
    with pytest.raises(TutorError, match="the worker's lessons differ from yours"):
        session.grade_on_worker(msgspec.msgpack.encode(asked))
