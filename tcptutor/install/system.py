"""Which Linux this is."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class System(NamedTuple):
    """A Linux system."""

    name: str
    """As the distribution writes itself: "Debian GNU/Linux 12 (bookworm)"."""
    family: frozenset[str]
    """Its own short name and those of what it derives from: {"ubuntu", "debian"}."""
    kernel: str
    """Its release, as `uname -r` gives it."""
    machine: str
    """The architecture, as `uname -m` gives it."""
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
    return System(name, family, kernel, machine, wsl_version(kernel, build))


def wsl_version(release: str, build: str) -> int:
    """Version 1 or 2 of the Windows Subsystem for Linux, 0 elsewhere.

    release, build: the contents of /proc/sys/kernel/osrelease and /proc/version.

    WSL 1 is no Linux kernel and says so in both: "4.4.0-19041-Microsoft", "(Microsoft@Microsoft.com)". WSL 2 has one of
    Microsoft's build, "4.19.104-microsoft-standard" or "5.15.153.1-microsoft-standard-WSL2".
    """
    if release.endswith("-Microsoft") or "Microsoft@Microsoft.com" in build:
        return 1
    return 2 if "microsoft-standard" in release or "WSL2" in release else 0


def here() -> System:
    """This machine."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    build = Path("/proc/version").read_text()
    return recognise(release, platform.release(), platform.machine(), build)
