"""Prepared runs: runs that `tcptutor present --check` has stored, and shipped recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tcptutor.backends.replay import ReplayBackend
from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable
from tcptutor.fleet.run_cache import RunCache
from tcptutor.run import Run
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from tcptutor.course.activities.run import SweepActivity
    from tcptutor.course.page_sweep import PageCell


class PreparedRuns:
    """Complete runs that a lecture can show without a lab, by settings and seed. All methods block."""

    def __init__(self, folder: Path | None = None) -> None:
        # The key excludes the lab's version: a run remains worth showing after an update of the lab.
        self._store = RunCache("prepared", folder or places.cache() / "prepared")
        self._recordings = ReplayBackend("")

    def key(self, experiment: Experiment) -> str:
        """Return the key of an experiment; equal settings and seed give equal keys."""
        return self._store.key(experiment)

    def find(self, experiment: Experiment) -> Run | None:
        """Return the run that was made here, or the recording; None without both."""
        return self.kept(experiment) or self.recorded(experiment)

    def kept(self, experiment: Experiment) -> Run | None:
        """Return the run that was made here; None without it."""
        return self._store.get(experiment) if self._store.has(experiment) else None

    def recorded(self, experiment: Experiment) -> Run | None:
        """Return the shipped recording; None without it."""
        try:
            return self._recordings.find(experiment)
        except LabUnavailable:
            return None

    def points(self, sweep: SweepActivity) -> list[PageCell]:
        """Return the measurements of a sweep's prepared runs, without missing runs."""
        from tcptutor.course.page_sweep import page_cell  # noqa: PLC0415  # imports theory, for curves only

        runs = ((at, self.find(experiment)) for at, experiment in sweep.cells())
        return [page_cell(sweep, at, run) for at, run in runs if run is not None]

    def keep(self, run: Run) -> None:
        """Store a run. Raises TutorError if it cannot be written."""
        self._store.put(run.experiment, run)

    def prune(self) -> None:
        """Remove runs that were not used for a long time."""
        self._store.prune()
