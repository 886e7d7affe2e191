"""Grids: what may be written, what cells it makes, and what a wrong one gets."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.base.printable import is_printable
from tcptutor.sweep import grid
from tests.command import here as tcptutor
from tests.sweep.made import NAME, cells_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("loss=0.01%,0.1%,1%", ["0.01%", "0.1%", "1%"]),
        ("rtt=10ms..100ms/10", [f"{ms}ms" for ms in range(10, 101, 10)]),
        ("delay=0..20ms/3", ["0ms", "10ms", "20ms"]),
        ("delay=500us..1ms/2", ["0.5ms", "1ms"]),
        ("loss=0.01%..1%/x3", ["0.01%", "0.1%", "1%"]),
        ("streams=1..64/x7", ["1", "2", "4", "8", "16", "32", "64"]),
        ("queue=0.5BDP..2BDP/4", ["0.5BDP", "1BDP", "1.5BDP", "2BDP"]),
        ("rate=1 Mbit/s .. 3 Mbit/s / 3", ["1Mbit/s", "2Mbit/s", "3Mbit/s"]),
        ("seed=1..10/10", [str(seed) for seed in range(1, 11)]),
        ("algorithm=reno,cubic", ["reno", "cubic"]),
        ("algorithms=reno,cubic|cubic,reno", ["reno,cubic", "cubic,reno"]),
        ("tcp_sack=0,1", ["0", "1"]),
    ],
)
def test_what_may_be_written(text: str, values: list[str]) -> None:
    assert [value.replace(" ", "") for value in grid.read_axis(text).values] == values


def test_rtt_is_the_delay() -> None:
    assert grid.read_axis("rtt=10ms,20ms").name == "delay"


def test_several_axes_make_the_product_and_the_seed_changes_slowest() -> None:
    made = cells_of("seed=4,5", "loss=0.1%,1%", "rtt=10ms,20ms")
    assert [cell.index for cell in made] == list(range(8))
    assert [cell.experiment.seed for cell in made] == [4] * 4 + [5] * 4
    assert [cell.point for cell in made[:4]] == [
        {"loss": loss, "delay": delay} for loss in ("0.1%", "1%") for delay in ("10ms", "20ms")
    ]
    assert made[3].experiment.path.loss == pytest.approx(0.01)
    assert made[3].experiment.path.delay == pytest.approx(0.02)


def test_a_queue_in_bdp_follows_the_rate() -> None:
    made = cells_of("rate=10Mbit/s,20Mbit/s", "queue=1BDP,2BDP", delay="40ms")
    assert [cell.experiment.path.queue for cell in made] == [50_000, 100_000, 100_000, 200_000]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["loss"], "NAME=VALUES"),
        (["loss="], "NAME=VALUES"),
        (["loss=0.1%,,1%"], "empty value"),
        (["loss=0.1"], "0.1 % or 10 %"),
        (["loss=0.1%,95%"], "out of bounds"),
        (["loss=0.1%,0.10%"], "equal values"),
        (["bandwidth=1Mbit/s,2Mbit/s"], "no parameter 'bandwidth'"),
        (["rtt=10ms..100ms"], "not a range"),
        (["rtt=10ms..100ms/1"], "2 to 10000 values"),
        (["rtt=10ms..100ms/99999"], "2 to 10000 values"),
        (["rtt=10..100ms/3"], "no unit"),
        (["rtt=10ms..1Mbit/s/3"], "units"),
        (["rtt=0..100ms/x3"], "above 0"),
        (["rtt=..100ms/3"], "not a range"),
        (["algorithm=reno..cubic/2"], "not a range"),
        (["queue=64KiB..2BDP/2"], "give both in the same"),
        (["streams=1..3/9"], "equal values"),
        (["seed=-1,2"], "out of bounds"),
        (["seed=1.5"], "out of bounds"),
        (["rtt=10ms,20ms", "delay=30ms,40ms"], "delay twice"),
        (["seed=1..1000/1000", "loss=0.1%..1%/11"], "11000 cells, at most 10000"),
    ],
)
def test_a_wrong_grid_is_one_clear_line(texts: list[str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        grid.read_axes(texts)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_each_cell_is_checked_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="jitter: larger than the delay"):
        cells_of("delay=20ms,5ms", jitter="10ms")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--grid"),
        (["--grid", "loss=1"], "1 % or 100 %"),
        (["--grid", "loss=0.1%,1%", "--set", "loss=1%"], "in --grid and in --set"),
        (["--grid", "rtt=10ms,20ms", "--set", "rtt=1ms"], "in --grid and in --set"),
        (["--grid", "seed=1,2", "--seed", "3"], "in --grid and in --seed"),
        (["--grid", "loss=0.1%,1%", "--jobs", "0"], "--jobs"),
        (["--grid", "loss=0.1%,1%", "--plot", "x.gif"], ".svg, .pdf, .png"),
        (["--grid", "loss=0.1%,1%", "--plot", "x.svg", "--x", "rate"], "not an axis"),
        (["--grid", "loss=0.1%,1%", "--plot", "x.svg", "--y", "speed"], "no quantity 'speed'"),
        (["--grid", "seed=1,2", "--plot", "x.svg"], "besides the seed"),
        (["--grid", "loss=0.1%,1%", "--cluster", "tcp://x:1", "--clock", "real"], "real-time"),
        (["--grid", "loss=0.1%,1%", "--cluster", "tcp://x:1", "--jobs", "2"], "--jobs"),
    ],
)
def test_wrong_usage_ends_with_2_and_makes_no_file(tmp_path: Path, arguments: list[str], says: str) -> None:
    file = tmp_path / "x.tcpsweep"
    done = tcptutor("sweep", NAME, *arguments, "-o", str(file))
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not file.exists()


def test_a_sweep_keeps_no_packets() -> None:
    made = tcptutor("sweep", "random-loss", "--grid", "loss=1%,2%", "--set", "capture=on", "-o", "/nowhere/x")
    assert made.returncode == 2
    assert "a sweep records no packets: leave out capture" in made.stderr


NINES = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        f"loss=1%..2%/{NINES}", f"loss=1%..2%/x{NINES}", f"seed={NINES}", f"seed=1,{NINES}", f"tcp_sack={NINES}",
        "seed=1..1e308/9", "streams=1..1e308/5", "tcp_sack=0..1e308/5", "queue=1BDP..1e308BDP/9", "loss=1%..nan%/3",
        "loss=1%..inf%/3", f"delay={'1' * 300_000}..2ms/3", f"{'x' * 100_000}=1", "loss=\x1b]52;c;eA==\x07",
        "\x1b]52;c;eA==\x07=1", "loss=1%..1%/5", "seed=²",
    ],
)  # fmt: skip
def test_no_axis_costs_or_raises_more_than_a_line(text: str) -> None:
    began = time.monotonic()
    done = tcptutor("sweep", NAME, "--grid", text, "--dry-run")
    assert time.monotonic() - began < 5
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert is_printable(line)
    assert len(line) < 1000
