"""Sweeps on a real Dask scheduler with two worker processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.sweep.results_file import load
from tests import leftovers, patience
from tests.command import COMMAND, here
from tests.command import process as tcptutor
from tests.sweep.made import NAME, SHORT

pytestmark = pytest.mark.host

LONG = ["--set", "warmup=0s", "--grid", "duration=600s,601s"]


@contextmanager
def cluster(workers: int = 2, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a scheduler with that many workers, and the process that owns them."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.sweep.local_cluster", str(workers)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address
            yield address, process
        finally:
            process.stdin.close()
            process.wait(timeout=patience.seconds(30))


def _guests(mark: str) -> list[str]:
    return [line for line in leftovers.marked(mark) if "qemu-system" in line]


def _wait_for_guests(mark: str, count: int, seconds: float = 30.0) -> None:
    deadline = patience.Deadline(seconds)
    while len(_guests(mark)) != count:
        assert deadline.left, _guests(mark)
        time.sleep(0.1)


@pytest.mark.guest
def test_a_cluster_from_its_first_cell_to_its_end(mark: str, snapshots: Snapshots, tmp_path: Path) -> None:
    """One cluster, which takes seconds to start: a whole sweep, an interrupted one, one without its scheduler."""
    with cluster() as (address, owner):
        _cells_are_spread_over_the_workers(address, tmp_path)
        _guests_end_with_the_command(address, tmp_path, mark, signal.SIGINT)
        process = _long_sweep(address, tmp_path, mark)
        owner.kill()
        _, stderr = process.communicate(timeout=patience.seconds(40))
    assert process.returncode == 1
    assert stderr.count("\n") == 1
    assert "has gone away" in stderr
    assert "repeat the command to continue" in stderr


def _cells_are_spread_over_the_workers(address: str, folder: Path) -> None:
    file = folder / "x.tcpsweep"
    arguments = ["sweep", NAME, *SHORT, "--grid", "loss=0.1%,1%", "--grid", "seed=1,2", "-o", str(file)]
    done = tcptutor(*arguments, "--cluster", address)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    table = load(file)
    assert sorted(table.rows) == [0, 1, 2, 3]
    assert {(row.backend, row.clock) for row in table.rows.values()} == {("guest", "virtual")}
    # The same file goes on without the cluster: here, nothing is left to do.
    again = here(*arguments, "--backend", "guest", "--clock", "virtual")
    assert again.returncode == 0, again.stderr
    assert "to run" not in again.stdout


def _guests_end_with_the_command(address: str, folder: Path, mark: str, number: signal.Signals) -> None:
    process = _long_sweep(address, folder, mark)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=patience.seconds(20))
    assert stderr.count("\n") == (1 if number == signal.SIGINT else 0)
    _wait_for_guests(mark, 0)


def _long_sweep(address: str, folder: Path, mark: str) -> subprocess.Popen[str]:
    """A sweep whose cells do not end by themselves, each in its worker's guest."""
    process = subprocess.Popen(
        [*COMMAND, "sweep", NAME, *LONG, "-o", str(folder / "long.tcpsweep"), "--cluster", address],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    _wait_for_guests(mark, 2)
    return process


@pytest.mark.guest
def test_the_workers_guests_end_with_a_killed_command(
    mark: str, snapshots: Snapshots, tmp_path: Path
) -> None:
    with cluster() as (address, _):
        _guests_end_with_the_command(address, tmp_path, mark, signal.SIGKILL)


def test_a_worker_without_the_guest_says_so_for_its_cells(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "x.tcpsweep"
    with cluster(XDG_CACHE_HOME=str(tmp_path / "cache")) as (address, _):
        done = here("sweep", NAME, *SHORT, "--grid", "seed=1,2", "-o", str(file), "--cluster", address)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert re.search(r"2 cells failed, the first \(seed [12]\): on ", done.stderr)
    assert "tcptutor setup" in done.stderr
    assert all("tcptutor setup" in failure.reason for failure in load(file).failures.values())


def test_a_worker_without_tcptutor_says_so(mark: str, tmp_path: Path) -> None:
    """Its tcptutor is one that cannot work for others."""
    old = tmp_path / "old" / "tcptutor"
    old.mkdir(parents=True)
    (old / "__init__.py").write_text("")
    tests = Path(__file__).parents[1]
    (tmp_path / "old" / "tests").symlink_to(tests)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.sweep.local_cluster", "1"], cwd=tmp_path / "old", text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    file = tmp_path / "x.tcpsweep"
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        done = tcptutor("sweep", NAME, *SHORT, "--grid", "seed=1,2", "-o", str(file), "--cluster", address)
        process.stdin.close()
        process.wait(timeout=patience.seconds(30))
    assert done.returncode == 1
    assert "a worker has no tcptutor.fleet: install" in done.stderr


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command in this process waits a second for what will not come."""
    monkeypatch.setattr("tcptutor.fleet.cluster.TIMEOUT", patience.seconds(1))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "no.such.host.invalid:8786"])
def test_no_scheduler_at_the_address(impatient: None, tmp_path: Path, address: str) -> None:
    done = here("sweep", NAME, "--grid", "seed=1,2", "-o", str(tmp_path / "x.tcpsweep"), "--cluster", address)
    assert done.returncode == 3
    assert f"no Dask scheduler answers at {address}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_scheduler_without_workers(impatient: None, mark: str, tmp_path: Path) -> None:
    with cluster(workers=0) as (address, _):
        done = here(
            "sweep", NAME, "--grid", "seed=1,2", "-o", str(tmp_path / "x.tcpsweep"), "--cluster", address
        )
    assert done.returncode == 3
    assert "has no worker" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_dask_one_line_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['distributed'] = None; from tcptutor.commands.command_line import main; main()"
    arguments = [
        "sweep",
        NAME,
        "--grid",
        "seed=1,2",
        "-o",
        str(tmp_path / "x.tcpsweep"),
        "--cluster",
        "tcp://x:1",
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "-m pip install 'distributed>=2024.1'" in done.stderr
    assert done.stderr.count("\n") == 1
