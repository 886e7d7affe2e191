"""What every command prints: into pipes, closed pipes, full disks, slow readers and terminals that know little."""

from __future__ import annotations

import fcntl
import os
import re
import select
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest

from tcptutor.analysis import report
from tcptutor.base.columns import length, table
from tcptutor.commands import output
from tcptutor.commands.report import report_lines
from tcptutor.run import load
from tests import patience
from tests.cli.places import FOUR
from tests.command import COMMAND, here

COMMANDS = Path(output.__file__).parent


@pytest.mark.parametrize(
    "words", [["list"], ["model"], ["show", FOUR], ["show", FOUR, "--json"], ["doctor", "--help"]]
)
def test_a_reader_that_has_enough_ends_it_without_a_word(
    words: list[str | Path], without_state: Path
) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            [*COMMAND, *map(str, words)], stdout=writes, stderr=subprocess.PIPE, check=False,
            timeout=patience.seconds(60),
        )  # fmt: skip
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"tcptutor: cannot write standard output: No space left on device: .*\n", done.stderr)


@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [
        ("<&- 2>&-", 0, ""),
        # Who wants results and gives them no place is told.
        (">&-", 1, "tcptutor: cannot write standard output: Bad file descriptor: give another place\n"),
        ("<&- >&- 2>&-", 1, ""),
    ],
)
def test_closed_streams_are_no_reason_to_fail_but_where_results_go(closed: str, code: int, said: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{' '.join(COMMAND)} list {closed}"],
        check=False,
        timeout=patience.seconds(60),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (done.returncode, done.stderr) == (code, said)


def _until_it_is_full(pipe: int) -> None:
    """Wait until a writer has to wait for whoever reads the pipe."""
    deadline, size = patience.Deadline(30), fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
    while (
        int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder) <= size - select.PIPE_BUF
    ):
        assert deadline.left
        time.sleep(0.01)


def test_a_slow_reader_gets_all_of_it(without_state: Path) -> None:
    """Also through a pipe that whoever shares it has made refuse what it cannot take at once."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    writer = subprocess.Popen(
        [*COMMAND, "export", str(FOUR), "-o", "-"], stdout=writes, stderr=subprocess.PIPE
    )
    os.close(writes)
    _until_it_is_full(reads)
    with os.fdopen(reads, "rb") as reader:
        text = reader.read()
    _, said = writer.communicate(timeout=patience.seconds(60))
    assert (writer.returncode, said) == (0, b"")
    assert len(text) > 1 << 16
    assert text.count(b"\n") == 1 + len(load(FOUR).samples)


def test_letters_are_utf_8_whatever_the_locale() -> None:
    plain = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "latin-1",
    }
    done = subprocess.run([*COMMAND, "model", "mathis"], capture_output=True, check=False, env=plain)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "rtt √loss" in done.stdout.decode()


@pytest.mark.parametrize("words", [["show", FOUR], ["list"], ["runs"], ["doctor"]])
def test_colours_are_there_when_asked_for_and_never_in_a_pipe(
    words: list[str | Path], without_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    plain = here(*words).stdout
    assert "\x1b" not in plain
    coloured = here(*words, "--color", "always").stdout
    if plain.count("\n") > 1:
        assert "\x1b[" in coloured
    if words[0] != "doctor":  # whose figures are of the moment
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert ("\x1b[" in here(*words).stdout) == ("\x1b[" in coloured)
    assert "\x1b" not in here(*words, "--color", "never").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in here(*words).stdout


def test_lines_are_whole_in_a_pipe_and_folded_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(map(len, here("show", FOUR).stdout.splitlines())) > 100
    monkeypatch.setattr("tcptutor.commands.report.width", lambda: 80)
    for file in sorted(FOUR.parent.glob("*.tcprun")):
        run = load(file)
        lines = report_lines(run, report(run), Path("x.tcprun"))
        assert max(map(length, lines)) <= 80, file


def test_colours_take_no_room_in_a_table() -> None:
    rows = [("\x1b[32mok\x1b[0m", "b"), ("fail", "c")]
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in table(rows)] == ["  ok    b", "  fail  c"]


def test_all_commands_print_in_one_place() -> None:
    """So that all of this is true of each."""
    for file in COMMANDS.rglob("*.py"):
        if file.name != "output.py":
            text = file.read_text()
            assert not re.search(r"\bprint\(|click\.s?echo\(|\.stdout\.write\(|Console\(\)", text), file


def test_a_command_in_a_program_with_threads_of_its_own_does_not_end_it() -> None:
    wanted = threading.Event()
    thread = threading.Thread(target=wanted.wait, daemon=False)
    thread.start()
    try:
        assert here("model").returncode == 0
    finally:
        wanted.set()
        thread.join()
