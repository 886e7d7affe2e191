"""The guest's parts, its image and a snapshot for each clock: which are missing, room for them, their building."""

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
from tcptutor.install.report import MEGABYTE, megabytes

IMAGE = "image"
TITLES = {IMAGE: "guest image", **{clock: f"snapshot, {clock} clock" for clock in CLOCKS}}
"""The parts in the order in which they are built, and their names for the user."""

_SIZES = {IMAGE: 63, **dict.fromkeys(CLOCKS, 99)}
"""About how large each part becomes, MB."""

_SECONDS = {IMAGE: 40, **dict.fromkeys(CLOCKS, 60)}
"""About how long building each takes on two cores without hardware virtualisation."""

_IMAGE_PEAK, _IMAGE_LEFT = 560, 85
_SNAPSHOT_PEAK = {"virtual": 340, "real": 170}
"""MB: what building the image takes, what it leaves, and what building each snapshot takes.

Measured: 446, 63, 301 and 150 for amd64; 518, 80 and 133 on the real clock for arm64, whose kernel is not compressed.
"""

NO_ROOM = f"free some space, or {ELSEWHERE}"
"""What to do when the disk is too full."""

_FULL = 4 * MEGABYTE
"""A disk with less room than this is full."""

_LOOK_EVERY = 0.05
"""Seconds between two looks at the disk while the parts are built."""


def snapshots_here() -> Snapshots | None:
    """The guest's parts on this machine, or None when there is no guest for its architecture.

    Raises LabUnavailable when another architecture's is asked for that there is none of.
    """
    return Snapshots() if architecture.possible() else None


def missing(snapshots: Snapshots, again: bool = False, *, whole: bool = True) -> list[str]:
    """The parts that have to be built; all of them `again`. Without an image no snapshot is valid.

    Damage is looked for in a few places of each, or in the `whole`, which takes a second.
    """
    return [part for part in TITLES if again or not _valid(snapshots, part, whole)]


def _valid(snapshots: Snapshots, part: str, whole: bool) -> bool:
    """Whether `part` is undamaged and of this version."""
    try:
        if part == IMAGE:
            snapshots.image.check(whole=whole)
        else:
            snapshots.manifest(part, whole=whole)
    except LabUnavailable:
        return False
    return True


def size(snapshots: Snapshots, part: str) -> int:
    """Bytes of a part that is there."""
    return snapshots.image.size() if part == IMAGE else snapshots.size(part)


def file(snapshots: Snapshots, part: str) -> Path:
    """Where a part is."""
    return snapshots.image.folder if part == IMAGE else snapshots.file(part)


def expected_size(part: str) -> int:
    """About how many MB `part` will have."""
    return _SIZES[part]


def expected_seconds(parts: list[str]) -> int:
    """About how long it takes to build `parts`, the snapshots side by side."""
    return sum(_SECONDS[part] for part in parts if part == IMAGE) + max(
        (_SECONDS[part] for part in parts if part != IMAGE), default=0
    )


def free(folder: Path) -> int:
    """Bytes that an ordinary user can still write in `folder`, or in the nearest one above it that exists."""
    return shutil.disk_usage(_nearest(folder)).free


def unwritable(folder: Path) -> str:
    """Why nothing can be written in `folder`, there already or to be made, in the system's words; empty if it can."""
    try:
        folder.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(_nearest(folder), os.W_OK | os.X_OK) else os.strerror(errno.EACCES)


def _nearest(folder: Path) -> Path:
    """`folder`, or the first of its parents that exists."""
    while not os.path.exists(folder):  # noqa: PTH110  # Path raises where it may not look
        folder = folder.parent
    return folder


def room_needed(parts: Collection[str]) -> int:
    """Bytes that building `parts` takes at its height."""
    snapshots = sum(_SNAPSHOT_PEAK[part] for part in parts if part != IMAGE)
    return (max(_IMAGE_PEAK, _IMAGE_LEFT + snapshots) if IMAGE in parts else snapshots) * MEGABYTE


def build(
    snapshots: Snapshots,
    parts: list[str],
    bar: Callable[[str], Progress],
    versions: Mapping[str, str] | None = None,
) -> None:
    """Build `parts`, each beside its place until it is whole; what is finished stays. `versions`: of the image's
    packages, where these are to be others than today's.

    `bar` gives what shows the progress of a part of that title. Raises TutorError for the first part that fails,
    SetupError when there is no room for them.
    """
    folder = snapshots.folder
    if (there := free(folder)) < room_needed(parts):
        raise SetupError(
            f"the disk is too full: setup needs {megabytes(room_needed(parts))} in {folder}, "
            f"{megabytes(there)} are free: {NO_ROOM}"
        )
    clocks = [part for part in parts if part != IMAGE]
    with _watched(folder):
        if IMAGE in parts:
            snapshots.image.build(bar(TITLES[IMAGE]), versions)
        if clocks:
            asyncio.run(_boot(snapshots, clocks, bar))


async def _boot(snapshots: Snapshots, clocks: list[str], bar: Callable[[str], Progress]) -> None:
    """Build the snapshots for `clocks` side by side; one that fails leaves the others to finish."""
    outcomes = await asyncio.gather(
        *(snapshots.build(clock, bar(TITLES[clock])) for clock in clocks), return_exceptions=True
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


@contextmanager
def _watched(folder: Path) -> Iterator[None]:
    """Raise a SetupError of its own when the disk of `folder` has filled up: the tools' own words seldom say so."""
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
                f"the disk filled up while the guest was built in {folder}: {NO_ROOM}"
            ) from error
        raise
    finally:
        ended.set()
        watch.join()
