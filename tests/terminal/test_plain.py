"""The dialogue in real terminals, with real keys and signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.journal import Journal
from tests import patience
from tests.cli.command import TCPTUTOR
from tests.plain.typist import FORBIDDEN
from tests.terminal.tmux import Tmux

pytestmark = pytest.mark.terminal

REPLAY = f"{TCPTUTOR} --backend replay"


@pytest.fixture
def folder(mark: str, without_state: Path) -> Path:
    without_state.mkdir()
    return without_state


@pytest.fixture
def dumb(folder: Path) -> Iterator[Tmux]:
    """A terminal whose TERM is dumb, and what the program wrote to it, byte by byte."""
    terminal = Tmux(f"TERM=dumb script -qfc '{REPLAY}' {folder}/written; sleep 60", folder.parent, 80, 24)
    yield terminal
    terminal.close()


def test_a_run_in_a_dumb_terminal(dumb: Tmux, folder: Path) -> None:
    dumb.wait_for("because of TERM=dumb")
    dumb.wait_for("or quit:")
    dumb.keys("1.2", "Enter")
    dumb.wait_for("or skip, hint 1")
    dumb.keys("230 kbit/s", "Enter")
    dumb.wait_for("run starts it")
    dumb.keys("run", "Enter")
    dumb.wait_for("Starting the run")
    dumb.keys("C-c")
    dumb.wait_for("cut short")
    dumb.keys("C-c")
    dumb.wait_for("Nothing is running")
    dumb.keys("run", "Enter")
    dumb.wait_for(r"Observation")
    dumb.keys("C-d")
    dumb.wait_for("Everything is saved")
    written = (folder / "written").read_text()
    assert not FORBIDDEN.search(written)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_loses_nothing_and_leaves_nothing(folder: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [TCPTUTOR, "--plain", "--backend", "replay"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("1.2\n230 kbit/s\nnote kept\n")
        process.stdin.flush()
        for line in process.stdout:
            if "Saved." in line:
                break
        process.send_signal(number)
        assert process.wait(patience.seconds(20)) == 128 + number
    journal = Journal.open(folder / "tcptutor" / "journal.db")
    page = journal.page("tcp-basics", "two-segments-at-a-time")
    journal.close()
    assert page.note == "kept"
    assert page.activity("predict").attempts == 1


def test_a_pipe_in_and_out_with_the_locale_c(folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    done = subprocess.run(
        [TCPTUTOR, "--plain", "--backend", "replay"],
        input=b"1.2\nskip\nskip\nrun\n\xff\xfe\nskip\nchart",
        capture_output=True,
        timeout=patience.seconds(60),
        check=False,
        env={**environment, "LANG": "C"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"cwnd starts at" in done.stdout
    assert done.stdout.endswith(b"The input has ended. Everything is saved.\n")


def test_nobody_reads_the_output(folder: Path) -> None:
    command = f"yes '' | {REPLAY} --plain | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command}; echo ${{PIPESTATUS[1]}}"],
        capture_output=True,
        text=True,
        timeout=patience.seconds(60),
        check=False,
    )
    assert re.fullmatch(r"tcptutor as plain text.*\n0\n", done.stdout)
    assert done.stderr == ""
