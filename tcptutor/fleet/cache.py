"""Runs on the virtual clock that need not be made again: equal settings and seed in an equal lab give equal runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

import msgspec

from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.run import Run, load, save
from tcptutor.spec import Experiment

_ELSEWHERE = "set XDG_CACHE_HOME to a folder that can be written"
_UNUSED_DAYS = 60


class RunCache:
    """Whole runs in a folder, a file each, by what they are of and by the lab that made them."""

    def __init__(self, version: str | None = None, folder: Path | None = None) -> None:
        """version: of the lab, by default of the guest that is here. Raises LabUnavailable where there is none."""
        self._version = Snapshots().version() if version is None else version
        self._folder = folder or places.cache() / "measured"
        self._labs: dict[int, dict[str, str]] = {}
        """What labs here are made of, by the memory of their guests, MiB."""

    def key(self, experiment: Experiment) -> str:
        """Equal for equal settings and seed, whatever the titles say."""
        plain = msgspec.structs.replace(experiment, title="", sources=(), scale="bench")
        content = msgspec.json.encode([self._version, plain], order="deterministic")
        return hashlib.sha256(content).hexdigest()[:32]

    def lab_of(self, experiment: Experiment) -> dict[str, str]:
        """What the lab is made of in which it is run here. Raises KernelLacks where no guest of ours holds it."""
        memory = sizes.size(experiment)
        if memory not in self._labs:
            self._labs[memory] = Snapshots(memory=memory).composition("virtual")
        return self._labs[memory]

    def has(self, experiment: Experiment) -> bool:
        return self._file(experiment).exists()

    def get(self, experiment: Experiment) -> Run | None:
        """None for what is not there; what is damaged is so from then on."""
        file = self._file(experiment)
        try:
            run = load(file)
        except TutorError:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return run

    def put(self, experiment: Experiment, run: Run) -> None:
        """Keep its run. Raises TutorError when it cannot be written."""
        save(run, self._file(experiment), _ELSEWHERE)

    def prune(self) -> None:
        """Remove what nobody has asked for in a long time."""
        oldest = time.time() - _UNUSED_DAYS * 86400
        for file in self._folder.glob("*.tcprun"):
            with contextlib.suppress(OSError):
                if file.stat().st_mtime < oldest:
                    file.unlink()

    def _file(self, experiment: Experiment) -> Path:
        return self._folder / f"{self.key(experiment)}.tcprun"
