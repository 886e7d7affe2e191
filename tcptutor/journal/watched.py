"""The goals of a page during a session: watched, published to other programs, recorded when all are ticked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.goal import GoalBoard
from tcptutor.course.goals.session_record import SessionLog, SessionRecord
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.course.page_record import Given
from tcptutor.journal import goals
from tcptutor.journal.goals import GoalFile, PartialSession
from tcptutor.run.ended import Finished
from tcptutor.run.files import text_digest
from tcptutor.runs.conduct import ConductedSession
from tcptutor.wire.protocol import Event, Failed


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
        partial = goals.load_session(module, step)
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
            self._record(self._shell, self.board.reached, self._log.record_reached(self.board.reached))
            goals.remove_session(*self._page)
        elif not self._recorded and self._watch.latched_goals != self._saved_ids:
            self._saved_ids = self._watch.latched_goals
            # Save at each change: a killed program keeps its ticked goals.
            goals.save_session(*self._page, PartialSession(reached=self._saved_ids, record=self._log.record))
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
