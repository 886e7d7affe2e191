"""State of the list of the student's runs: rows, filter, ticks, deleted runs. Knows no widgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tcptutor.base.errors import JournalError, TutorError
from tcptutor.course.outline import Course
from tcptutor.grading.evidence.collect import marked_runs
from tcptutor.history import deletion
from tcptutor.history.index import RunIndex
from tcptutor.history.listing import ListedRun, RunPage, pages_of, words_of
from tcptutor.history.names import RunNames
from tcptutor.journal.events import StoredEvent
from tcptutor.journal.saved import Benches

MOST_TICKED = 8
"""Most runs that can be distinguished in an overlay."""


class HistoryState:
    """The runs in `folder`. Methods that read or write files are called in a thread."""

    def __init__(self, folder: Path, lessons: Path, course: Course) -> None:
        self._index = RunIndex(folder, lessons)
        self._names, self._benches = RunNames(folder.parent), Benches(folder.parent)
        self._course = course
        self._runs: list[ListedRun] = []
        self._deleted: list[Path] = []
        self.has_read = False
        """True once the runs were read."""
        self.words = ""
        """The filter as typed."""
        self.ticked: list[str] = []
        """Ids of the ticked runs in the order of ticking."""
        self.cursor = 0
        """Index of the chosen row among `rows`."""

    # Reading

    def read(self, places: Mapping[str, tuple[str, str]]) -> list[str]:
        """Read the index and the names, and return a line for each damaged file.

        Args:
            places: Module and step of each run of the journal, by id.
        """
        deletion.remove_old(self._index.folder)
        files = self._index.read()
        notices = [self._index.notice] if self._index.notice else []
        self._index.notice = ""
        names: dict[str, str] = {}
        try:
            names |= {each.run: each.name for each in self._benches.all() if each.run}
        except JournalError as error:
            notices.append(str(error))
        try:
            names |= self._names.all()
        except JournalError as error:
            notices.append(str(error))
        pages = pages_of(places, self._course)
        self._runs = [
            ListedRun(file, self._index.known(file), pages.get(file.stem), names.get(file.stem, ""))
            for file in files
        ]
        self.ticked = [id for id in self.ticked if self.run(id)]
        self.has_read = True
        return notices

    def outdated(self) -> Iterator[ListedRun]:
        """Yield runs without a summary by this version of the analysis, newest first."""
        for run in list(self._runs):
            if not (run.problem or self.is_current(run)):
                yield run

    def is_current(self, run: ListedRun) -> bool:
        """Return True if the index has the run by this version of the analysis."""
        return self._index.is_current(run.file)

    def summarize(self, run: ListedRun) -> ListedRun:
        """Compute the summary of a run."""
        try:
            return replace(run, summary=self._index.summary(run.file), problem="")
        except TutorError as error:
            return replace(run, problem=str(error))

    def update(self, run: ListedRun) -> None:
        """Take over the summary of a run; its name may have changed meanwhile."""
        for at, each in enumerate(self._runs):
            if each.id == run.id:
                self._runs[at] = replace(each, summary=run.summary, problem=run.problem)

    def save(self) -> None:
        """Write the index."""
        self._index.save()

    # Rows

    @property
    def all(self) -> Sequence[ListedRun]:
        """All runs, newest first."""
        return self._runs

    def rows(self) -> list[ListedRun]:
        """Return the runs that match the filter."""
        words = words_of(self.words)
        return [run for run in self._runs if run.matches(words)] if words else list(self._runs)

    def run(self, id: str) -> ListedRun | None:
        return next((run for run in self._runs if run.id == id), None)

    def toggle(self, id: str) -> str:
        """Tick or untick a run, and return why it cannot be ticked; empty for success."""
        if id in self.ticked:
            self.ticked.remove(id)
        elif len(self.ticked) >= MOST_TICKED:
            return f"{MOST_TICKED} runs are ticked already: Space on one of them unticks it."
        else:
            self.ticked.append(id)
        return ""

    # Changing

    def give_name(self, id: str, name: str) -> None:
        """Name a run. Raises UsageError for an invalid name, JournalError if it cannot be stored."""
        self._names.give(id, name)
        self._runs = [replace(run, name=name.strip()) if run.id == id else run for run in self._runs]

    def needs(self, page: RunPage, run: ListedRun, events: Sequence[StoredEvent]) -> bool:
        """Return True if its page is marked by the run."""
        return run.id in marked_runs(events, self._index.folder, self._course, page.module, page.step)

    def delete(self, run: ListedRun) -> None:
        """Delete a run until `restore`. Raises TutorError."""
        self._deleted.append(deletion.delete(run.file))
        self._runs = [each for each in self._runs if each.id != run.id]
        if run.id in self.ticked:
            self.ticked.remove(run.id)

    @property
    def can_restore(self) -> bool:
        """True if a run was deleted since the app started."""
        return bool(self._deleted)

    def restore(self) -> None:
        """Restore the run deleted last; `read` lists it again. Raises TutorError."""
        deletion.restore(self._deleted.pop())
