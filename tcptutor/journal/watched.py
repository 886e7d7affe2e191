"""The goals of a page while somebody works on them: watched, kept for other programs, recorded once all are ticked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.board import GoalBoard
from tcptutor.course.goals.session import SessionLog, SessionRecord
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.course.record import Given
from tcptutor.journal import kept_session
from tcptutor.journal.goals import GoalFile
from tcptutor.journal.kept_session import KeptSession
from tcptutor.run.ended import Finished
from tcptutor.runs.conduct import ConductedSession
from tcptutor.runs.store import text_digest
from tcptutor.wire.protocol import Event, Failed


class WatchedGoals:
    """Of one page, for as long as its session goes on. Owns the watch and the file; `close` it."""

    def __init__(
        self,
        module: str,
        step: str,
        shell: ShellActivity,
        record: Callable[[ShellActivity, Given, SessionRecord], object],
    ) -> None:
        """record: called once, with the response that does the activity and what the session told until then, before
        anybody is told.
        """
        self._page = module, step
        self._shell, self._record = shell, record
        kept = kept_session.load(module, step)
        self._watch = GoalWatch(shell.asked, shell.in_order, bool(shell.broken), reached=kept.reached)
        self._kept = self._watch.kept
        self._log = SessionLog(kept.record if self._kept else None)
        self._file = GoalFile(module, step)
        self._recorded = False
        self._file.write(self.board)

    @property
    def board(self) -> GoalBoard:
        """How the goals stand."""
        return self._watch.board

    async def take(self, event: Event, conducted: ConductedSession) -> GoalBoard:
        """What the session has told: each event once, in order, when `conducted` has it."""
        if not self._recorded:
            self._log.take(event, conducted.run, _digest(event, conducted))
        if isinstance(event, Finished):
            # What it measured is worked out, and the terminal goes on meanwhile.
            await asyncio.to_thread(self._watch.take, event, conducted.run)
        else:
            self._watch.take(event, conducted.run)
        if self.board.done and not self._recorded:
            self._recorded = True
            self._record(self._shell, self.board.reached, self._log.reached(self.board.reached))
            kept_session.remove(*self._page)
        elif not self._recorded and self._watch.kept != self._kept:
            self._kept = self._watch.kept
            # As it comes: a program that is killed keeps them too.
            kept_session.save(*self._page, KeptSession(reached=self._kept, record=self._log.record))
        self._file.write(self.board)
        return self.board

    def printed(self, terminal: Hashable, data: bytes) -> GoalBoard:
        """What a terminal has shown."""
        board = self._watch.printed(terminal, data)
        self._file.write(board)
        return board

    def close(self) -> None:
        """Nobody works on it any more."""
        self._file.close()


def _digest(event: Event, conducted: ConductedSession) -> str:
    """Of the file of the run that has just ended; empty where none has, or it could not be written."""
    if not isinstance(event, Finished | Failed) or not conducted.ended:
        return ""
    file = conducted.ended[-1].file
    return text_digest(file) if file is not None else ""
