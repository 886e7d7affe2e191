"""Which lab setup is to make, where it is not any: one in a file, or one of the same parts as a known one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import ImageDamaged
from tcptutor.run import lab_parts


class WantedLab(msgspec.Struct, frozen=True):
    """What is asked for; without either, whatever lab Debian's packages make today."""

    file: Path | None = None
    """A packed lab to take the image from."""
    composition: Mapping[str, str] = {}
    """The parts of the lab to build again, as `run.lab` has them."""

    @property
    def versions(self) -> dict[str, str]:
        """Debian's packages in it."""
        return {
            name.removeprefix(lab_parts.PACKAGE): version
            for name, version in self.composition.items()
            if name.startswith(lab_parts.PACKAGE)
        }

    def is_image_of(self, snapshots: Snapshots) -> bool:
        """Whether the image there, if any, is that of this lab."""
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


ANY_LAB = WantedLab()
