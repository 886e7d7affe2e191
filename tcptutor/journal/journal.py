"""The journal: one object, owner of the connection and of the run files beside it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import JournalError
from tcptutor.course.goals.session import SessionRecord
from tcptutor.course.model import Course
from tcptutor.course.record import PageRecord, Response
from tcptutor.journal import fold, store
from tcptutor.journal.events import (
    Answered,
    Enrolled,
    Hinted,
    JournalEvent,
    Responded,
    RunBegun,
    RunEnded,
    StoredEvent,
    Visited,
    Withdrawn,
    Worked,
    chain,
    decode,
)
from tcptutor.journal.fold import Calibration, JournalRecord, Progress
from tcptutor.journal.schema import transaction
from tcptutor.journal.waiting import LaterFile, WaitingSaves
from tcptutor.run import Run
from tcptutor.runs.parts import ENDED
from tcptutor.runs.store import RunStore, first_readable, text_digest

KEEP_EVERY = 1000
"""Events after which their fold is kept again: so many, and those of other programs, are read at a start at most."""


class Journal:
    """Records what the student does. What is written is on the disk when a call returns, or JournalError.

    What raised it waits: it is tried again before whatever is recorded next, by `save_waiting`, and at the end.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, folder: Path | None, notice: str = ""
    ) -> None:
        self._connection = connection
        self._path = path
        self.runs = RunStore(folder)
        """The run files, for whoever conducts a run."""
        with store.errors(path):
            self._folded = store.kept_fold(connection)
        self._kept = self._folded.serial
        self._waiting = WaitingSaves()
        self._later: LaterFile | None = None
        self.notice = notice
        """One line to show at the start: a damaged journal was moved aside, or nothing is stored."""

    @classmethod
    def open(cls, path: Path | None = None, *, patience: float = store.PATIENCE) -> Journal:
        """The journal in `path`, by default the user's own; the run files stand in `runs/` beside it.

        patience: seconds to wait for another program that is writing.
        A damaged file is moved aside and said in `notice`. Raises JournalError.
        """
        path = path or places.state() / "journal.db"
        connection, notice = store.open_store(path, patience)
        journal = cls(connection, path, path.parent / "runs", notice)
        journal._catch_up()
        if broken := journal._folded.broken:
            journal.notice = notice or (
                f"event {broken} of the journal is not as it was written, or one before it is missing: "
                "what can be read is used"
            )
        with contextlib.suppress(JournalError):  # the next start tries again
            journal._recover_runs()
            journal._keep_fold(KEEP_EVERY)
        return journal

    @classmethod
    def in_memory(cls, notice: str = "") -> Journal:
        """A journal that is gone when the program ends, for when no file can be written."""
        return cls(store.open_memory(), Path(":memory:"), None, notice)

    @classmethod
    def in_memory_until(cls, path: Path, problem: str, *, patience: float = store.PATIENCE) -> Journal:
        """One in memory that moves to the journal in `path` once it can be opened; runs are kept there at once.

        problem: why it cannot be opened now, one line.
        """
        journal = cls(store.open_memory(), Path(":memory:"), path.parent / "runs", problem)
        journal._later = LaterFile(path, patience, problem)
        return journal

    @property
    def lasting(self) -> bool:
        """Whether what is recorded outlives the program."""
        return self.runs.folder is not None and self._later is None

    @property
    def written(self) -> int:
        """How many events it has: more of them after each that is written."""
        return self._folded.serial

    @property
    def unsaved(self) -> str:
        """Why something that was recorded is not on the disk yet, one line; empty when all is."""
        return self._later.problem if self._later else self._waiting.problem

    def save_waiting(self, *, at_once: bool = False) -> bool:
        """Try once more what could not be saved; whether all is saved now. Never raises.

        at_once: also when the last try was a moment ago and took long.
        """
        return self._move() and self._waiting.try_again(at_once=at_once)

    def save_later(self, save: Callable[[], object], problem: str) -> None:
        """Call `save` when things can be saved again: it raises JournalError until then. `problem` is one line."""
        self._waiting.add(save, problem)

    def close(self) -> None:
        """Save what still waits, if that can be done. Never raises."""
        self.save_waiting(at_once=True)
        if self._later and not self._folded.serial:
            self._later = None  # nothing was done that could be lost
        with contextlib.suppress(JournalError, sqlite3.Error):
            # Another program that is writing has caught up with us, and keeps the fold in its turn.
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._keep_fold(1)
        self._connection.close()

    # What the student does

    def enrol(self, student: str, course: str) -> None:
        """The student takes part in the course of that code."""
        self._append(Enrolled(_now(), student, course))

    def visit(self, module: str, step: str) -> None:
        """The page is on the screen."""
        self._append(Visited(_now(), module, step))

    def respond(self, module: str, step: str, activity: str, response: Response) -> PageRecord:
        """Record a response at this time, and give the page as it is then: what was locked before stays."""
        response = msgspec.structs.replace(response, at="")
        self._append(Responded(_now(), module, step, activity, response))
        return self._folded.record.page(module, step)

    def withdraw(self, module: str, step: str, activity: str) -> PageRecord:
        """Take back what was locked, and give the page as it is then: once a run has begun, nothing changes."""
        self._append(Withdrawn(_now(), module, step, activity))
        return self._folded.record.page(module, step)

    def worked(self, module: str, step: str, activity: str, session: SessionRecord) -> None:
        """All goals of the page were reached by hand, in that session."""
        self._append(Worked(_now(), module, step, activity, session))

    def hint(self, module: str, step: str, activity: str, level: int) -> PageRecord:
        """Hint `level` (from 1) of the activity was shown."""
        self._append(Hinted(_now(), module, step, activity, level))
        return self._folded.record.page(module, step)

    def answer(self, module: str, step: str, activity: str, measured: float) -> PageRecord:
        """What was predicted was measured."""
        self._append(Answered(_now(), module, step, activity, measured))
        return self._folded.record.page(module, step)

    # What the student did

    @property
    def record(self) -> JournalRecord:
        """All of it, by this program and others until now."""
        self._catch_up()
        return self._folded.record

    def page(self, module: str, step: str) -> PageRecord:
        """What was done on that page."""
        return self.record.page(module, step)

    @property
    def identity(self) -> str:
        """What this student's numbers are drawn by, in hexadecimal: of course and student where a course grades,
        else from the journal's first event; empty before that.
        """
        if enrolment := self.record.enrolment:
            return enrolment.identity
        with store.errors(self._path):
            return store.first_hash(self._connection).hex()

    def position(self) -> tuple[str, str] | None:
        """Module and step of the latest visit; None for a student who has just begun."""
        return self.record.position

    def progress(self, course: Course) -> dict[str, Progress]:
        """Steps done of each module, by the module's id."""
        return fold.progress(self.record, course)

    def calibration(self) -> Calibration | None:
        """How near the predictions were; None while there are few."""
        return fold.calibration(self.record)

    def events(self) -> Iterator[StoredEvent]:
        """Every event that is there now, from the first on."""
        with store.errors(self._path):
            return iter(list(store.events_after(self._connection, 0)))

    # Runs

    def begin_run(self, run: Run, module: str, step: str, changed_from: str = "") -> None:
        """Enter a run that is in `runs`, before it has data: a program that is killed leaves one without an end.

        changed_from: the id of the run of which it is a what-if.
        """
        file = self.runs.file(run.id)
        name = file.name if file else ""
        seed = run.experiment.seed
        name_of = run.experiment.name
        self._append(RunBegun(run.started, module, step, run.id, name_of, name, seed, changed_from))

    def finish_run(self, run: Run, file: Path | None) -> None:
        """The run has ended, whole or cut short (`complete`, `note`). `file` is None where nothing had arrived."""
        self._append(_end(run, file))

    def finish_run_later(self, run: Run, problem: str, saved: Callable[[], object]) -> None:
        """Write the file of a run that has ended once it can be written, enter its end, and call `saved`.

        problem: why it could not be, one line.
        """

        def save() -> None:
            name = self.runs.finish(run)
            self._write(_end(run, Path(name) if name else None))
            saved()

        self.save_later(save, problem)

    def _recover_runs(self) -> None:
        """End the runs whose program was killed, with what had arrived of each."""
        told: list[str] = []
        self.runs.recover(told.append)
        if told:
            more = f"; and {len(told) - 1} more" if len(told) > 1 else ""
            self.notice = "; ".join(filter(None, [self.notice, told[0] + more]))
        for id, begun in self._folded.record.runs.items():
            # `tcptutor run` may have recovered the file before us, and another app's run may go on.
            if not begun.ended and not self.runs.is_running(self._file(begun.file)):
                file = self._file(begun.file)
                run = first_readable([str(file)])
                self._append(_end(run, file) if run else RunEnded(_now(), id, False, ENDED, ""))

    def run_files(self, module: str, step: str) -> Iterator[str]:
        """The files of the page's runs, the latest first; some may be gone. Those before the latest cost a search."""
        record, page = self.record, (module, step)
        runs = [
            run for run in record.runs.values() if (run.module, run.step) == page and not run.changed_from
        ]
        files = [run.file for run in reversed(runs) if run.file]
        yield from (str(self._file(file)) for file in files)
        if len(runs) == record.page(*page).runs:
            return
        ended: dict[str, str] = {}
        with store.errors(self._path):
            before = store.runs_back(self._connection)
        for data in before:
            match decode(data):
                case RunEnded() as end:
                    ended[end.run] = end.file
                case RunBegun() as begun if (begun.module, begun.step) == page and not begun.changed_from:
                    file = ended.get(begun.run, "")
                    if file and file not in files:
                        yield str(self._file(file))

    def what_ifs(self, module: str, step: str) -> Iterator[tuple[str, str]]:
        """The page's what-ifs that left a file, the latest first: its file, and that of the run it was changed from.

        Either may be gone.
        """
        with store.errors(self._path):
            events = [decode(data) for data in store.runs_back(self._connection)]
        files = {event.run: event.file for event in events if isinstance(event, RunEnded) and event.file}
        for event in events:
            match event:
                case RunBegun(run=run, changed_from=base) if base and (event.module, event.step) == (
                    module,
                    step,
                ):
                    if run in files and base in files:
                        yield str(self._file(files[run])), str(self._file(files[base]))

    def pages_of_runs(self) -> dict[str, tuple[str, str]]:
        """Module and step of every run that was begun on a page, by the run's id."""
        with store.errors(self._path):
            data = store.runs_back(self._connection)
        begun = (event for event in map(decode, data) if isinstance(event, RunBegun))
        return {event.run: (event.module, event.step) for event in begun}

    def _file(self, name: str) -> Path:
        return (self.runs.folder or Path()) / name

    # Events and their fold

    def _catch_up(self) -> None:
        """Fold what this program and others have written since."""
        with store.errors(self._path):
            for stored in store.events_after(self._connection, self._folded.serial):
                self._folded = self._folded.take(stored)

    def _move(self) -> bool:
        """From memory to the file, if that can be opened now; whether we are there. Never raises."""
        if self._later is None:
            return True
        done = [decode(stored.data) for stored in self.events()]
        try:
            there = Journal.open(self._later.path, patience=self._later.patience)
            try:
                there._record([event for event in done if event is not None])
            except JournalError:
                there.close()
                raise
        except JournalError as error:
            self._later = self._later._replace(problem=str(error))
            return False
        self._connection.close()
        self._connection, self._path, self._later = there._connection, there._path, None
        self._folded, self._kept, self.notice = there._folded, there._kept, there.notice
        return True

    def _append(self, event: JournalEvent) -> None:
        """Record it after what waits, or have it wait, and raise JournalError."""
        if not self._waiting.try_again():
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
        """All of them, or none and JournalError."""
        with store.errors(self._path):
            with transaction(self._connection):
                self._catch_up()
                added = list(chain(events, self._folded.serial, self._folded.hash))
                for stored in added:
                    store.add_event(self._connection, stored)
            for stored in added:
                self._folded = self._folded.take(stored)
        with contextlib.suppress(JournalError):  # the event is stored, and the fold can wait
            self._keep_fold(KEEP_EVERY)

    def _keep_fold(self, least: int) -> None:
        """Keep the fold of the events if so many, or more, are not in the one that was kept."""
        if self._folded.serial - self._kept < least:
            return
        with store.errors(self._path), transaction(self._connection):
            self._catch_up()
            store.keep_fold(self._connection, self._folded)
        self._kept = self._folded.serial


def _end(run: Run, file: Path | None) -> RunEnded:
    name, digest = (file.name, text_digest(file)) if file else ("", "")
    return RunEnded(_now(), run.id, run.complete, run.note, name, digest)


def _now() -> str:
    return datetime.now(UTC).astimezone().isoformat(timespec="milliseconds")
