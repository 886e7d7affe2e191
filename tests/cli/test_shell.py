"""`tcptutor shell`, as a user types it: into a terminal, from a file, and wrongly."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import leftovers, patience
from tests.cli.command import ORDINARY_USER, SERVER, TCPTUTOR, tcptutor
from tests.terminal.tmux import Tmux

pytestmark = pytest.mark.host


@pytest.fixture
def terminal(mark: str, tmp_path: Path, without_state: Path) -> Iterator[Tmux]:
    one = Tmux(
        f"{shlex.join([*ORDINARY_USER, TCPTUTOR])} shell --backend host --set rate=5Mbit/s; "
        "stty -a | grep -c ' echo '; cat",
        tmp_path,
        100,
        30,
    )
    yield one
    one.close()


@pytest.mark.terminal
def test_the_terminal_is_the_hosts_until_its_shell_ends(terminal: Tmux) -> None:
    terminal.wait_for("starting the lab")
    terminal.keys("echo ahead-$((1 + 1))", "Enter")  # before there is a prompt
    terminal.wait_for(r"ahead-2\s+h1:\S+#\s*$")
    terminal.keys("tput lines; tput cols", "Enter")
    terminal.wait_for(r"\n30\s*\n100")
    terminal.resize(80, 24)
    terminal.keys("clear; tput lines; tput cols", "Enter")
    terminal.wait_for(r"24\s*\n80")
    terminal.keys("clear; h2 iperf3 -s > /dev/null 2>&1 &", "Enter")
    terminal.keys("until h2 ss -tln | grep -q :5201; do sleep 0.1; done; iperf3 -c $h2 -t 30", "Enter")
    terminal.wait_for(r"(?s)(\d +sec .*){3}")  # three of its reports, whose seconds need not be round
    # For iperf3, not for tcptutor. iperf3 itself does not say each time that it was interrupted: two of 120 times not.
    terminal.keys("C-c")
    terminal.wait_for(r"h1:\S+#\s*$")
    terminal.keys("clear", "Enter", "s1", "Enter")
    terminal.wait_for(r"s1:\S+#")
    terminal.keys("tc qdisc show dev s1-eth2", "Enter")
    terminal.wait_for(r"tbf 1: .* rate 5Mbit")
    terminal.keys("exit", "Enter", "exit", "Enter")
    terminal.wait_for(r"measured +\S+ Mbit/s")
    terminal.wait_for(r"\.tcprun")
    # The server that was left in the background does not hold it, and the terminal is as it was.
    terminal.wait_for(r"\n1\s*$")


def test_commands_from_a_file_make_runs(mark: str, tmp_path: Path, without_state: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_text(f"{SERVER}\niperf3 -c $h2 -t 2\nsleep 1\niperf3 -c $h2 -t 2 -P 2\nsleep 1\n")
    with commands.open() as source:
        done = subprocess.run(
            [*ORDINARY_USER, TCPTUTOR, "shell", "--backend", "host", "--set", "rate=5Mbit/s"],
            stdin=source, capture_output=True, text=True, timeout=patience.seconds(60), check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = re.findall(r"file +(\S+\.tcprun)", done.stdout)
    streams = [len(json.loads(tcptutor("show", file, "--json").stdout)["flows"]) for file in files]
    assert streams == [1, 2]


def test_a_killed_shell_leaves_nothing_and_loses_nothing(mark: str, without_state: Path) -> None:
    process = subprocess.Popen(
        [*ORDINARY_USER, TCPTUTOR, "shell", "--backend", "host", "--set", "rate=5Mbit/s"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{SERVER}; iperf3 -c $h2 -t 60\n".encode())
    process.stdin.flush()
    shown = b""
    while len(re.findall(rb"\d +sec ", shown)) < 3:
        data = os.read(process.stdout.fileno(), 4096)
        assert data, shown
        shown += data
    process.kill()
    process.communicate()
    assert leftovers.wait_until_none(mark) == []
    (part,) = (without_state / "tcptutor" / "runs").glob("*.part")
    run = json.loads(tcptutor("show", part.name.removesuffix(".tcprun.part"), "--json").stdout)
    assert run["complete"] is False
    # Two seconds and more were told of before the kill.
    assert run["experiment_s"] > 2
    assert run["flows"][0]["throughput_bps"] > 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--experiment", "parking-lot"], 2, "omit second_rate"),
        (["h9"], 2, "there is no host 'h9': use one of h1, h2, s1, s2"),
        (["--experiment", "no/such"], 2, "no/such"),
        (["--set", "rate=fast"], 2, "rate"),
        (["--set", "pairs=9"], 2, "pairs"),
        (["--backend", "replay"], 3, "has no terminal"),
    ],
)
def test_what_cannot_be_opened_is_said_in_one_line(words: list[str], code: int, says: str) -> None:
    done = tcptutor("shell", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert done.stderr.startswith("tcptutor: ")
    assert len(done.stderr.splitlines()) <= 2
