"""Which lab setup is to make, where it is not any: one in a file, or one of the same parts as a known one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.errors import TutorError
from tcptutor.run import lab

_LONGEST = 120
"""Characters of two values that stand in one line."""


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
            name.removeprefix(lab.PACKAGE): version
            for name, version in self.composition.items()
            if name.startswith(lab.PACKAGE)
        }

    def is_image_of(self, snapshots: Snapshots) -> bool:
        """Whether the image there, if any, is that of this lab."""
        if not self.composition:
            return True
        try:
            here = snapshots.image.composition()
        except (TutorError, OSError):
            return False
        return all(
            here.get(name) == value for name, value in self.composition.items() if name.startswith(lab.IMAGE)
        )


ANY_LAB = WantedLab()


def compared(here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[str]:
    """A line for each part in which two labs differ."""
    for part in lab.differences(here, there):
        if len(part.here) + len(part.there) > _LONGEST or part.name.startswith(
            (lab.IMAGE, "firmware", "agent")
        ):
            yield f"  {part.name}: another one"
        else:
            yield f"  {part.name}: {part.here or 'none'} here, {part.there or 'none'} there"
