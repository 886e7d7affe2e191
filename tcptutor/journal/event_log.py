"""The log of events: the database, its fold, saves that wait, and the move from memory to the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tcptutor.base import places
from tcptutor.base.errors import JournalError
from tcptutor.journal import store
from tcptutor.journal.events import JournalEvent, StoredEvent, chain, decode
from tcptutor.journal.fold import JournalFold, fold_events
from tcptutor.journal.order import is_merged
from tcptutor.journal.second_record import record_answers
from tcptutor.journal.waiting import DeferredFile, WaitingSaves

if TYPE_CHECKING:
    from tcptutor.runs.store import RunStore


class EventLog:
    """Chained events in a database, with the run files next to it.

    When an event is appended, it is on the disk; otherwise JournalError is raised and the event waits: the log retries
    before the next event, in `save_waiting`, and in `close`.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, folder: Path | None, notice: str = ""
    ) -> None:
        self._connection = connection
        self._path = path
        self.run_folder = folder
        """Folder of the run files; None for a journal in memory."""
        self._fold = JournalFold()
        self._waiting = WaitingSaves()
        self._deferred: DeferredFile | None = None
        self.notice = notice
        """Message for the start: a damaged journal was set aside, or events are not stored."""

    @cached_property
    def runs(self) -> RunStore:
        """The run files."""
        from tcptutor.runs.store import RunStore  # noqa: PLC0415  # not for the app's first frame

        return RunStore(self.run_folder)

    @classmethod
    def open(cls, path: Path | None = None, *, patience: float = store.PATIENCE, read: bool = True) -> Self:
        """Open the journal at `path`, by default the user's own, with the run files in `runs/` next to it.

        Args:
            path: The database file. A damaged file is set aside, which `notice` reports.
            patience: Seconds to wait for other writers.
            read: Call `read`; otherwise the first query reads the events.

        Raises:
            JournalError: The journal cannot be opened.
        """
        path = path or places.state() / "journal.db"
        connection, notice = store.open_store(path, patience)
        log = cls(connection, path, path.parent / "runs", notice)
        if read:
            log.read()
        return log

    def read(self) -> None:
        """Read the events, and report a broken chain in `notice`. Raises JournalError."""
        self._catch_up()
        if broken := self._fold.broken:
            self.notice = self.notice or (
                f"event {broken} of the journal is not as it was written, or one before it is missing: "
                "what can be read is used"
            )

    @property
    def last_hash(self) -> str:
        """Return the hash of the last row, in hexadecimal, without reading the others; empty without a row."""
        with store.errors(self._path):
            return store.last_hash(self._connection).hex()

    @classmethod
    def in_memory(cls, notice: str = "") -> Self:
        """Create a journal that disappears with the program, for when no file can be written."""
        return cls(store.open_memory(), Path(":memory:"), None, notice)

    @classmethod
    def in_memory_until(cls, path: Path, problem: str, *, patience: float = store.PATIENCE) -> Self:
        """Create a journal in memory that moves to `path` when possible; run files go to the disk at once.

        Args:
            path: The database file.
            problem: Reason why it cannot be opened now.
            patience: Seconds to wait for other writers.
        """
        log = cls(store.open_memory(), Path(":memory:"), path.parent / "runs", problem)
        log._deferred = DeferredFile(path, patience, problem)
        return log

    @property
    def is_persistent(self) -> bool:
        """Return whether recorded events outlive the program."""
        return self.run_folder is not None and self._deferred is None

    @property
    def event_count(self) -> int:
        """Return the number of events so far."""
        return self._fold.serial

    @property
    def unsaved(self) -> str:
        """Return why an event is not on the disk yet; empty when all are."""
        return self._deferred.problem if self._deferred else self._waiting.problem

    def save_waiting(self, *, at_once: bool = False) -> bool:
        """Retry the waiting saves, and return whether everything is saved now. Never raises.

        Args:
            at_once: Retry even when the last attempt was recent and slow.
        """
        return self._move_to_file() and self._waiting.retry(at_once=at_once)

    def save_later(self, save: Callable[[], object], problem: str) -> None:
        """Call `save` once saving works again; until then it raises JournalError for `problem`."""
        self._waiting.add(save, problem)

    def close(self) -> None:
        """Try to save the waiting events, and close the connection. Never raises."""
        self.save_waiting(at_once=True)
        if self._deferred and not self._fold.serial:
            self._deferred = None  # no event could be lost
        self._connection.close()

    def events(self) -> Iterator[StoredEvent]:
        """Return all rows so far, from the first on; `order.student_events` finds the order of a merged journal."""
        with store.errors(self._path):
            return iter(list(store.events_after(self._connection, 0)))

    # Events and their fold

    def _catch_up(self) -> None:
        with store.errors(self._path):
            rows = list(store.events_after(self._connection, self._fold.serial))
            if self._fold.serial and is_merged(rows):
                rows, self._fold = list(store.events_after(self._connection, 0)), JournalFold()
            self._fold = fold_events(rows, self._fold if self._fold.serial else None)

    def _append(self, event: JournalEvent) -> None:
        """Record the event after the waiting events, or queue it and raise JournalError."""
        if not self._waiting.retry():
            self._waiting.add(lambda: self._write(event), self._waiting.problem)
            raise JournalError(self._waiting.problem)
        try:
            self._write(event)
        except JournalError as error:
            self._waiting.add(lambda: self._write(event), str(error))
            raise

    def _write(self, event: JournalEvent) -> None:
        self._record([event])

    def _record(self, events: Sequence[JournalEvent]) -> None:
        with store.errors(self._path):
            with store.transaction(self._connection):
                self._catch_up()
                added = list(chain(events, self._fold.serial, self._fold.hash))
                store.add_events(self._connection, added)
            self._fold = fold_events(added, self._fold)
        enrolment = self._fold.record.enrolment
        if enrolment and self._path == places.state() / "journal.db":
            record_answers(enrolment.identity, added)

    def _move_to_file(self) -> bool:
        """Move from memory to the file if it can be opened now, and return whether we are in it. Never raises."""
        if self._deferred is None:
            return True
        events = [decode(stored.data) for stored in self.events()]
        try:
            target = type(self).open(self._deferred.path, patience=self._deferred.patience)
            try:
                target._record([event for event in events if event is not None])
            except JournalError:
                target.close()
                raise
        except JournalError as error:
            self._deferred = self._deferred._replace(problem=str(error))
            return False
        self._connection.close()
        self._connection, self._path, self._deferred = target._connection, target._path, None
        self._fold, self.notice = target._fold, target.notice
        return True
