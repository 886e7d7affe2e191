"""The list of runs: each with its summary, page and name, and found by typed words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.outline import Course
from tcptutor.history.summary import RunSummary


class RunPage(NamedTuple):
    """Page where a run was made."""

    module: str
    step: str
    number: str = ""
    """Module and page, as in "1.9"; empty for a page that the course no longer has."""


@dataclass(frozen=True)
class ListedRun:
    """A stored run in the list."""

    file: Path
    summary: RunSummary | None
    """None until it is computed, or if the file cannot be read."""
    page: RunPage | None = None
    """None for the command line and the bench."""
    name: str = ""
    """Name given by the student; empty for none."""
    problem: str = ""
    """Why the file cannot be read."""

    @property
    def id(self) -> str:
        return self.file.stem

    @property
    def started(self) -> datetime | None:
        """Local time of its start, also from the file's name; None if neither has it."""
        for text, form in (
            (self.summary.started if self.summary else "", ""),
            (self.id[:15], "%Y%m%d-%H%M%S"),
        ):
            try:
                found = datetime.strptime(text, form) if form else datetime.fromisoformat(text)
            except ValueError:
                continue
            return found.astimezone()
        return None

    def matches(self, words: Sequence[str]) -> bool:
        """Return True if each word, in lower case, is in its name, experiment, page, settings or verdict."""
        return all(word in self._text for word in words)

    @cached_property
    def _text(self) -> str:
        parts = [self.name, self.id]
        if self.page:
            parts += [self.page.number, self.page.step]
        if run := self.summary:
            parts += [run.experiment, *(f"{name} {text}" for name, text in run.settings.items())]
            parts += [run.limited_by, CAUSE_NAMES[run.limited_by]] if run.limited_by else []
            parts += [] if run.fidelity == "valid" else [run.fidelity]
            parts += [] if run.complete else ["cut short"]
        return "\n".join(parts).lower()


def words_of(text: str) -> list[str]:
    """Return the words of a filter, for `ListedRun.matches`."""
    return text.lower().split()


def pages_of(places: Mapping[str, tuple[str, str]], course: Course) -> dict[str, RunPage]:
    """Return the page of each run that was made on a page, by the run's id."""
    numbers = {
        (module.id, step): f"{module.number}.{number}"
        for module in course.modules
        for number, step in enumerate(module.step_ids, 1)
    }
    return {run: RunPage(*place, numbers.get(place, "")) for run, place in places.items() if place[1]}
