"""`show`, `export`, `plot` and `import` as they are typed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tcptutor.run import load, save
from tests.command import here as tcptutor
from tests.command import process

from .places import FILES, RUNS

FOUR = RUNS / "four-lossy-streams.tcprun"


@pytest.fixture
def kept(without_state: Path) -> Path:
    """The user's folder of runs, with two runs in it."""
    folder = without_state / "tcptutor" / "runs"
    folder.mkdir(parents=True)
    shutil.copy(FOUR, folder / "20260101-100000-aaaaaa.tcprun")
    shutil.copy(RUNS / "pacing.tcprun", folder / "20260101-110000-bbbbbb.tcprun")
    return folder


def test_show_prints_the_document_of_a_file_and_of_an_id(kept: Path) -> None:
    by_file = json.loads(tcptutor("show", FOUR, "--json").stdout)
    by_id = json.loads(tcptutor("show", "20260101-100000-aaaaaa", "--json").stdout)
    by_beginning = json.loads(tcptutor("show", "20260101-10", "--json").stdout)
    assert by_id == by_beginning
    assert by_id["file"] == str(kept / "20260101-100000-aaaaaa.tcprun")
    assert by_file["aggregate"] == by_id["aggregate"]
    assert by_file["verdict"]["limited_by"] == "random-loss"


def test_export_writes_beside_the_run_or_where_it_is_told(kept: Path, tmp_path: Path) -> None:
    done = tcptutor("export", "20260101-10", "20260101-11")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(file.with_suffix(".csv")) for file in sorted(kept.glob("*.tcprun"))]
    done = tcptutor(
        "export", FOUR, RUNS / "pacing.tcprun", "-o", tmp_path / "out", "--format", "json", "--json"
    )
    files = json.loads(done.stdout)["files"]
    assert [Path(file).name for file in files] == ["four-lossy-streams.json", "pacing.json"]
    assert len(json.loads(Path(files[0]).read_text())["flows"]) == 4
    piped = tcptutor("export", FOUR, "-o", "-")
    assert piped.stdout.startswith("flow,t (s),")
    assert piped.stdout.count("\n") == len(load(FOUR).samples) + 1


def test_plot_writes_and_names_the_file(kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "both.png"
    done = tcptutor("plot", "20260101-10", "20260101-11", "-o", target, "--what", "cwnd,throughput")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}\n", "")
    assert target.stat().st_size > 10_000


def test_plot_without_a_file_draws_in_the_terminal(kept: Path) -> None:
    done = tcptutor("plot", FOUR, "--what", "cwnd,rtt")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, len(lines)) == (0, "", 22)
    assert max(map(len, lines)) <= 80
    assert "fidelity valid" in lines[1]
    assert [line.strip() for line in lines if line.startswith("    ") and line.strip()[0] in "CS"] == [
        "Congestion window, segments (peak in the warm-up: 461)",
        "Smoothed RTT, ms",
    ]
    assert "\x1b" not in done.stdout
    assert "×" in lines[3], "loss events"
    both = tcptutor("plot", "20260101-10", "20260101-11", "--color", "always")
    assert both.returncode == 0
    assert "\x1b[38;5;" in both.stdout


def test_where_the_locale_has_no_dots_a_plot_is_drawn_in_ascii() -> None:
    done = process("plot", FOUR, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "loss event" in done.stdout


def test_import_of_a_file_with_two_tests_makes_two_runs_and_says_so(
    tmp_path: Path, without_state: Path
) -> None:
    both = tmp_path / "both.json"
    both.write_text(
        (FILES / "iperf3-3.7-two-flows.json").read_text() + (FILES / "iperf3-3.12-omit.json").read_text()
    )
    done = tcptutor("import", both, "-o", tmp_path / "x.tcprun")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path / "x-1.tcprun"), str(tmp_path / "x-2.tcprun")]
    assert "test 1 of 2 in the file" in done.stderr
    assert len({load(Path(path)).id for path in done.stdout.split()}) == 2
    listed = json.loads(tcptutor("import", both, "-o", tmp_path / "y.tcprun", "--json").stdout)
    assert [out["file"] for out in listed] == [str(tmp_path / f"y-{number}.tcprun") for number in (1, 2)]
    assert [len(out["flows"]) for out in listed] == [2, 2]


def test_import_keeps_the_run_and_prints_its_path(without_state: Path, tmp_path: Path) -> None:
    done = tcptutor("import", FILES / "iperf3-3.7-two-flows.json")
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip())
    assert path.parent == without_state / "tcptutor" / "runs"
    run = load(path)
    assert (path.stem, run.environment.backend) == (run.id, "imported")
    # Once more is the same file; and it is shown by its id.
    assert tcptutor("import", FILES / "iperf3-3.7-two-flows.json").stdout == done.stdout
    assert json.loads(tcptutor("show", run.id, "--json").stdout)["predictions"] == []
    whole = tcptutor(
        "import", FILES / "flent-4-tcp_nup.flent.gz", "-o", tmp_path / "x.tcprun", "--set", "rate=100Mbit/s",
        "--set", "delay=50ms", "--set", "loss=0.1%", "--json",
    )  # fmt: skip
    out = json.loads(whole.stdout)
    assert out["file"] == str(tmp_path / "x.tcprun")
    assert out["predictions"][0]["model"] == "reno"
    assert out["predictions"][0]["ratio"] == pytest.approx(1, abs=0.1)


def test_a_cut_file_is_kept_with_a_line_that_says_so(without_state: Path, tmp_path: Path) -> None:
    text = (FILES / "iperf3-3.12-omit.json").read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    done = tcptutor("import", tmp_path / "cut.json")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "ends before the test did" in done.stderr
    run = load(Path(done.stdout.strip()))
    assert not run.complete
    assert len(run.samples) >= 4


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "nothing"], 2, "no run file 'nothing'"),
        (["show", ""], 2, "an empty name means no run"),
        (["show", "/nowhere/x.tcprun"], 2, "no run file"),
        (["show", "2026"], 2, "2 runs begin with '2026'"),
        (["show", str(RUNS)], 2, "is a folder"),
        (["show", str(FILES / "iperf3-3.12-omit.json")], 2, "tcptutor import"),
        (["show", str(FILES / "flent-4-tcp_nup.flent.gz")], 2, "tcptutor import"),
        (["export", str(RUNS / "__init__.py")], 2, "no run file"),
        (["export", str(FOUR), str(FOUR), "-o", "-"], 2, "takes one run"),
        (["export", str(FOUR), str(FOUR), "-o", str(FOUR)], 2, "is a file"),
        (["export", str(FOUR), "-o", "/proc/nowhere/x.csv"], 1, "cannot write"),
        (["export"], 2, "FILE|ID"),
        (["plot", str(FOUR), "--json"], 2, "name one with -o"),
        (["plot", str(FOUR), "-o", "x.gif"], 2, ".svg, .pdf, .png"),
        (["plot", *[str(FOUR)] * 9, "-o", "x.svg"], 2, "8 at most"),
        (["import", "/nowhere/x.json"], 2, "no file"),
        (["import", str(FILES / "iperf3-3.21-refused.json")], 1, "Connection refused"),
        (["import", "/proc/self/mem"], 1, "cannot read"),
        (["import", str(FOUR)], 1, "neither an iperf3"),
        (["import", str(FILES / "iperf3-3.12-omit.json"), "--set", "rate"], 2, "NAME=VALUE"),
        (["import", str(FILES / "iperf3-3.12-omit.json"), "--set", "rate=5"], 2, "no unit"),
        (["import", str(FILES / "iperf3-3.12-omit.json"), "-o", "/proc/nowhere/x.tcprun"], 1, "cannot write"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(kept: Path, arguments: list[str], code: int, says: str) -> None:
    before = {file: file.read_bytes() for file in kept.iterdir()}
    done = tcptutor(*arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if "rror" in line or line.startswith("tcptutor")]
    assert len(lines) == 1
    assert {file: file.read_bytes() for file in kept.iterdir()} == before


@pytest.mark.parametrize("command", ["show", "export", "plot"])
def test_a_damaged_run_file_is_told_and_stays(tmp_path: Path, command: str) -> None:
    file = tmp_path / "x.tcprun"
    file.write_bytes(FOUR.read_bytes()[:5000])
    output = ["-o", str(tmp_path / "y.svg")] if command == "plot" else []
    done = tcptutor(command, file, *output)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "damaged" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.tcprun"]


def test_a_newer_run_file_asks_for_an_update(tmp_path: Path) -> None:
    run = load(FOUR)
    run.format_version = 99
    save(run, tmp_path / "new.tcprun")
    done = tcptutor("show", tmp_path / "new.tcprun", "--json")
    assert done.returncode == 1
    assert "update tcptutor" in done.stderr


@pytest.mark.parametrize("command", ["show", "export", "plot", "import"])
def test_every_command_explains_itself(command: str) -> None:
    done = tcptutor(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage:")
    assert "--json" in done.stdout
