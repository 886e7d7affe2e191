"""Which Linux this is."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import NamedTuple


class System(NamedTuple):
    name: str
    """As the distribution writes itself: "Debian GNU/Linux 12 (bookworm)"."""
    family: frozenset[str]
    """Its own short name and those of what it derives from: {"ubuntu", "debian"}."""
    kernel: str
    machine: str
    wsl: int
    """1 or 2 for the Windows Subsystem for Linux of that version, 0 elsewhere."""

    @property
    def debian(self) -> bool:
        """Whether its packages are Debian's, by name and tool."""
        return bool(self.family & {"debian", "ubuntu"})


def recognise(release: Mapping[str, str], kernel: str, machine: str) -> System:
    """The system of an os-release(5) file's fields and the kernel's release."""
    family = frozenset([release.get("ID", "linux"), *release.get("ID_LIKE", "").split()])
    # WSL 1 is no Linux kernel: it calls itself "4.4.0-19041-Microsoft", WSL 2 "5.15.90.1-microsoft-standard-WSL2".
    wsl = 0 if "microsoft" not in kernel.lower() else 2 if "wsl2" in kernel.lower() else 1
    return System(release.get("PRETTY_NAME") or "unknown Linux", family, kernel, machine, wsl)


def here() -> System:
    """This machine."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    return recognise(release, platform.release(), platform.machine())
