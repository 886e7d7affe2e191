"""`tcptutor run`: the design's contract, and what wrong input gets."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tcptutor import run as run_file
from tcptutor.backends.guest.snapshots import Snapshots
from tests import leftovers, patience
from tests.cli.command import TCPTUTOR, tcptutor
from tests.command import here
from tests.course.conftest import EXAMPLES

SHORT = ["--set", "duration=2s", "--set", "warmup=1s", "--set", "rate=10Mbit/s", "--set", "delay=10ms"]
VIRTUAL = ["--backend", "guest", "--clock", "virtual"]


@pytest.mark.guest
@pytest.mark.parametrize(
    "shorter", [["--set", "loss=0.5%", "--set", "duration=8s"], []], ids=["shorter", "as printed"]
)
def test_the_design_s_command_works(
    mark: str, snapshots: Snapshots, without_state: Path, shorter: list[str]
) -> None:
    done = tcptutor(
        *"run parallel-streams/random-loss --set streams=4 --set loss=0.1% --seed 7".split(),
        *"--backend guest --clock virtual --json".split(),
        *shorter,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    out = json.loads(done.stdout)
    assert {
        "experiment", "parameters", "environment", "flows", "aggregate", "predictions", "verdict", "fidelity", "wall_s",
        "experiment_s", "file",
    } <= set(out)  # fmt: skip
    assert (out["experiment"], out["parameters"]["streams"]) == ("parallel-streams/random-loss", 4)
    assert {"backend", "clock", "kernel"} <= set(out["environment"])
    assert (out["environment"]["backend"], out["environment"]["clock"]) == ("guest", "virtual")
    assert len(out["flows"]) == 4
    for flow in out["flows"]:
        assert {"throughput_bps", "retransmits", "mean_rtt_s", "mean_cwnd_segments", "losses"} <= set(flow)
    assert out["aggregate"]["throughput_bps"] == pytest.approx(
        sum(flow["throughput_bps"] for flow in out["flows"])
    )
    assert 0.5 < out["aggregate"]["jain_index"] <= 1
    assert out["verdict"]["limited_by"] == "random-loss"
    assert out["fidelity"] == {"status": "valid", "reasons": []}
    best = {prediction["model"]: prediction for prediction in out["predictions"]}["mathis"]
    assert best["ratio"] == pytest.approx(out["aggregate"]["throughput_bps"] / best["throughput_bps"])
    assert best["ratio"] == pytest.approx(1, abs=0.2)
    stored = run_file.load(Path(out["file"]))
    assert stored.complete
    assert stored.experiment.seed == 7


@pytest.mark.guest
def test_captured_segments_wait_as_long_as_the_queue_says(snapshots: Snapshots, without_state: Path) -> None:
    done = tcptutor(
        *"run random-loss --set loss=0 --set rate=5Mbit/s --set delay=20ms --set queue=25kB".split(),
        *"--set duration=5s --set warmup=1s --set capture=on --backend guest --clock virtual --json".split(),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["latency"]
    queueing, rtt = found["queueing"], found["rtt"]
    assert (queueing["source"], rtt["source"]) == ("queue", "segments")
    # 5 s at 5 Mbit/s are 2064 frames of 1514 bytes; those sent at the end have no ACK yet.
    assert rtt["samples"] == pytest.approx(2064, rel=0.05)
    assert found["expected"]["queueing_s"] == pytest.approx(0.04)
    assert queueing["max_s"] <= 0.04 * 1.05
    assert found["smallest_rtt_s"] == pytest.approx(0.02, rel=0.15)
    frame = 1514 * 8 / 5e6
    for name in ("p50_s", "p95_s"):
        # A segment waits for the queue, crosses the link, and its ACK may wait for the next segment.
        assert queueing[name] - frame < rtt[name] - 0.02 < queueing[name] + 3 * frame
    assert found["loaded"]
    assert found["round_trips_per_minute"]["loaded"] == pytest.approx(60 / rtt["p50_s"])


@pytest.mark.guest
@pytest.mark.parametrize(
    ("changed", "limited_by"),
    [
        (["loss=0", "queue=100KiB"], "bottleneck"),
        (["loss=0", "window=16KiB", "delay=40ms"], "receive-window"),
        (["loss=0", "pacing=2Mbit/s"], "pacing"),
        (["loss=0", "mtu=576", "algorithm=cubic"], "bottleneck"),
        (["loss=2%", "delay=20ms"], "random-loss"),
        (["loss=0", "jitter=8ms", "delay=20ms"], "bottleneck"),
    ],
)
def test_parameters_change_the_limit(
    mark: str, snapshots: Snapshots, without_state: Path, changed: list[str], limited_by: str
) -> None:
    sets = [word for pair in changed for word in ("--set", pair)]
    done = tcptutor(
        "run", "parallel-streams/random-loss", *SHORT, "--set", "duration=6s", *sets, *VIRTUAL, "--json"
    )
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["verdict"]["limited_by"] == limited_by
    for pair in changed:
        assert out["parameters"][pair.split("=")[0]] is not None


@pytest.mark.host
def test_without_json_a_person_reads_it(mark: str, without_state: Path) -> None:
    done = tcptutor(
        "run",
        "parallel-streams/random-loss",
        *SHORT,
        "--set",
        "loss=0",
        "--set",
        "delay=0",
        "--backend",
        "host",
    )
    assert done.returncode == 0, done.stderr
    assert "measured" in done.stdout
    assert "Mbit/s" in done.stdout
    assert "fidelity   " in done.stdout  # on a real clock a busy machine may give cause for doubt
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["run", "parallel-streams/nothing"], 2, "did you mean parallel-streams/"),
        (["run", "nothing"], 2, "run `tcptutor list` to see them"),
        (
            ["run", "parallel-streams/random-loss", "--set", "bandwidth=1Gbit/s"],
            2,
            "no parameter 'bandwidth'",
        ),
        (["run", "parallel-streams/random-loss", "--set", "rate=100"], 2, "no unit"),
        (["run", "parallel-streams/random-loss", "--set", "streams=1000"], 2, "out of bounds"),
        (["run", "parallel-streams/random-loss", "--set", "loss=100%"], 2, "out of bounds"),
        (["run", "parallel-streams/random-loss", "--set", "streams"], 2, "NAME=VALUE"),
        (["run", "parallel-streams/random-loss", "--seed", "-1"], 2, "--seed"),
        (["run", "parallel-streams/random-loss", "--seed", "x"], 2, "'x' is not a whole number"),
        (["run", "parallel-streams/random-loss", "--backend", "cloud"], 2, "--backend"),
        (
            ["run", "parallel-streams/random-loss", "--backend", "host", "--clock", "virtual"],
            3,
            "--backend guest",
        ),
        (["--module", "nothing"], 1, "terminal"),
        ([], 1, "needs a terminal"),
        (["lint", "/nowhere"], 2, "/nowhere"),
    ],
)
def test_wrong_input_gets_one_clear_line(
    without_state: Path, arguments: list[str], code: int, says: str
) -> None:
    done = here(*arguments)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    # click puts its usage before the line.
    assert (
        len([line for line in done.stderr.splitlines() if "rror" in line or line.startswith("tcptutor")]) == 1
    )


@pytest.mark.guest
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_keeps_its_samples(
    mark: str, snapshots: Snapshots, without_state: Path, number: signal.Signals
) -> None:
    here, there = pty.openpty()  # a terminal, so that the progress line tells when samples arrive
    process = subprocess.Popen(
        [TCPTUTOR, "run", "parallel-streams/random-loss", "--set", "duration=600s", *VIRTUAL, "--json"],
        stdout=subprocess.PIPE,
        stderr=there,
        text=True,
    )
    os.close(there)
    shown = ""
    while not re.search(r"[1-9]\.\d of 605 s", shown):
        shown += os.read(here, 4096).decode(errors="replace")
    process.send_signal(number)
    with contextlib.suppress(OSError):  # the other side is closed
        while more := os.read(here, 4096):
            shown += more.decode(errors="replace")
    os.close(here)
    stdout, _ = process.communicate(timeout=patience.seconds(20))
    stderr = shown.rpartition("\x1b[K")[2].replace("\r\n", "\n")
    assert process.returncode == 1
    assert stderr.count("\n") == 1
    assert "stopped" in stderr
    out = json.loads(stdout)
    kept = run_file.load(Path(out["file"]))
    assert not kept.complete
    assert len(kept.samples) > 5
    assert leftovers.wait_until_none(mark) == []


@pytest.mark.guest
@pytest.mark.parametrize(
    ("where", "part"),
    [
        (VIRTUAL, "qemu-system"),
        (["--backend", "host", "--set", "delay=0", "--set", "loss=0"], "tcptutor.agent.agent"),
    ],
)
def test_a_killed_command_leaves_no_process(
    mark: str, snapshots: Snapshots, without_state: Path, where: list[str], part: str
) -> None:
    process = subprocess.Popen(
        [TCPTUTOR, "run", "parallel-streams/random-loss", "--set", "duration=600s", *where],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert leftovers.wait_for(mark, part)
    finally:
        process.kill()
        process.wait()
    assert leftovers.wait_until_none(mark) == []


def test_a_missing_tool_is_named_with_its_package(without_state: Path, tmp_path: Path) -> None:
    """A machine with nothing but Python: neither host nor guest can run."""
    environment = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = tcptutor("run", "parallel-streams/random-loss", "--backend", "guest", env=environment)
    assert done.returncode == 3
    assert "tcptutor setup" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.host
def test_a_full_disk_still_gives_the_result(mark: str, tmp_path: Path) -> None:
    """The data folder is on a full file system: the run is printed, and one line says that it is not kept."""
    folder = tmp_path / "data"
    folder.mkdir()
    command = (
        f"mount -t tmpfs -o size=16k none {folder} && head -c 16384 /dev/zero > {folder}/filler; "
        f"{TCPTUTOR} run parallel-streams/random-loss {' '.join(SHORT)} --set loss=0 --set delay=0"
        " --backend host --json"
    )
    done = subprocess.run(
        ["unshare", "-Urm", "bash", "-c", command], capture_output=True, text=True, check=False,
        timeout=patience.seconds(60), env={**os.environ, "XDG_DATA_HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "not saved" in done.stderr
    assert json.loads(done.stdout)["file"] is None


def test_list_names_modules_and_experiments() -> None:
    out = json.loads(here("list", "--json").stdout)
    module = next(module for module in out["modules"] if module["id"] == "parallel-streams")
    assert len(module["steps"]) >= 6
    assert {"id", "title", "kinds"} <= set(module["steps"][0])
    experiment = next(each for each in module["experiments"] if each["id"] == "parallel-streams/random-loss")
    assert {"id", "title", "parameters", "sources"} <= set(experiment)
    told = here("list").stdout
    assert any(each["id"] in told for each in out["modules"][0]["experiments"])
    lines = told.splitlines()
    group = lines.index(next(line for line in lines if "parallel-streams: Parallel streams" in line))
    assert any(line.startswith("   random-loss ") for line in lines[group : lines.index("", group)])


def test_lint_finds_a_course_well_formed_and_a_fault_in_a_copy(tmp_path: Path) -> None:
    """tests/course/test_shipped.py lints the course of tcptutor."""
    done = here("lint", EXAMPLES)
    assert (done.returncode, done.stdout) == (0, "the course is well-formed\n")
    lessons = Path(shutil.copytree(EXAMPLES, tmp_path / "lessons"))
    page = lessons / "01-own-run/01-a-loss.md"
    page.write_text(page.read_text().replace("[experiment]", "[experimnt]"))
    done = here("lint", lessons)
    assert done.returncode == 1
    assert page.name in done.stdout


@pytest.mark.parametrize("command", ["", "run", "list", "setup", "doctor", "lint"])
def test_every_command_explains_itself(command: str) -> None:
    done = here(*([command] if command else []), "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: tcptutor")


def test_the_first_frame_imports_only_what_it_needs() -> None:
    heavy = (
        "mininet",
        "pyroute2",
        "qemu",
        "plotext",
        "matplotlib",
        "tarfile",
        "pyte",
        "fsrs",
        "tcptutor.analysis",
        "tcptutor.review",
    )
    code = "import sys, tcptutor.commands, tcptutor.ui.app, tcptutor.backends.lab;"
    code += f"print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
