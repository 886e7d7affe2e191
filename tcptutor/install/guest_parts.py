"""Parts of the guest, its image and a snapshot per clock: which are missing, disk space, and their building."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tcptutor.backends.guest import architecture
from tcptutor.backends.guest.image import ELSEWHERE
from tcptutor.backends.guest.image_build import Progress
from tcptutor.backends.guest.snapshots import CLOCKS, Snapshots
from tcptutor.base.errors import LabUnavailable, SetupError
from tcptutor.install.findings import MEGABYTE, megabytes

IMAGE = "image"
TITLES = {IMAGE: "guest image", **{clock: f"snapshot, {clock} clock" for clock in CLOCKS}}
"""Titles of the parts, in the order of building."""

SIZES_MB = {IMAGE: 63, **dict.fromkeys(CLOCKS, 99)}
"""Approximate size of each part, MB."""

_SECONDS = {IMAGE: 40, **dict.fromkeys(CLOCKS, 60)}
"""Approximate time to build each part on two cores without hardware virtualization, seconds."""

_IMAGE_PEAK, _IMAGE_LEFT = 560, 85
"""Disk space that building the image needs at its peak, and keeps, MB. Peak and image measured 446 and 63 MB for
amd64, 518 and 80 MB for arm64."""
_SNAPSHOT_PEAK = {"virtual": 340, "real": 170}
"""Peak disk space for building each snapshot, MB. Measured 301 and 150 MB for amd64, and 133 MB on the real clock for
arm64, whose kernel is not compressed."""

NO_ROOM = f"free some space, or {ELSEWHERE}"
"""Remedy for a full disk."""

_FULL = 4 * MEGABYTE
"""Free space below which a disk counts as full."""

_CHECK_S = 0.05
"""Seconds between two checks of the disk during a build."""


def snapshots_here() -> Snapshots | None:
    """Return the guest's parts on this machine, or None when its architecture has no guest.

    Raises LabUnavailable for an unknown TCPTUTOR_GUEST_ARCH.
    """
    return Snapshots() if architecture.possible() else None


def missing(snapshots: Snapshots, again: bool = False, *, thorough: bool = True) -> list[str]:
    """Return the parts to build, all of them with `again`; without an image every snapshot is invalid.

    With `thorough` every byte is checked for damage, which takes a second; otherwise a few places of each file.
    """
    return [part for part in TITLES if again or not _valid(snapshots, part, thorough)]


def _valid(snapshots: Snapshots, part: str, thorough: bool) -> bool:
    try:
        if part == IMAGE:
            snapshots.image.check(thorough=thorough)
        else:
            snapshots.manifest(part, thorough=thorough)
    except LabUnavailable:
        return False
    return True


def size(snapshots: Snapshots, part: str) -> int:
    """Return the size of an existing part, bytes."""
    return snapshots.image.size() if part == IMAGE else snapshots.size(part)


def file(snapshots: Snapshots, part: str) -> Path:
    """Return the path of a part."""
    return snapshots.image.folder if part == IMAGE else snapshots.file(part)


def expected_seconds(parts: list[str]) -> int:
    """Return the approximate time to build `parts`, with the snapshots in parallel."""
    return sum(_SECONDS[part] for part in parts if part == IMAGE) + max(
        (_SECONDS[part] for part in parts if part != IMAGE), default=0
    )


def free(folder: Path) -> int:
    """Return the free space for ordinary users in `folder` or its nearest existing parent, bytes."""
    return shutil.disk_usage(_nearest_existing(folder)).free


def unwritable(folder: Path) -> str:
    """Return the system's reason why `folder` cannot be created or written; empty if it can."""
    try:
        folder.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(_nearest_existing(folder), os.W_OK | os.X_OK) else os.strerror(errno.EACCES)


def _nearest_existing(folder: Path) -> Path:
    while not os.path.exists(folder):  # noqa: PTH110  # Path raises where it may not look
        folder = folder.parent
    return folder


def room_needed(parts: Collection[str]) -> int:
    """Return the peak disk space for building `parts`, bytes."""
    snapshots = sum(_SNAPSHOT_PEAK[part] for part in parts if part != IMAGE)
    return (max(_IMAGE_PEAK, _IMAGE_LEFT + snapshots) if IMAGE in parts else snapshots) * MEGABYTE


def build(
    snapshots: Snapshots,
    parts: list[str],
    bar: Callable[[str], Progress],
    versions: Mapping[str, str] | None = None,
) -> None:
    """Build `parts`, each replacing an old one only when complete; finished parts stay after a failure.

    `bar` returns the progress callback for a title. `versions` pins Debian packages of the image to other versions
    than today's. Raises TutorError for the first part that fails, SetupError when the disk is too small.
    """
    folder = snapshots.folder
    if (available := free(folder)) < room_needed(parts):
        raise SetupError(
            f"the disk is too full: setup needs {megabytes(room_needed(parts))} in {folder}, "
            f"{megabytes(available)} are free: {NO_ROOM}"
        )
    clocks = [part for part in parts if part != IMAGE]
    with _watched(folder):
        if IMAGE in parts:
            snapshots.image.build(bar(TITLES[IMAGE]), versions)
        if clocks:
            asyncio.run(_boot(snapshots, clocks, bar))


async def _boot(snapshots: Snapshots, clocks: list[str], bar: Callable[[str], Progress]) -> None:
    """Build the snapshots for `clocks` in parallel; a failure lets the others finish."""
    outcomes = await asyncio.gather(
        *(snapshots.build(clock, bar(TITLES[clock])) for clock in clocks), return_exceptions=True
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


@contextmanager
def _watched(folder: Path) -> Iterator[None]:
    """Replace a SetupError by a clearer error if the disk of `folder` filled up: the tools seldom report it."""
    ended, full = threading.Event(), threading.Event()

    def look() -> None:
        while not ended.wait(_CHECK_S):
            if free(folder) < _FULL:
                full.set()

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield
    except SetupError as error:
        if full.is_set():
            raise SetupError(
                f"the disk filled up while the guest was built in {folder}: {NO_ROOM}"
            ) from error
        raise
    finally:
        ended.set()
        watch.join()
