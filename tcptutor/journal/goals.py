"""Goals of a page during a session: watched, published to other programs, and saved for the next session.

A shared lock marks the pages that are open in a program. If the program dies, the kernel releases the lock, and the
board no longer counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

import msgspec

from tcptutor.base import decoding, files, places, printable
from tcptutor.base.errors import TutorError
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.goal import GoalBoard
from tcptutor.course.goals.session_record import MOST_BYTES, SessionLog, SessionRecord
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.course.page_record import Given
from tcptutor.journal.locks import SharedLock, is_held
from tcptutor.run import Finished
from tcptutor.run.files import text_digest
from tcptutor.runs.conduct import ConductedSession
from tcptutor.wire.protocol import Event, Failed

_MOST_BOARD_BYTES = 1 << 20
_MOST_SESSION_BYTES = 2 * MOST_BYTES


class WatchedGoals:
    """The goals of a page during its session. Owns the watch and the file; call `close`."""

    def __init__(
        self,
        module: str,
        step: str,
        shell: ShellActivity,
        record: Callable[[ShellActivity, Given, SessionRecord], object],
    ) -> None:
        """Begin with the goals that an earlier session of the page reached.

        Args:
            module: Module of the page.
            step: Step of the page.
            shell: The activity with the goals.
            record: Called once, before `take` returns, with the completing response and the session so far.
        """
        self._page = module, step
        self._shell, self._record = shell, record
        partial = load_session(module, step)
        self._watch = GoalWatch(
            shell.parsed_goals, shell.in_order, bool(shell.fault), reached=partial.reached
        )
        self._saved_ids = self._watch.latched_goals
        self._log = SessionLog(partial.record if self._saved_ids else None)
        self._file = GoalFile(module, step)
        self._recorded = False
        self._file.write(self.board)

    @property
    def board(self) -> GoalBoard:
        """Return the state of the goals."""
        return self._watch.board

    async def take(self, event: Event, conducted: ConductedSession) -> GoalBoard:
        """Update the goals with an event of the session; pass each event once, in order."""
        if not self._recorded:
            self._log.take(event, conducted.run, _digest(event, conducted))
        if isinstance(event, Finished):
            # Evaluating a finished run takes a while; the terminal stays responsive.
            await asyncio.to_thread(self._watch.take, event, conducted.run)
        else:
            self._watch.take(event, conducted.run)
        if self.board.done and not self._recorded:
            self._recorded = True
            reached = self.board.reached_ids
            self._record(self._shell, reached, self._log.record_reached(reached))
            remove_session(*self._page)
        elif not self._recorded and self._watch.latched_goals != self._saved_ids:
            self._saved_ids = self._watch.latched_goals
            # Save at each change: a killed program keeps its ticked goals.
            save_session(*self._page, PartialSession(reached=self._saved_ids, record=self._log.record))
        self._file.write(self.board)
        return self.board

    def printed(self, terminal: Hashable, data: bytes) -> GoalBoard:
        """Update the goals with output of a terminal."""
        board = self._watch.take_output(terminal, data)
        self._file.write(board)
        return board

    def close(self) -> None:
        """Release the lock of the goals' file."""
        self._file.close()


def _digest(event: Event, conducted: ConductedSession) -> str:
    """Return the digest of the run file that this event ends; empty when none was written."""
    if not isinstance(event, Finished | Failed) or not conducted.ended:
        return ""
    file = conducted.ended[-1].file
    return text_digest(file) if file is not None else ""


class OpenPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that some program works on now."""

    module: str
    step: str
    board: GoalBoard


class GoalFile:
    """The board of a page that this program works on. Owns its lock; call `close`.

    Where the file cannot be written, only the programs that read it lose.
    """

    def __init__(self, module: str, step: str) -> None:
        self._page = module, step
        self._file = _folder() / f"{module}.{step}.json"
        self._lock = SharedLock(_lock_of(self._file))
        self._written: GoalBoard | None = None

    def write(self, board: GoalBoard) -> None:
        """Write the board; replaced atomically."""
        if not self._lock.is_open or board == self._written:
            return
        module, step = self._page
        new = self._file.with_suffix(f".{os.getpid()}.new")
        with contextlib.suppress(OSError):
            new.touch(files.PRIVATE)
            new.write_bytes(msgspec.json.encode(OpenPage(module=module, step=step, board=board)))
            new.replace(self._file)
            self._written = board

    def close(self) -> None:
        """Release this program's lock."""
        self._lock.close()


def open_pages() -> Iterator[OpenPage]:
    """Yield the pages that some program works on now, the latest change first."""
    with contextlib.suppress(OSError):
        boards = sorted(_folder().glob("*.json"), key=_changed, reverse=True)
        for file in boards:
            if is_held(_lock_of(file)) and (page := _read_board(file)) is not None:
                yield page


def closed_board(module: str, step: str) -> GoalBoard | None:
    """Return the goals at the close of the page's last network; None without a board, or while it is open."""
    file = _folder() / f"{module}.{step}.json"
    page = None if is_held(_lock_of(file)) else _read_board(file)
    return page.board if page is not None else None


def _read_board(file: Path) -> OpenPage | None:
    """Read a board; None if it is missing or damaged: the next change replaces it."""
    try:
        return _printable(decoding.decode_json(files.read_plain(file, _MOST_BOARD_BYTES), OpenPage))
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


class PartialSession(msgspec.Struct, frozen=True, kw_only=True):
    """Goals that stay ticked when a page's terminal is closed, and the session that shows them."""

    reached: tuple[str, ...] = ()
    """Ids of goals."""
    record: SessionRecord = SessionRecord(entries=())
    """The sessions' events until the goals were reached."""


def load_session(module: str, step: str) -> PartialSession:
    """Return the saved session of a page; empty if the file is missing or damaged."""
    try:
        return decoding.decode_json(
            files.read_plain(_session_file(module, step), _MOST_SESSION_BYTES), PartialSession
        )
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return PartialSession()


def save_session(module: str, step: str, session: PartialSession) -> None:
    """Write the session atomically; on failure the goals are lost when the terminal closes."""
    with (
        contextlib.suppress(TutorError),
        files.atomic(_session_file(module, step), private=True) as temporary,
    ):
        temporary.write_bytes(msgspec.json.encode(session))


def remove_session(module: str, step: str) -> None:
    """Remove the saved session: all goals are reached, and the journal has it."""
    with contextlib.suppress(OSError):
        _session_file(module, step).unlink(missing_ok=True)


def _session_file(module: str, step: str) -> Path:
    return _folder() / f"{module}.{step}.session"


def _printable(page: OpenPage) -> OpenPage:
    """Escape unprintable characters: other programs write the texts."""
    return decoding.convert(printable.escape_tree(msgspec.to_builtins(page)), OpenPage)


def _folder() -> Path:
    return places.state() / "goals"


def _lock_of(file: Path) -> Path:
    return file.with_suffix(".lock")


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
