"""What the student did is nobody else's to read: the journal, its logs and copies, the runs, and the folders of all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tcptutor import exchange
from tcptutor.backends.session import Home
from tcptutor.course.goals.goal import GoalBoard
from tcptutor.journal import Journal
from tcptutor.journal.goals import GoalFile
from tcptutor.run import load, save
from tcptutor.runs.parts import SUFFIX
from tcptutor.runs.store import RunStore
from tests.cli.places import FOUR


@pytest.fixture(params=[0o022, 0o077, 0o000], ids=["022", "077", "000"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): _mode(path) for path in sorted(folder.rglob("*"))}


def test_a_new_journal_and_its_runs_are_their_owners_alone(tmp_path: Path, umask: int) -> None:
    place = tmp_path / "data" / "tcptutor"
    run = load(FOUR)
    with closing(Journal.open(place / "journal.db")) as journal:
        journal.runs.begin(run)
        journal.begin_run(run, "m", "s")
        part = place / "runs" / f"{run.id}.tcprun{SUFFIX}"
        assert _mode(part) == 0o600
        journal.finish_run(run, Path(journal.runs.finish(run)))
        assert {"tcptutor/journal.db-wal", "tcptutor/journal.db-shm"} <= set(_modes(tmp_path / "data"))
        modes = _modes(tmp_path)
    assert set(modes.values()) == {0o600, 0o700}, modes
    assert {name for name, mode in modes.items() if mode == 0o700} == {
        "data", "data/tcptutor", "data/tcptutor/runs"
    }  # fmt: skip


def test_one_that_others_could_read_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with closing(Journal.open(path)) as journal:
        journal.visit("m", "s")
        for file in tmp_path.glob("journal.db*"):
            file.chmod(0o644)
        # Another program, while the first one has it open.
        with closing(Journal.open(path)) as other:
            other.visit("m", "t")
            assert set(_modes(tmp_path).values()) == {0o600}
        journal.visit("m", "u")
    with closing(Journal.open(path)) as journal:
        assert journal.position() == ("m", "u")


def test_a_run_that_was_readable_is_private_when_it_is_written_again(tmp_path: Path) -> None:
    run = load(FOUR)
    file = RunStore(tmp_path).file(run.id)
    assert file is not None
    file.touch(0o644)
    file.chmod(0o644)
    RunStore(tmp_path).finish(run)
    assert _mode(file) == 0o600


def test_what_is_brought_out_is_readable_as_the_user_has_it(
    tmp_path: Path, without_state: Path, umask: int
) -> None:
    run = load(FOUR)
    save(run, tmp_path / "new" / "a.tcprun")
    assert exchange.save_run(run, tmp_path / "b.tcprun") == tmp_path / "b.tcprun"
    assert _mode(tmp_path / "new" / "a.tcprun") == _mode(tmp_path / "b.tcprun") == 0o666 & ~umask
    assert _mode(exchange.save_run(run)) == 0o600
    assert _mode(without_state) == 0o700


def test_the_lab_s_home_may_be_entered_by_whom_the_lab_runs_as(without_state: Path) -> None:
    """The folders above it are closed; a mount of it is not."""
    folder = Home().make()
    assert folder is not None
    assert _mode(folder.parent) == 0o700
    assert _mode(folder) == 0o777 & ~_umask()


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o555, 0o700])
def test_runs_of_an_earlier_version_are_closed_to_others_by_their_folder(mode: int, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "old.tcprun").write_bytes(FOUR.read_bytes())
    runs.chmod(mode)
    with closing(Journal.open(tmp_path / "journal.db")):
        pass
    assert _mode(runs) == mode & 0o700


def test_a_board_of_goals_is_its_owners_alone(without_state: Path) -> None:
    folder = without_state / "tcptutor" / "goals"
    folder.mkdir(parents=True, mode=0o755)
    board = GoalFile("m", "s")
    board.write(GoalBoard(goals=()))
    board.close()
    assert _mode(folder) == 0o700
    assert [_mode(file) for file in folder.glob("*.json")] == [0o600]
