"""Debian packages that the lab needs: which are missing, their purpose, and their installation; the Linux system.

Ubuntu uses the same names.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tcptutor.backends import programs
from tcptutor.backends.guest import architecture, recipe
from tcptutor.base.errors import SetupError

_REASONS = {
    "bridge-utils": "switches of the emulated network",
    "debian-archive-keyring": "proves that the guest's packages are Debian's",
    "ethtool": "shows and switches offloads in your shells",
    "iperf3": "sends UDP, and traffic you start by hand",
    "iproute2": "sets up the emulated network",
    "iputils-ping": "measures the RTT in your shells",
    "kmod": "lists the guest kernel's modules",
    "mininet": "starts programs on the emulated hosts",
    "mmdebstrap": "fetches the guest's Debian packages",
    "net-tools": "sets up the emulated network",
    "procps": "sets up the emulated network",
    "qemu-system-arm": "runs the guest",
    "qemu-system-x86": "runs the guest",
    "squashfs-tools-ng": "packs the guest's files",
    "tcpdump": "captures packets in your shells",
    "uidmap": "lets tcpdump run in a lab without root",
    "util-linux": "creates the lab's namespaces",
    "zstd": "packs the guest's snapshots",
}

_INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends")
_PATIENCE = ("-o", "DPkg::Lock::Timeout=180")
"""A new machine updates itself in its first minutes and holds apt's lock meanwhile."""


class MissingPackage(NamedTuple):
    """A package to install."""

    name: str
    programs: tuple[str, ...]
    """Missing programs (or the missing file) that it contains."""

    @property
    def reason(self) -> str:
        """Purpose of the package in the lab."""
        return _REASONS[self.name]


def _by_package(missing: dict[str, str]) -> list[MissingPackage]:
    return [
        MissingPackage(name, tuple(tool for tool, package in missing.items() if package == name))
        for name in sorted(set(missing.values()))
    ]


def missing_for_guest(*, building: bool = True) -> list[MissingPackage]:
    """Return the packages missing to run the guest, and with `building` to build it."""
    if not architecture.possible():
        return []
    lacking = programs.missing(
        [*(programs.BUILDING if building else ()), *programs.GUEST, architecture.chosen().qemu]
    )
    if building and not recipe.KEYRING.exists():
        lacking[str(recipe.KEYRING)] = "debian-archive-keyring"
    return _by_package(lacking)


def missing(*, building: bool = True) -> list[MissingPackage]:
    """Return all missing packages of guest and host; without `building`, the guest's image needs no building."""
    packages = {package.name: package for package in missing_for_guest(building=building)}
    packages |= {
        package.name: package for package in _by_package(programs.missing([*programs.HOST, *programs.TYPED]))
    }
    return sorted(packages.values())


def _privilege() -> list[str] | None:
    """Return the prefix that runs apt-get as root; None when this user cannot become root."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    # Without a terminal no password can be typed, so sudo must fail rather than wait.
    return ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]


def installable() -> bool:
    """Check whether packages can be installed: on Debian or Ubuntu, as root or with sudo."""
    return _privilege() is not None and shutil.which("apt-get") is not None and this_system().debian


def known(package: str) -> bool:
    """Check whether apt knows the package."""
    try:
        done = subprocess.run(["apt-cache", "show", package], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def install_command(packages: Sequence[str]) -> str:
    """Return the command line to type as root."""
    return f"apt-get update; {' '.join([*_INSTALL, *packages])}"


def install(packages: Sequence[str], log: Path) -> None:
    """Install `packages` with apt's output in `log`. Raises SetupError with apt's last error."""
    before = _privilege()
    if before is None or not installable():
        raise SetupError(f"this user cannot install packages: run as root: {install_command(packages)}")
    before = [*before, "env", "DEBIAN_FRONTEND=noninteractive"]
    with log.open("wb") as output:
        # An unreachable source is not fatal as long as the packages can be installed.
        _run([*before, "apt-get", "update"], output.fileno())
        code = _run([*before, *_INSTALL, *_PATIENCE, *packages], output.fileno())
    if code:
        by_hand = install_command(packages)
        raise SetupError(
            f"apt-get failed: {last_error(log)} (full log: {log}); to retry by hand, as root: {by_hand}"
        )


def _run(words: list[str], output: int) -> int:
    process = subprocess.Popen(words, stdout=output, stderr=output)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # Let apt-get stop at a safe point; killing it could leave a package half-installed.
        with contextlib.suppress(OSError):
            process.send_signal(signal.SIGINT)
        process.wait()
        raise


def last_error(log: Path) -> str:
    """Return apt's last error in `log`, or its last line without an error."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "sudo:"))] or lines
    return errors[-1].removeprefix("E: ") if errors else "no message"


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


def recognize_system(release: Mapping[str, str], kernel: str, machine: str, build: str = "") -> System:
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


def this_system() -> System:
    """Return this machine's system."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    build = Path("/proc/version").read_text()
    return recognize_system(release, platform.release(), platform.machine(), build)
