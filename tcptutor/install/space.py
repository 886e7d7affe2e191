"""Whether the disk has room for what setup makes."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from tcptutor.errors import SetupError
from tcptutor.install.say import MEGABYTE, megabytes

_PEAK = {"image": 450, "virtual": 160, "real": 160}
"""Most that each part takes while it is made, old and new side by side, in MB (measured 376, 150 and 150)."""


def free(folder: Path) -> int:
    """Bytes that an ordinary user can still write in `folder`, or in the nearest one above it that exists."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require(parts: Collection[str], folder: Path) -> None:
    """Raises SetupError when there is no room for `parts` in `folder`."""
    needed = sum(_PEAK[part] for part in parts) * MEGABYTE
    if (there := free(folder)) < needed:
        raise SetupError(
            f"the disk is too full: setup needs {megabytes(needed)} in {folder}, {megabytes(there)} are free: "
            "free some space, or set XDG_CACHE_HOME to a folder on another disk"
        )
