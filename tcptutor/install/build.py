"""Builds the parts of the guest that are missing: the image, then a snapshot for each clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tcptutor.backends.guest import architecture
from tcptutor.backends.guest.image import Progress
from tcptutor.backends.guest.snapshots import CLOCKS, Snapshots
from tcptutor.errors import LabUnavailable
from tcptutor.install import space

IMAGE = "image"
TITLES = {IMAGE: "guest image", **{clock: f"snapshot, {clock} clock" for clock in CLOCKS}}
"""The parts in the order in which they are built, and their names for the user."""

_SIZES = {IMAGE: 63, **dict.fromkeys(CLOCKS, 99)}
_SECONDS = {IMAGE: 40, **dict.fromkeys(CLOCKS, 60)}
"""About how large they become, in MB, and how long they take on two cores without hardware virtualisation."""


def here() -> Snapshots | None:
    """The guest's parts on this machine, or None when there is no guest for its architecture.

    Raises LabUnavailable when another architecture's is asked for that there is none of.
    """
    return Snapshots() if architecture.possible() else None


def missing(snapshots: Snapshots, again: bool = False) -> list[str]:
    """The parts that have to be built; all of them `again`."""
    parts = [] if again else [part for part in TITLES if not valid(snapshots, part)]
    return list(TITLES) if again or IMAGE in parts else parts


def valid(snapshots: Snapshots, part: str) -> bool:
    """Whether `part` is whole and of this version."""
    try:
        if part == IMAGE:
            snapshots.image.check()
        else:
            snapshots.manifest(part)
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


def build(snapshots: Snapshots, parts: list[str], bar: Callable[[str], Progress]) -> None:
    """Build `parts`, each beside its place until it is whole; what is finished stays.

    Raises TutorError for the first that fails.
    """
    space.require(parts, snapshots.folder)
    clocks = [part for part in parts if part != IMAGE]
    with space.watched(snapshots.folder):
        if IMAGE in parts:
            snapshots.image.build(bar(TITLES[IMAGE]))
        if clocks:
            asyncio.run(_boot(snapshots, clocks, bar))


async def _boot(snapshots: Snapshots, clocks: list[str], bar: Callable[[str], Progress]) -> None:
    """All at once; one that fails leaves the others to finish."""
    outcomes = await asyncio.gather(
        *(snapshots.build(clock, bar(TITLES[clock])) for clock in clocks), return_exceptions=True
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
