"""What setup will do, found before anything is done, and said in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.install import packages, parts
from tcptutor.install.packages import MissingPackage
from tcptutor.install.report import megabytes
from tcptutor.install.wanted import ANY_LAB, WantedLab


class Plan(NamedTuple):
    """What is missing."""

    packages: list[MissingPackage]
    parts: list[str]
    """Parts of the guest to build, of `parts.TITLES`."""

    @property
    def names(self) -> list[str]:
        """The packages' names."""
        return [package.name for package in self.packages]


def make(
    snapshots: Snapshots | None, again: bool, *, whole: bool = True, wanted: WantedLab = ANY_LAB
) -> Plan:
    """What is missing here, of the guest only if there can be `snapshots`; `again`, all parts of it, as where the image
    is not that of the lab that is `wanted`.

    `whole`: its files are read, for what is damaged in them; else a few places of each are.
    """
    if snapshots is None:
        return Plan(packages.missing(), [])
    missing = parts.missing(snapshots, again or not wanted.is_image_of(snapshots), whole=whole)
    if wanted.file is not None:  # its image is there by then
        missing = [part for part in missing if part != parts.IMAGE]
    return Plan(packages.missing(building=wanted.file is None), missing)


def already_there(plan: Plan, snapshots: Snapshots | None) -> Iterator[str]:
    """The lines about what stays as it is."""
    if snapshots is None:
        yield "there is no guest for this machine's architecture: the lab will run on its own kernel"
        return
    for part, title in parts.TITLES.items():
        if part not in plan.parts:
            yield f"already there: {title}, {megabytes(parts.size(snapshots, part))}"


def to_do(plan: Plan) -> Iterator[str]:
    """The lines about what will be done."""
    yield "setup will"
    if plan.packages:
        how = (
            "with apt-get"
            if packages.installable()
            else "nothing of this by itself, for it may not: please do"
        )
        yield f"  install {counted(plan.packages, 'package')} {how}"
    for package in plan.packages:
        yield f"    {package.name:<24}{package.reason}"
    for part in plan.parts:
        what = "a small Debian system" if part == parts.IMAGE else "the guest booted, ready to go on"
        yield f"  build   {parts.TITLES[part]:<24}{what}, about {parts.expected_size(part)} MB"
    if plan.parts:
        minutes = max(1, round(parts.expected_seconds(plan.parts) / 60))
        yield f"  in      {places.cache()}, in about {minutes} minute{'s' * (minutes > 1)}"


def counted(things: list[MissingPackage], name: str) -> str:
    """How many `things` there are, such as "3 packages" or "1 package"."""
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"
