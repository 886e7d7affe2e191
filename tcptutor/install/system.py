"""Which Linux this is."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tcptutor.install import wsl


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


def recognise(release: Mapping[str, str], kernel: str, machine: str, build: str = "") -> System:
    """The system of an os-release(5) file's fields, the kernel's release, and what /proc/version says of its build."""
    family = frozenset([release.get("ID", "linux"), *release.get("ID_LIKE", "").split()])
    name = release.get("PRETTY_NAME") or "unknown Linux"
    return System(name, family, kernel, machine, wsl.version(kernel, build))


def here() -> System:
    """This machine."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    build = Path("/proc/version").read_text()
    return recognise(release, platform.release(), platform.machine(), build)
