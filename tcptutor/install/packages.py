"""The Debian packages that the lab needs: which are missing here, what for, and their installation with apt-get.

Their names are the same on Ubuntu.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tcptutor.backends import tools
from tcptutor.backends.guest import architecture, recipe
from tcptutor.base.errors import SetupError
from tcptutor.install import system

_REASONS = {
    "bridge-utils": "switches of the emulated network",
    "debian-archive-keyring": "proves that the guest's packages are Debian's",
    "iperf3": "sends UDP, and what you type",
    "iproute2": "sets up the emulated network",
    "kmod": "lists the guest kernel's modules",
    "mininet": "starts programs on the emulated hosts",
    "mmdebstrap": "fetches the guest's Debian packages",
    "net-tools": "sets up the emulated network",
    "procps": "sets up the emulated network",
    "qemu-system-arm": "runs the guest",
    "qemu-system-x86": "runs the guest",
    "squashfs-tools-ng": "packs the guest's files",
    "util-linux": "gives the lab namespaces of its own",
    "zstd": "packs the guest's snapshots",
}

_INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends")
_PATIENCE = ("-o", "DPkg::Lock::Timeout=180")
"""A new machine updates itself in its first minutes and holds apt's lock meanwhile."""


class MissingPackage(NamedTuple):
    """A package to install."""

    name: str
    programs: tuple[str, ...]
    """The missing programs (or the file) that it brings."""

    @property
    def reason(self) -> str:
        """What the lab needs it for."""
        return _REASONS[self.name]


def _by_package(missing: dict[str, str]) -> list[MissingPackage]:
    return [
        MissingPackage(name, tuple(tool for tool, package in missing.items() if package == name))
        for name in sorted(set(missing.values()))
    ]


def missing_for_guest(*, building: bool = True) -> list[MissingPackage]:
    """What the guest needs: to be built and to run, or to run only."""
    if not architecture.possible():
        return []
    programs = tools.missing(
        [*(tools.BUILDING if building else ()), *tools.GUEST, architecture.chosen().qemu]
    )
    if building and not recipe.KEYRING.exists():
        programs[str(recipe.KEYRING)] = "debian-archive-keyring"
    return _by_package(programs)


def missing(*, building: bool = True) -> list[MissingPackage]:
    """What guest and host need, each package once; without `building`, of a guest whose image is there."""
    packages = {package.name: package for package in missing_for_guest(building=building)}
    packages |= {package.name: package for package in _by_package(tools.missing(tools.HOST))}
    return sorted(packages.values())


def _privilege() -> list[str] | None:
    """What stands before apt-get so that it runs as root; None when nothing does."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    # Without a terminal nobody can type a password: better a refusal than a wait.
    return ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]


def installable() -> bool:
    """Whether we can try to install packages: on Debian or Ubuntu, as root or with sudo."""
    return _privilege() is not None and shutil.which("apt-get") is not None and system.here().debian


def known(package: str) -> bool:
    """Whether apt can install the package here."""
    try:
        done = subprocess.run(["apt-cache", "show", package], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def install_command(packages: Sequence[str]) -> str:
    """The line to type as root."""
    return f"apt-get update; {' '.join([*_INSTALL, *packages])}"


def install(packages: Sequence[str], log: Path) -> None:
    """Install `packages`, with all that apt says in `log`. Raises SetupError: one line with apt's last error."""
    before = _privilege()
    if before is None or not installable():
        raise SetupError(f"this user cannot install packages: type as root: {install_command(packages)}")
    before = [*before, "env", "DEBIAN_FRONTEND=noninteractive"]
    with log.open("wb") as output:
        # A source that does not answer is not fatal: what counts is whether the packages can be had.
        _run([*before, "apt-get", "update"], output.fileno())
        code = _run([*before, *_INSTALL, *_PATIENCE, *packages], output.fileno())
    if code:
        by_hand = install_command(packages)
        raise SetupError(
            f"apt-get failed: {last_error(log)} (all of it: {log}); to try by hand, as root: {by_hand}"
        )


def _run(words: list[str], output: int) -> int:
    process = subprocess.Popen(words, stdout=output, stderr=output)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # apt-get ends by itself where that does no harm; killing it could leave a package half-installed.
        with contextlib.suppress(OSError):
            process.send_signal(signal.SIGINT)
        process.wait()
        raise


def last_error(log: Path) -> str:
    """apt's last error in `log`, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "sudo:"))] or lines
    return errors[-1].removeprefix("E: ") if errors else "it said nothing"
