"""Closed and full ends, odd homes, terminals and names: one line, the right exit code, never a traceback or a hang."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.journal import Journal
from tests import patience
from tests.command import COMMAND, here, process
from tests.faults.ends import (
    COMMANDS,
    CONDITIONS,
    HOMES,
    LONG,
    PLAIN,
    ROOT,
    STREAMS_AT_ENDS,
    TERMINALS,
    attempt,
)

pytestmark = pytest.mark.host

AT_ENDS = "list|show|show --json|export|runs|doctor|lint|run|app|wrong"
OF_HOMES = "runs|show last|import|doctor|run"
OF_TERMINALS = "list|show|doctor"
PAIRS = {
    **{odd: AT_ENDS.split("|") for odd in STREAMS_AT_ENDS},
    **{odd: OF_HOMES.split("|") for odd in HOMES},
    **{odd: OF_TERMINALS.split("|") for odd in TERMINALS},
    PLAIN: list(COMMANDS),
}
"""What is tried of each condition; `python -m tests.faults.ends` tries everything."""


@pytest.mark.parametrize("odd", CONDITIONS)
def test_commands_end_in_one_line_with_the_right_exit_code(odd: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        told = pool.map(lambda command: attempt(odd, command), PAIRS[odd])
        assert {command: line for command, line in zip(PAIRS[odd], told, strict=True) if line} == {}


def test_every_command_in_ordinary_surroundings(
    without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process: a plain run starts no process for each command where nothing is odd."""
    monkeypatch.chdir(tmp_path)
    wrong = {}
    for name, command in COMMANDS.items():
        done = here(*(word.replace("{root}", str(ROOT)) for word in command.words))
        lines = done.stderr.splitlines()
        failed = done.returncode in (1, 2)
        if (
            done.returncode not in command.codes
            or len(lines) != failed
            or not all(line.startswith("tcptutor: ") and len(line) < 3000 for line in lines)
        ):
            wrong[name] = done
    assert wrong == {}


def test_a_user_without_a_home_reads_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user that the system does not know, as containers have them."""
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}[0])
    assert places.state() == places.runs().parent
    done = here("run", "slow-start", "--backend", "replay")
    assert done.stderr.count("\n") == 1
    assert f"cannot write {places.runs()}" in done.stderr
    assert "set XDG_DATA_HOME to a folder that can be written" in done.stderr


def test_a_long_name_is_cut_in_messages() -> None:
    for words in (
        ["list", LONG],
        [LONG],
        ["list", f"--{LONG}"],
        ["show", f"./{LONG}/{LONG}"],
        ["lint", LONG],
    ):
        done = here(*words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "x" * 50 in done.stderr
        assert len(done.stderr) < 400, words


def test_control_sequences_are_shown_as_text() -> None:
    done = here("show", "./\x1b]52;c;aGk=\x07/none")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "\x1b" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux" or not os.access("/dev/full", os.W_OK), reason="needs /dev/full")
def test_help_for_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("words", [["runs"], ["show", "last"], ["run", "slow-start", "--backend", "replay"]])
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_locked_journal_delays_a_command_by_seconds(
    words: list[str], mode: str, without_state: Path
) -> None:
    Journal.open().close()
    path = places.state() / "journal.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"PRAGMA journal_mode = {mode}")
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE held (x)")
        began = time.monotonic()
        done = process(*words)
        assert time.monotonic() - began < patience.seconds(12)
    assert "Traceback" not in done.stderr
    # What does not need it does not speak of it.
    assert done.returncode == (2 if words[0] == "show" else 0), done.stderr
    assert done.stderr.count("\n") == (words[0] != "run")
    if words == ["runs"]:
        assert done.stderr == (
            f"tcptutor: {path} is in use by another program: close the other tcptutor and try again\n"
        )
