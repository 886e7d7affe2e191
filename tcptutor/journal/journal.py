"""The journal: one object, owner of the connection and of the run files beside it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tcptutor import places
from tcptutor.course.model import Course, Step
from tcptutor.errors import JournalError
from tcptutor.journal import store
from tcptutor.journal.done import is_done
from tcptutor.journal.records import Answer, Kept, Progress, decode, encode
from tcptutor.run import Run
from tcptutor.runs.parts import ENDED
from tcptutor.runs.store import RunStore


class Journal:
    """Records what the student does. What is written is on the disk when a call returns, or JournalError."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, folder: Path | None, notice: str = ""
    ) -> None:
        self._connection = connection
        self._path = path
        self.runs = RunStore(folder)
        """The run files, for whoever conducts a run."""
        self.notice = notice
        """One line to show at the start: a damaged journal was moved aside, or nothing is stored."""

    @classmethod
    def open(cls, path: Path | None = None) -> Journal:
        """The journal in `path`, by default the user's own; the run files stand in `runs/` beside it.

        A damaged file is moved aside and said in `notice`. Raises JournalError.
        """
        path = path or places.state() / "journal.db"
        connection, notice = store.open_store(path)
        journal = cls(connection, path, path.parent / "runs", notice)
        with contextlib.suppress(JournalError):  # the next start tries again
            journal._recover_runs()
        return journal

    @classmethod
    def in_memory(cls, notice: str = "") -> Journal:
        """A journal that is gone when the program ends, for when no file can be written."""
        return cls(store.open_memory(), Path(":memory:"), None, notice)

    @property
    def lasting(self) -> bool:
        """Whether what is recorded outlives the program."""
        return self.runs.folder is not None

    def close(self) -> None:
        self._connection.close()

    # Predictions

    def record_prediction(self, module: str, step: str, text: str, value: float | None) -> Kept:
        """Lock the prediction (value in the base unit; None for none) and give the locked one: the first."""
        self._write(
            "INSERT OR IGNORE INTO predictions VALUES (?, ?, ?, ?, ?)", module, step, _now(), text, value
        )
        kept = self.prediction(module, step)
        assert kept is not None
        return kept

    def prediction(self, module: str, step: str) -> Kept | None:
        rows = self._read(
            "SELECT text, value, at FROM predictions WHERE module = ? AND step = ?", module, step
        )
        return Kept(*rows[0]) if rows else None

    # Questions and hints

    def record_answer(
        self, module: str, step: str, question: str, answer: tuple[int, ...] | str, correct: bool
    ) -> None:
        """One attempt: the choices' indexes or the text as typed."""
        self._write(
            "INSERT INTO answers (module, step, question, at, answer, correct) VALUES (?, ?, ?, ?, ?, ?)",
            module,
            step,
            question,
            _now(),
            encode(answer),
            int(correct),
        )

    def answers(self, module: str, step: str) -> list[Answer]:
        """Every attempt at the questions of a step, oldest first."""
        rows = self._read(
            "SELECT question, answer, correct, at FROM answers WHERE module = ? AND step = ? ORDER BY id",
            module,
            step,
        )
        return [Answer(question, decode(answer), bool(correct), at) for question, answer, correct, at in rows]

    def record_hint(self, module: str, step: str, target: str, level: int) -> None:
        """Hint `level` (from 1) of `target`, a question's id or "predict", was shown."""
        self._write("INSERT OR IGNORE INTO hints VALUES (?, ?, ?, ?, ?)", module, step, target, level, _now())

    def hints(self, module: str, step: str) -> dict[str, int]:
        """The highest level shown, by target."""
        rows = self._read(
            "SELECT target, MAX(level) FROM hints WHERE module = ? AND step = ? GROUP BY target", module, step
        )
        return dict(rows)

    # Runs

    def begin_run(self, run: Run, module: str, step: str) -> None:
        """Enter a run that is in `runs`, before it has data: a program that is killed leaves a row without an end."""
        self._write(
            "INSERT INTO runs (id, module, step, experiment, started, file) VALUES (?, ?, ?, ?, ?, ?)",
            run.id,
            module,
            step,
            run.experiment.name,
            run.started,
            str(self.runs.file(run.id) or ""),
        )

    def finish_run(self, run: Run, file: Path | None) -> None:
        """The run has ended, whole or cut short (`complete`, `note`), and is in `file`, or nowhere."""
        self._end_row(run.id, str(file or ""), run.complete, run.note)

    def _end_row(self, run_id: str, file: str, complete: bool, note: str) -> None:
        self._write(
            "UPDATE runs SET finished = ?, complete = ?, note = ?, file = ? WHERE id = ?",
            _now(),
            int(complete),
            note,
            file,
            run_id,
        )

    def _recover_runs(self) -> None:
        """End the rows of runs whose program was killed, with what had arrived of each."""
        self.runs.recover()
        for run_id, file in self._read("SELECT id, file FROM runs WHERE finished IS NULL"):
            # `tcptutor run` may have recovered the file before us, and another app's run may go on.
            if not self.runs.goes_on(Path(file)):
                run = self.runs.first_readable([file])
                kept = (file, run.complete, run.note) if run else ("", False, ENDED)
                self._end_row(run_id, *kept)

    def latest_run(self, module: str, step: str) -> Run | None:
        """The latest run of the step whose file can be read."""
        rows = self._read(
            "SELECT file FROM runs WHERE module = ? AND step = ? ORDER BY rowid DESC", module, step
        )
        return self.runs.first_readable(str(file) for (file,) in rows)

    # Where the student is

    def set_position(self, module: str, step: str) -> None:
        """The step is on the screen."""
        self._write(
            """INSERT INTO visits SELECT ?, ?, ?, 1 + COALESCE(MAX(serial), 0) FROM visits WHERE true
            ON CONFLICT (module, step) DO UPDATE SET serial = excluded.serial""",
            module,
            step,
            _now(),
        )

    def position(self) -> tuple[str, str] | None:
        """Module and step of the latest visit; None for a student who has just begun."""
        rows = self._read("SELECT module, step FROM visits ORDER BY serial DESC LIMIT 1")
        return (rows[0][0], rows[0][1]) if rows else None

    def step_done(self, module: str, step: Step) -> bool:
        """Whether all that the step asks for is done: predicted, run to the end, every question right."""
        return is_done(self._read, module, step)

    def progress(self, course: Course) -> dict[str, Progress]:
        """Steps done of each module, by the module's id."""
        return {module.id: self._progress_of(module.id, module.steps) for module in course.modules}

    def _progress_of(self, module: str, steps: Iterable[Step]) -> Progress:
        done = [self.step_done(module, step) for step in steps]
        return Progress(sum(done), len(done))

    def _read(self, sql: str, *values: Any) -> list[Any]:
        with store.errors(self._path):
            return self._connection.execute(sql, values).fetchall()

    def _write(self, sql: str, *values: Any) -> None:
        with store.errors(self._path):
            self._connection.execute(sql, values)


def _now() -> str:
    return datetime.now(UTC).astimezone().isoformat(timespec="milliseconds")
