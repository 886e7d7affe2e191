"""What setup will do, found before anything is done, and said in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tcptutor import places
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.install import apt, build, needs
from tcptutor.install.needs import Need
from tcptutor.install.say import megabytes


class Plan(NamedTuple):
    packages: list[Need]
    parts: list[str]
    """Parts of the guest to build, of `build.TITLES`."""

    @property
    def names(self) -> list[str]:
        """The packages' names."""
        return [need.package for need in self.packages]


def make(snapshots: Snapshots | None, again: bool) -> Plan:
    """What is missing here, of the guest only if there can be `snapshots`; `again`, all parts of it."""
    return Plan(needs.missing(), build.missing(snapshots, again) if snapshots else [])


def there(plan: Plan, snapshots: Snapshots | None) -> Iterator[str]:
    """The lines about what stays as it is."""
    if snapshots is None:
        yield "there is no guest for this machine's architecture: the lab will run on its own kernel"
        return
    for part in build.TITLES:
        if part not in plan.parts:
            yield f"already there: {build.TITLES[part]}, {megabytes(build.size(snapshots, part))}"


def to_do(plan: Plan) -> Iterator[str]:
    """The lines about what will be done."""
    yield "setup will"
    if plan.packages:
        how = "with apt-get" if apt.possible() else "nothing of this by itself, for it may not: please do"
        yield f"  install {counted(plan.packages, 'package')} {how}"
    for need in plan.packages:
        yield f"    {need.package:<24}{need.reason}"
    for part in plan.parts:
        what = "a small Debian system" if part == build.IMAGE else "the guest booted, ready to go on"
        yield f"  build   {build.TITLES[part]:<24}{what}, about {build.expected_size(part)} MB"
    if plan.parts:
        minutes = max(1, round(build.expected_seconds(plan.parts) / 60))
        yield f"  in      {places.cache()}, in about {minutes} minute{'s' * (minutes > 1)}"


def counted(things: list[Need], name: str) -> str:
    """ "3 packages", "1 package"."""
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"
