"""`tcptutor plot` of a sweep's file, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tcptutor.sweep.results_file import Store
from tests.command import here as tcptutor
from tests.sweep.made import cells_of, definition_of, row_of

GRID = ["loss=0.01%..1%/x3", "rtt=10ms,50ms"]
RUN = str(Path(__file__).parents[1] / "analysis" / "runs" / "pacing.tcprun")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole sweep."""
    path = tmp_path / "x.tcpsweep"
    with Store(path, definition_of(*GRID)) as store:
        for cell in cells_of(*GRID):
            store.add(row_of(cell, 4e6))
    return path


def test_a_sweep_is_drawn_from_its_file(file: Path, tmp_path: Path) -> None:
    done = tcptutor("plot", str(file), "-o", str(tmp_path / "out.svg"))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'out.svg'}\n", "")
    drawn = (tmp_path / "out.svg").read_text()
    for text in ("loss, %", "throughput, Mbit/s", "binding model", "delay 10ms", "delay 50ms"):
        assert f">{text}</text>" in drawn


def test_a_sweep_is_drawn_in_the_terminal(file: Path) -> None:
    done = tcptutor("plot", str(file), "--x", "loss")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 22
    assert lines[1].strip() == "throughput, Mbit/s"
    assert lines[-2].strip() == "loss, %"
    assert lines[-1] == "⠒⠒ binding model   ● delay 10ms   ▲ delay 50ms"
    assert lines[-3].split() == ["0.01", "0.1", "1"]


def test_axes_and_quantity_can_be_chosen_and_the_file_may_have_any_name(file: Path, tmp_path: Path) -> None:
    file = file.rename(tmp_path / "results")
    done = tcptutor(
        "plot", str(file), "-o", str(tmp_path / "out.svg"), "--x", "rtt", "--y", "rtt", "--group", "loss", "--json"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"files": [str(tmp_path / "out.svg")]}
    drawn = (tmp_path / "out.svg").read_text()
    assert ">delay added to the RTT, ms</text>" in drawn
    assert ">mean RTT, ms</text>" in drawn


def test_what_is_whole_of_a_damaged_file_is_drawn(file: Path, tmp_path: Path) -> None:
    lines = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([*lines[:2], b"{", *lines[3:]]))
    done = tcptutor("plot", str(file), "-o", str(tmp_path / "out.svg"))
    assert done.returncode == 0
    assert done.stderr == f"tcptutor: 1 damaged line in {file} left out: the sweep runs it again\n"
    assert "1 of 6 cells are missing" in (tmp_path / "out.svg").read_text()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["plot", "{file}", RUN], 2, "is a sweep, other files are not: plot runs and sweeps separately"),
        (["plot", RUN, "{file}"], 2, "is a sweep, other files are not"),
        (["plot", "{file}", "{file}"], 2, "a plot shows one sweep, not 2: name one"),
        (["plot", "{file}", "--what", "cwnd"], 2, "--what is for runs: choose a sweep's quantity with --y"),
        (["plot", RUN, "--y", "rtt"], 2, "--y is for sweep files: choose quantities of a run with --what"),
        (["plot", "{file}", "--x", "rate"], 2, "not an axis of this sweep: the axes are loss, delay"),
        (["plot", "{folder}/none.tcpsweep"], 1, "no sweep file"),
        (
            ["plot", "{folder}/notes.tcpsweep"],
            2,
            "is not the file of a sweep: give one that `tcptutor sweep` has",
        ),
        (["export", "{file}"], 2, "is the file of a sweep, not of a run"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    file: Path, tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    (tmp_path / "notes.tcpsweep").write_text("my notes\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    given = [word.format(file=file, folder=tmp_path) for word in words]
    done = tcptutor(*given, *(["-o", str(tmp_path / "out.svg")] if words[0] == "plot" else []))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done.stderr
    assert says in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
