"""Identification of this Linux system."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class System(NamedTuple):
    """A Linux system."""

    name: str
    """Distribution as it names itself, e.g. "Debian GNU/Linux 12 (bookworm)"."""
    family: frozenset[str]
    """Short names of the distribution and its ancestors, e.g. {"ubuntu", "debian"}."""
    kernel: str
    """Kernel release as printed by `uname -r`."""
    machine: str
    """Architecture as printed by `uname -m`."""
    wsl: int
    """Version of the Windows Subsystem for Linux, 1 or 2; 0 elsewhere."""

    @property
    def debian(self) -> bool:
        """Whether packages are Debian's in name and tool."""
        return bool(self.family & {"debian", "ubuntu"})


def recognize(release: Mapping[str, str], kernel: str, machine: str, build: str = "") -> System:
    """Return the system described by os-release(5) fields, kernel release, and /proc/version (`build`)."""
    family = frozenset([release.get("ID", "linux"), *release.get("ID_LIKE", "").split()])
    name = release.get("PRETTY_NAME") or "unknown Linux"
    return System(name, family, kernel, machine, wsl_version(kernel, build))


def wsl_version(release: str, build: str) -> int:
    """Return the version of the Windows Subsystem for Linux, 1 or 2; 0 elsewhere.

    WSL 1 is not a Linux kernel and shows it: "4.4.0-19041-Microsoft", "(Microsoft@Microsoft.com)". WSL 2 has
    Microsoft's build of Linux: "4.19.104-microsoft-standard" or "5.15.153.1-microsoft-standard-WSL2".

    Args:
        release: Content of /proc/sys/kernel/osrelease.
        build: Content of /proc/version.
    """
    if release.endswith("-Microsoft") or "Microsoft@Microsoft.com" in build:
        return 1
    return 2 if "microsoft-standard" in release or "WSL2" in release else 0


def here() -> System:
    """Return this machine's system."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    build = Path("/proc/version").read_text()
    return recognize(release, platform.release(), platform.machine(), build)
