"""A user's cache folder of the test's own, and copies of the real guest in it, whole or damaged."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

from tcptutor.backends.guest.snapshots import Snapshots


class Cache:
    """The cache folder `home` of a user who has set XDG_CACHE_HOME."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.guest = home / "tcptutor" / "guest"

    def fill(self, real: Snapshots) -> None:
        """The real guest: its small files copied, its large ones linked where that is possible."""
        shutil.copytree(real.image.folder, self.guest / "image", copy_function=_place)
        for path in real.folder.iterdir():
            if path.suffix in (".json", ".snapshot"):
                _place(path, self.guest / path.name)

    def truncate(self, name: str) -> None:
        """Leave the first half of the file `name`."""
        path = self.guest / name
        size = path.stat().st_size
        with path.open("rb") as whole:
            half = whole.read(min(size // 2, 1_000_000))
        path.unlink()
        path.write_bytes(half)

    def unfinished(self) -> list[str]:
        """Names of what a build has not cleared away."""
        return [
            path.name
            for path in self.guest.iterdir()
            if path.name.endswith(".part") or path.name.startswith(".")
        ]


def _place(source: str | Path, target: str | Path) -> None:
    if Path(source).suffix != ".json":
        with contextlib.suppress(OSError):
            Path(target).hardlink_to(source)
            return
    shutil.copy(source, target)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Cache(tmp_path / "cache")
