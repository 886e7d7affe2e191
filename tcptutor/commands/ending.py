"""End of a command: its exit code, despite ^C and threads that never end. The app starts without a parser."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Container, Iterator
from typing import NoReturn, ParamSpec

_P = ParamSpec("_P")
_LAST_READ = 1.0
"""Seconds for a thread that reads from the terminal to end."""


def end(command: Callable[_P, int], *given: _P.args, **named: _P.kwargs) -> NoReturn:
    """Run `command`, with all its imports done, and exit with its code.

    While it runs, ^C unwinds it, so that no file stays half-written; before and after, ^C kills the program.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = command(*given, **named)
    finally:
        signal.signal(signal.SIGINT, before)
    sys.exit(code)


@contextlib.contextmanager
def exit_despite_threads() -> Iterator[None]:
    """Let the block exit the program although a thread begun in it keeps running, for which Python would wait.

    Textual can leave such a thread, reading from a dead terminal.
    """
    callers = set(threading.enumerate())
    try:
        yield
    except SystemExit as ended:
        _end_threads_or_exit(ended.code, callers)
        raise


def _end_threads_or_exit(code: object, callers: Container[threading.Thread]) -> None:
    for thread in threading.enumerate():
        if thread not in callers and not thread.daemon:
            thread.join(_LAST_READ)
            if thread.is_alive():
                for stream in (sys.stdout, sys.stderr):
                    with contextlib.suppress(OSError, ValueError):
                        stream.flush()
                os._exit(code if isinstance(code, int) else int(code is not None))
