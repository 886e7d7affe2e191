"""The index of runs: results without reading the runs, whatever happens to its file."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.base.errors import JournalError, TutorError, UsageError
from tcptutor.history import deletion, index
from tcptutor.history.index import RunIndex
from tcptutor.history.listing import ListedRun, words_of
from tcptutor.history.names import LONGEST, RunNames
from tcptutor.run import Run, load
from tests.ui.record import RUNS

ONE, TWO = "20260101-100000-aaa111", "20260102-100000-bbb222"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(RUNS / "lossy.tcprun", folder / f"{ONE}.tcprun")
    shutil.copy(RUNS / "eight.tcprun", folder / f"{TWO}.tcprun")
    return folder


@pytest.fixture
def opened(folder: Path) -> Callable[[], RunIndex]:
    def read() -> RunIndex:
        found = RunIndex(folder, places.lessons())
        found.read()
        return found

    return read


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the run files that are read."""
    read: list[str] = []

    def counted(path: Path) -> Run:
        read.append(path.name)
        return load(path)

    monkeypatch.setattr(index, "load", counted)
    return read


def fill(opened: Callable[[], RunIndex]) -> RunIndex:
    found = opened()
    for file in found.read():
        found.summary(file)
    found.save()
    return found


def test_each_run_is_read_once(opened: Callable[[], RunIndex], loads: list[str]) -> None:
    fill(opened)
    again = opened()
    files = again.read()
    assert [file.stem for file in files] == [TWO, ONE]
    assert all(again.summary(file).throughput_bps for file in files)
    assert len(loads) == 2


def test_a_changed_run_is_read_again(folder: Path, opened: Callable[[], RunIndex], loads: list[str]) -> None:
    before = fill(opened).known(folder / f"{ONE}.tcprun")
    shutil.copy(folder / f"{TWO}.tcprun", folder / f"{ONE}.tcprun")
    os.utime(folder / f"{ONE}.tcprun", (1, 1))
    again = opened()
    assert again.known(folder / f"{ONE}.tcprun") is None
    assert again.summary(folder / f"{ONE}.tcprun") != before
    assert len(loads) == 3


def test_runs_are_analyzed_again_by_a_newer_analysis(
    folder: Path, opened: Callable[[], RunIndex], loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(opened)
    monkeypatch.setattr(index, "_made_by", lambda: "newer")
    again = opened()
    file = folder / f"{ONE}.tcprun"
    assert again.known(file) is not None
    assert not again.is_current(file)
    again.summary(file)
    assert again.is_current(file)
    assert len(loads) == 3


@pytest.mark.parametrize(
    "damage", [b"", b"nothing", b'{"format_version":1,"runs":{"a":1}}', b'{"format_version":7}']
)
def test_a_damaged_index_is_rebuilt(folder: Path, opened: Callable[[], RunIndex], damage: bytes) -> None:
    fill(opened)
    (folder / index.NAME).write_bytes(damage)
    again = opened()
    assert again.notice
    assert "\n" not in again.notice
    fill(opened)
    third = opened()
    assert not third.notice
    assert all(third.is_current(file) for file in third.read())


def test_a_text_that_would_control_the_terminal_is_not_taken_from_it(
    folder: Path, opened: Callable[[], RunIndex]
) -> None:
    fill(opened)
    path = folder / index.NAME
    path.write_text(path.read_text().replace('"guest"', '"\\u001b[2Jguest"'))
    again = opened()
    assert all(again.known(file) is None for file in again.read())
    assert again.summary(folder / f"{ONE}.tcprun").is_sound


def test_two_programs_lose_none_of_their_summaries(folder: Path, opened: Callable[[], RunIndex]) -> None:
    first, second = opened(), opened()
    first.summary(folder / f"{ONE}.tcprun")
    second.summary(folder / f"{TWO}.tcprun")
    first.save()
    second.save()
    assert all(opened().is_current(folder / f"{id}.tcprun") for id in (ONE, TWO))


def test_a_run_that_cannot_be_read_costs_itself(folder: Path, opened: Callable[[], RunIndex]) -> None:
    (folder / "20260103-100000-ccc333.tcprun").write_bytes(b"nothing")
    found = opened()
    files = found.read()
    assert len(files) == 3
    with pytest.raises(TutorError):
        found.summary(files[0])
    assert found.summary(files[1]).throughput_bps


def test_a_filter_finds_words_of_settings_verdict_and_name(
    folder: Path, opened: Callable[[], RunIndex]
) -> None:
    run = ListedRun(folder / f"{ONE}.tcprun", opened().summary(folder / f"{ONE}.tcprun"), None, "My first")
    assert run.matches(words_of("random LOSS"))
    assert run.matches(words_of("first lossy"))
    assert not run.matches(words_of("first bottleneck"))


# Names


def test_names_are_kept_and_removed(tmp_path: Path) -> None:
    RunNames(tmp_path).give(ONE, " The good one ")
    RunNames(tmp_path).give(TWO, "naïve")
    assert RunNames(tmp_path).all() == {ONE: "The good one", TWO: "naïve"}
    RunNames(tmp_path).give(ONE, "")
    assert RunNames(tmp_path).all() == {TWO: "naïve"}


@pytest.mark.parametrize("name", ["x" * (LONGEST + 1), "a\nb", "a\x1b[2J", "\u202eevil"])
def test_a_name_is_printable_and_short(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        RunNames(tmp_path).give(ONE, name)
    assert RunNames(tmp_path).all() == {}


def test_damaged_names_cost_themselves_once(tmp_path: Path) -> None:
    file = tmp_path / "run-names.json"
    file.write_text("nothing")
    with pytest.raises(JournalError):
        RunNames(tmp_path).all()
    RunNames(tmp_path).give(ONE, "new")
    assert RunNames(tmp_path).all() == {ONE: "new"}
    assert [each.read_text() for each in tmp_path.glob("run-names.damaged*")] == ["nothing"]


def test_names_given_by_several_programs_at_once_are_all_kept(tmp_path: Path) -> None:
    def give(part: int) -> None:
        for number in range(10):
            RunNames(tmp_path).give(f"run-{part}-{number}", f"name {number}")

    threads = [threading.Thread(target=give, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(RunNames(tmp_path).all()) == 40


# Deletion


def test_a_deleted_run_comes_back_with_its_packets(folder: Path) -> None:
    file = folder / f"{ONE}.tcprun"
    before = file.read_bytes()
    file.with_name(f"{file.name}.pcapng").write_bytes(b"packets")
    aside = deletion.delete(file)
    assert [each.name for each in folder.glob("*.tcprun*")] == [f"{TWO}.tcprun"]
    assert list(deletion.deleted_runs(folder)) == [aside]
    assert deletion.restore(aside) == file
    assert file.read_bytes() == before
    assert file.with_name(f"{file.name}.pcapng").read_bytes() == b"packets"


def test_a_run_that_exists_again_is_not_replaced(folder: Path) -> None:
    file = folder / f"{ONE}.tcprun"
    aside = deletion.delete(file)
    file.write_bytes(b"newer")
    with pytest.raises(UsageError):
        deletion.restore(aside)
    assert (file.read_bytes(), aside.exists()) == (b"newer", True)


def test_deleted_runs_go_for_good_after_a_day(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aside = deletion.delete(folder / f"{ONE}.tcprun")
    today = deletion._today()
    deletion.remove_old(folder)
    monkeypatch.setattr(deletion, "_today", lambda: today + deletion.KEPT)
    deletion.remove_old(folder)
    assert aside.exists()
    monkeypatch.setattr(deletion, "_today", lambda: today + 2 * deletion.KEPT)
    deletion.remove_old(folder)
    assert not aside.exists()
    assert (folder / f"{TWO}.tcprun").exists()
