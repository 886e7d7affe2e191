"""How a page's goals stand while somebody works on them, for other programs: a file, and a lock that says who is there.

The lock is the kernel's to take back, however its holder ends; then the file tells nothing any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from tcptutor.base import files, places, printable
from tcptutor.course.goals.board import GoalBoard

_MOST_BYTES = 1 << 20


class OpenPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is worked on now."""

    module: str
    step: str
    board: GoalBoard


class GoalFile:
    """The file of a page that is worked on in this program. Owns its lock; `close` it.

    Where it cannot be written nothing is kept: that costs only those who ask from outside.
    """

    def __init__(self, module: str, step: str) -> None:
        self._page = module, step
        self._file = _folder() / f"{module}.{step}.json"
        self._lock: IO[bytes] | None = None
        self._written: GoalBoard | None = None
        with contextlib.suppress(OSError):
            files.make_private(self._file.parent)
            files.close_to_others(self._file.parent)
            self._lock = _lock_of(self._file).open("a+b")
            # Shared: who asks takes it alone for a moment, and so finds out whether anybody has it.
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def write(self, board: GoalBoard) -> None:
        """The goals stand so now; whoever reads has all of this or all of what was before."""
        if self._lock is None or board == self._written:
            return
        module, step = self._page
        new = self._file.with_suffix(f".{os.getpid()}.new")
        with contextlib.suppress(OSError):
            new.touch(files.PRIVATE)
            new.write_bytes(msgspec.json.encode(OpenPage(module=module, step=step, board=board)))
            new.replace(self._file)
            self._written = board

    def close(self) -> None:
        """Nobody works on it any more, at least not here."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def open_pages() -> Iterator[OpenPage]:
    """Those on which somebody works now, the one with the latest change first."""
    with contextlib.suppress(OSError):
        boards = sorted(_folder().glob("*.json"), key=_changed, reverse=True)
        for file in boards:
            if _is_held(_lock_of(file)):
                with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError, RecursionError):
                    # A board that is damaged tells nothing: the next change of it is written anew.
                    yield _printable(msgspec.json.decode(files.read_plain(file, _MOST_BYTES), type=OpenPage))


def _printable(page: OpenPage) -> OpenPage:
    """With what somebody else may have put into its texts as escapes."""
    return msgspec.convert(printable.escape_tree(msgspec.to_builtins(page)), OpenPage)


def _folder() -> Path:
    return places.state() / "goals"


def _lock_of(file: Path) -> Path:
    return file.with_suffix(".lock")


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _is_held(lock: Path) -> bool:
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would wait for its writer
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
