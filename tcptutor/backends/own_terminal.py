"""This process's terminal, connected to a terminal of the lab."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator

from tcptutor.backends.session import LabTerminal

_END_OF_INPUT = b"exit\n"
"""Not Ctrl-D: a shell that is not yet reading would miss it."""


async def connect(terminal: LabTerminal, show: Callable[[bytes], object], typed_before: bytes = b"") -> None:
    """Connect standard input to the lab's terminal until its shell ends, with every key, Ctrl-C included.

    Args:
        terminal: The lab's terminal.
        show: Called with its output.
        typed_before: Keys that were read earlier, and are typed first.
    """
    loop = asyncio.get_running_loop()
    source = sys.stdin.fileno()
    # Keys typed before the first prompt, None afterwards. Passed to the shell earlier they would be echoed twice.
    typed_ahead: bytearray | None = bytearray(typed_before)

    def write(data: bytes) -> None:
        if typed_ahead is None:
            terminal.write(data)
        else:
            typed_ahead.extend(data)

    def typed() -> None:
        data = os.read(source, 65536)
        write(data or _END_OF_INPUT)
        if not data:
            loop.remove_reader(source)

    def resized() -> None:
        size = os.get_terminal_size(source)
        terminal.resize(size.lines, size.columns)

    with _raw(source):
        try:
            loop.add_reader(source, typed)
        except PermissionError:  # a regular file cannot be watched
            write(sys.stdin.buffer.read() + _END_OF_INPUT)
        loop.add_signal_handler(signal.SIGWINCH, resized)
        try:
            while data := await terminal.read():
                if typed_ahead is not None:
                    terminal.write(bytes(typed_ahead))
                    typed_ahead = None
                show(data)
        finally:
            loop.remove_reader(source)
            loop.remove_signal_handler(signal.SIGWINCH)


@contextlib.contextmanager
def _raw(source: int) -> Iterator[None]:
    """Put the terminal in raw mode: every key is sent to the lab's terminal, including Ctrl-C."""
    if not os.isatty(source):
        yield
        return
    before = termios.tcgetattr(source)
    # The default, TCSAFLUSH, discards keys typed while the lab was starting.
    tty.setraw(source, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
