"""Plan of a setup: the missing packages and parts, and their description for the user.

`python -m tcptutor.install.setup_plan` ends with exit code 0 when setup is complete, for `tcptutor/start`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.base.errors import ImageDamaged
from tcptutor.install import guest_parts, packages
from tcptutor.install.findings import megabytes
from tcptutor.install.packages import MissingPackage
from tcptutor.run import lab_parts


class TargetLab(msgspec.Struct, frozen=True):
    """The lab to set up; without fields, the lab that Debian's current packages give."""

    file: Path | None = None
    """Packed lab that contains the image."""
    composition: Mapping[str, str] = {}
    """Parts of a lab to rebuild, named as in `run.lab_parts`."""

    @property
    def versions(self) -> dict[str, str]:
        """Versions of its Debian packages."""
        return {
            name.removeprefix(lab_parts.PACKAGE): version
            for name, version in self.composition.items()
            if name.startswith(lab_parts.PACKAGE)
        }

    def has_same_image_as(self, snapshots: Snapshots) -> bool:
        """Check whether the image of `snapshots` is that of this lab."""
        if not self.composition:
            return True
        try:
            here = snapshots.image.composition()
        except ImageDamaged:
            return False
        return all(
            here.get(name) == value
            for name, value in self.composition.items()
            if name.startswith(lab_parts.IMAGE)
        )


ANY_LAB = TargetLab()


class Plan(NamedTuple):
    """Missing packages and parts."""

    packages: list[MissingPackage]
    parts: list[str]
    """Parts of the guest to build, keys of `guest_parts.TITLES`."""

    @property
    def names(self) -> list[str]:
        return [package.name for package in self.packages]


def make_plan(
    snapshots: Snapshots | None, again: bool, *, thorough: bool = True, target: TargetLab = ANY_LAB
) -> Plan:
    """Return the missing packages and parts; no parts of a guest when `snapshots` is None.

    All parts are rebuilt with `again`, or when the present image is not that of the `target` lab. With `thorough` every
    byte is checked for damage, otherwise a few places of each file.
    """
    if snapshots is None:
        return Plan(packages.missing(), [])
    missing = guest_parts.missing(
        snapshots, again or not target.has_same_image_as(snapshots), thorough=thorough
    )
    if target.file is not None:  # its image is installed before the parts are built
        missing = [part for part in missing if part != guest_parts.IMAGE]
    return Plan(packages.missing(building=target.file is None), missing)


def describe_present_parts(plan: Plan, snapshots: Snapshots | None) -> Iterator[str]:
    """Yield the lines about parts that stay as they are."""
    if snapshots is None:
        yield "there is no guest for this machine's architecture: the lab will run on its own kernel"
        return
    for part, title in guest_parts.TITLES.items():
        if part not in plan.parts:
            yield f"already built: {title}, {megabytes(guest_parts.size(snapshots, part))}"


def describe_work(plan: Plan) -> Iterator[str]:
    """Yield the lines about the work to do."""
    yield "setup will"
    if plan.packages:
        how = "with apt-get" if packages.installable() else "by hand, as this user may not install packages"
        yield f"  install {count_with_name(plan.packages, 'package')} {how}"
    for package in plan.packages:
        yield f"    {package.name:<24}{package.reason}"
    for part in plan.parts:
        content = "a small Debian system" if part == guest_parts.IMAGE else "the booted guest, ready to run"
        yield f"  build   {guest_parts.TITLES[part]:<24}{content}, about {guest_parts.SIZES_MB[part]} MB"
    if plan.parts:
        minutes = max(1, round(guest_parts.expected_seconds(plan.parts) / 60))
        yield f"  in      {places.cache()}, in about {minutes} minute{'s' * (minutes > 1)}"


def count_with_name(things: list[MissingPackage], name: str) -> str:
    """Return the number of `things` with their name, such as "3 packages" or "1 package"."""
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"


def is_ready() -> bool:
    """Check whether all packages and all parts of the guest are installed."""
    return not any(make_plan(guest_parts.snapshots_here(), again=False, thorough=False))


if __name__ == "__main__":
    sys.exit(not is_ready())
