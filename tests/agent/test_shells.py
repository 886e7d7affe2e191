"""A shell's pseudo-terminal, whatever the shell does with its ends of it."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tcptutor.agent.session.shells import PseudoTerminal
from tcptutor.wire.protocol import OpenTerminal
from tests import patience


@pytest.fixture(name="terminal")
def _terminal(tmp_path: Path) -> Iterator[PseudoTerminal]:
    if os.geteuid() != 0:
        pytest.skip("who is not root enters no namespace, not even the one where it is")
    network: Any = SimpleNamespace(pairs=1, hosts=[], process=lambda _: os.getpid())
    with ExitStack() as stack, Path(os.devnull).open("wb") as told:
        terminal = PseudoTerminal(network, OpenTerminal(1, "h1"), tmp_path, told.fileno())
        stack.callback(terminal.close)
        yield terminal


def _until(terminal: PseudoTerminal, holds: Callable[[bytes], bool]) -> None:
    deadline, written = patience.Deadline(20), b""
    while not holds(written):
        assert deadline.left, written
        select.select([terminal.descriptor], [], [], 0.05)
        terminal.write()
        written += terminal.read()


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def _has_terminal(pid: int) -> bool:
    """Return whether a descriptor of the process is a terminal; another test's child has none."""
    with suppress(OSError):  # it has ended
        return any("/dev/pts/" in str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir())
    return False


def _holds_none(pid: int) -> bool:
    """Whether no descriptor of the process is a terminal."""
    return Path(f"/proc/{pid}").exists() and not _has_terminal(pid)


def test_a_shell_that_has_closed_its_ends_keeps_nobody_busy(terminal: PseudoTerminal) -> None:
    """Reading failed at once, and select() found it ready at once: the lab turned without end beside the flows."""
    _until(terminal, lambda written: b"# " in written)
    (shell,) = [child for child in _children() if _has_terminal(child)]
    inside = Path(f"/proc/{shell}/fd/0").readlink()
    terminal.write(b"exec sleep 1000 <&- >&- 2>&- 255>&-\n")
    _until(terminal, lambda _: _holds_none(shell))
    terminal.read()
    assert select.select([terminal.descriptor], [], [], 0.2)[0] == []
    assert not terminal.has_exited
    assert terminal.is_readable
    # Somebody who opens it again is read.
    again = os.open(inside, os.O_WRONLY | os.O_NOCTTY)
    os.write(again, b"back\n")
    os.close(again)
    _until(terminal, lambda written: b"back" in written)


def test_a_shell_that_ends_is_over_and_its_last_words_are_read(terminal: PseudoTerminal) -> None:
    _until(terminal, lambda written: b"# " in written)
    terminal.write(b"echo last$((40 + 2)); exit\n")
    _until(terminal, lambda written: b"last42" in written and terminal.has_exited)
