"""Whether the disk has room for what setup makes."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from tcptutor.errors import SetupError
from tcptutor.install.say import MEGABYTE, megabytes

_IMAGE_PEAK, _IMAGE, _SNAPSHOT_PEAK = 500, 65, 170
"""MB: what building the image takes, what it leaves, and what building each snapshot takes (measured 446, 63, 150)."""


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
            f"the disk is too full: setup needs {megabytes(needed(parts))} in {folder}, {megabytes(there)} are free: "
            "free some space, or set XDG_CACHE_HOME to a folder on another disk"
        )
