"""Whether the disk has room for what setup makes: before it begins, and while it goes on."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tcptutor.errors import SetupError
from tcptutor.install.say import MEGABYTE, megabytes

_IMAGE_PEAK, _IMAGE, _SNAPSHOT_PEAK = 560, 85, 170
"""MB: what building the image takes, what it leaves, and what building each snapshot takes.

Measured: 446, 63, 150 for amd64 and 518, 80, 133 for arm64, whose kernel is not compressed.
"""
_FULL = 4 * MEGABYTE
_LOOK_EVERY = 0.05
_REMEDY = "free some space, or set XDG_CACHE_HOME to a folder on another disk"


def free(folder: Path) -> int:
    """Bytes that an ordinary user can still write in `folder`, or in the nearest one above it that exists."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def needed(parts: Collection[str]) -> int:
    """Bytes that building `parts` takes at its height."""
    snapshots = _SNAPSHOT_PEAK * sum(part != "image" for part in parts)
    return (max(_IMAGE_PEAK, _IMAGE + snapshots) if "image" in parts else snapshots) * MEGABYTE


def require(parts: Collection[str], folder: Path) -> None:
    """Raises SetupError when there is no room for `parts` in `folder`."""
    if (there := free(folder)) < needed(parts):
        raise SetupError(
            f"the disk is too full: setup needs {megabytes(needed(parts))} in {folder}, "
            f"{megabytes(there)} are free: {_REMEDY}"
        )


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Tell a SetupError of a disk that filled up meanwhile from others: the tools' own words seldom do."""
    ended, full = threading.Event(), threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_EVERY):
            if free(folder) < _FULL:
                full.set()

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield
    except SetupError as error:
        if full.is_set():
            raise SetupError(
                f"the disk filled up while the guest was built in {folder}: {_REMEDY}"
            ) from error
        raise
    finally:
        ended.set()
        watch.join()
