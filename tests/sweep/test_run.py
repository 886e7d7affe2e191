"""Sweeps and repeats through the command, on the real guest with short runs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tcptutor import run as run_file
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.sweep.results_file import load
from tests import leftovers, patience
from tests.command import COMMAND, here
from tests.command import process as tcptutor
from tests.sweep.made import NAME, SHORT, VIRTUAL

pytestmark = pytest.mark.guest

SWEEP = ["sweep", NAME, *SHORT, *VIRTUAL]


def _wait_for_rows(file: Path, count: int, seconds: float = 60.0) -> None:
    deadline = patience.Deadline(seconds)
    while deadline.left:
        if file.exists() and file.read_bytes().count(b'{"type":"row"') >= count:
            return
        time.sleep(0.05)
    pytest.fail(f"no {count} rows in {seconds} s")


def test_a_sweep_ends_in_one_file_that_plots(mark: str, snapshots: Snapshots, tmp_path: Path) -> None:
    file, picture = tmp_path / "x.tcpsweep", tmp_path / "x.svg"
    arguments = [
        *SWEEP,
        "--grid",
        "loss=0.1%,2%",
        "--grid",
        "seed=1,2",
        "-o",
        str(file),
        "--plot",
        str(picture),
    ]
    done = tcptutor(*arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no bar where there is no terminal
    first, *rest = done.stdout.splitlines()
    assert re.match(r"4 cells to run, guest, virtual clock, .*about \d+ s", first)
    assert any(line.startswith("2%") and "±" in line for line in rest)
    assert picture.exists()
    table = load(file)
    assert sorted(table.rows) == [0, 1, 2, 3]
    row = table.rows[1]
    assert (row.values, row.seed, row.clock) == ({"loss": 0.02}, 1, "virtual")
    assert 1e5 < row.throughput_bps < 5e6
    assert row.predictions[0].ratio == pytest.approx(row.throughput_bps / row.predictions[0].throughput_bps)
    # Again: nothing is left to run, and the same table comes out at once.
    again = tcptutor(*arguments, "--json")
    out = json.loads(again.stdout)
    assert again.stderr == ""
    assert [each["cell"] for each in out["rows"]] == [0, 1, 2, 3]
    assert out["points"][0]["measured"]["throughput_bps"]["n"] == 2
    assert out["failures"] == []


def test_a_killed_sweep_resumes(mark: str, snapshots: Snapshots, tmp_path: Path) -> None:
    file = tmp_path / "x.tcpsweep"
    arguments = [*SWEEP, "--grid", "seed=1..4/4", "-o", str(file), "--jobs", "1"]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL)
    _wait_for_rows(file, 1)
    process.kill()
    process.wait()
    assert leftovers.wait_until_none(mark) == []
    kept = file.read_bytes()
    with file.open("ab") as end:
        end.write(b'{"type":"row","cell":3,"po')  # as a machine that stops leaves it
    done = tcptutor(*arguments)
    assert done.returncode == 0, done.stderr
    before = kept.count(b'{"type":"row"')
    assert f"{before} are done, {4 - before} cell" in done.stdout
    assert file.read_bytes().startswith(kept)
    assert len(load(file).rows) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_guest_and_keeps_finished_cells(
    mark: str, snapshots: Snapshots, tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "x.tcpsweep"
    process = subprocess.Popen(
        [
            *COMMAND,
            "sweep",
            NAME,
            *VIRTUAL,
            *SHORT[2:],
            "--grid",
            "duration=1s,599s,600s",
            "-o",
            str(file),
            "-j2",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_for_rows(file, 1)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=patience.seconds(20))
    assert process.returncode == 1
    assert stderr.count("\n") == 1
    assert "stopped; 1 of 3 cells are saved" in stderr
    assert leftovers.wait_until_none(mark) == []
    assert list(load(file).rows) == [0]


def test_a_failed_cell_is_reported_and_retried(mark: str, snapshots: Snapshots, tmp_path: Path) -> None:
    file = tmp_path / "x.tcpsweep"
    arguments = [*SWEEP, "--grid", "tcp_ecn=0,nosuch", "-o", str(file)]
    for _ in range(2):
        done = tcptutor(*arguments)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "1 cell failed, the first (tcp_ecn=nosuch)" in done.stderr
        assert "to retry them" in done.stderr
        assert sorted(load(file).rows) == [0]


def test_a_second_sweep_into_the_same_file_is_refused(
    mark: str, snapshots: Snapshots, tmp_path: Path
) -> None:
    file = tmp_path / "x.tcpsweep"
    arguments = [*SWEEP, "--grid", "seed=1,2,3", "-o", str(file), "--jobs", "1"]
    first = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL)
    _wait_for_rows(file, 1)
    second = tcptutor(*arguments)
    assert second.returncode == 1
    assert "another sweep is writing" in second.stderr
    assert first.wait(timeout=patience.seconds(60)) == 0
    assert len(load(file).rows) == 3


@pytest.mark.host
def test_real_time_runs_are_serial(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "x.tcpsweep"
    quiet = ["--set", "delay=0", "--set", "loss=0", "--backend", "host"]
    done = tcptutor("sweep", NAME, *SHORT, *quiet, "--grid", "streams=1,2", "-o", str(file))
    assert done.returncode == 0, done.stderr
    assert "one run at a time, as runs in real time disturb each other" in done.stdout
    assert {row.clock for row in load(file).rows.values()} == {"real"}
    refused = tcptutor("sweep", NAME, *quiet, "--grid", "streams=1,2", "--jobs", "2", "--dry-run")
    assert refused.returncode == 2
    assert "--jobs: runs in real time disturb each other" in refused.stderr
    other = tcptutor("sweep", NAME, *SHORT, *quiet[:4], *VIRTUAL, "--grid", "streams=1,2", "-o", str(file))
    assert other.returncode == 2
    assert "holds another sweep: its backend is host, not guest" in other.stderr


def test_sweep_explains_itself() -> None:
    done = here("sweep", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage:")
    assert "rtt=10ms..100ms/10" in done.stdout


def test_dry_run_prints_the_plan_and_writes_nothing(snapshots: Snapshots, tmp_path: Path) -> None:
    done = tcptutor(*SWEEP, "--grid", "loss=0.1%,1%", "--grid", "rtt=10ms..50ms/5", "--dry-run", cwd=str(tmp_path),
                    env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("10 cells to run")
    assert list(tmp_path.iterdir()) == []


def test_without_the_guest_it_ends_with_3(tmp_path: Path) -> None:
    empty = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = tcptutor(*SWEEP, "--grid", "loss=0.1%,1%", "-o", str(tmp_path / "x.tcpsweep"), env=empty)
    assert done.returncode == 3
    assert "tcptutor setup" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_bar_is_there_on_a_terminal(mark: str, snapshots: Snapshots, tmp_path: Path) -> None:
    import pty

    here, there = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *SWEEP, "--grid", "seed=1,2", "-o", str(tmp_path / "x.tcpsweep"), "--json"],
        stdout=subprocess.PIPE, stderr=there, env={**os.environ, "TERM": "xterm", "WT_SESSION": "1"},
    )  # fmt: skip
    os.close(there)
    shown = b""
    try:
        while more := os.read(here, 4096):
            shown += more
    except OSError:
        pass  # the other side is closed
    os.close(here)
    out, _ = process.communicate(timeout=patience.seconds(60))
    assert process.returncode == 0
    assert b"2/2" in shown
    tab = re.findall(rb"\x1b\]9;4;(\d);(\d*)\x1b", shown)
    assert tab == [(b"1", b"50"), (b"1", b"100"), (b"0", b"")]
    assert len(json.loads(out)["rows"]) == 2


def test_seeds_give_every_run_and_the_means(mark: str, snapshots: Snapshots, without_state: Path) -> None:
    done = tcptutor("run", NAME, *SHORT, *VIRTUAL, "--seeds", "5..7", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    out = json.loads(done.stdout)
    assert [each["seed"] for each in out["runs"]] == [5, 6, 7]
    assert [run_file.load(Path(each["file"])).experiment.seed for each in out["runs"]] == [5, 6, 7]
    summary, rates = out["summary"], [each["aggregate"]["throughput_bps"] for each in out["runs"]]
    assert (summary["n"], summary["confidence"]) == (3, 0.95)
    assert summary["throughput_bps"]["mean"] == pytest.approx(sum(rates) / 3)
    # Runs so short lose nothing: they may be equal, and the interval nothing but rounding.
    assert summary["throughput_bps"]["low"] <= min(rates) * (1 + 1e-9)
    assert {"loss_rate", "losses"} <= set(summary)
    first = out["runs"][0]["predictions"][0]
    assert summary["ratios"][first["model"]]["n"] == 3
    # One run alone is still one document, the same as here.
    alone = json.loads(tcptutor("run", NAME, *SHORT, *VIRTUAL, "--seed", "5", "--json").stdout)
    assert list(alone) == list(out["runs"][0])
    assert alone["parameters"] == out["runs"][0]["parameters"]
    assert alone["aggregate"]["throughput_bps"] == pytest.approx(rates[0], rel=0.1)


def test_seeds_for_a_person(mark: str, snapshots: Snapshots, without_state: Path) -> None:
    done = tcptutor("run", NAME, *SHORT, *VIRTUAL, "--seeds", "2")
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"seed (\d+)", done.stdout)) == ["1", "2"]
    assert "mean of 2 runs" in done.stdout
    assert re.search(r"throughput +[\d.]+ ± [\d.]+ Mbit/s", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seeds", "0"], "--seeds"),
        (["--seeds", "7..3"], "write it like 5 or 3..7"),
        (["--seeds", "1..2000"], "1 to 1000 seeds"),
        (["--seeds", "two"], "write it like 5 or 3..7"),
        (["--seeds", "3..7", "--seed", "3"], "omit --seed"),
        (["--seeds", "2", "--seed", "4294967295"], "seed"),
    ],
)
def test_wrong_seeds(arguments: list[str], says: str) -> None:
    done = here("run", NAME, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
