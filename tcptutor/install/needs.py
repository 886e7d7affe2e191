"""Which Debian packages the lab still needs here, and what for. The names are the same on Ubuntu."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from tcptutor.backends import host
from tcptutor.backends.guest import architecture, tools

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

_REASONS = {
    "bridge-utils": "switches of the emulated network",
    "debian-archive-keyring": "proves that the guest's packages are Debian's",
    "iperf3": "sends the traffic",
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


class Need(NamedTuple):
    package: str
    missing: tuple[str, ...]
    """The programs (or the file) for which it is needed."""

    @property
    def reason(self) -> str:
        return _REASONS.get(self.package, "needed by the lab")


def _by_package(missing: dict[str, str]) -> list[Need]:
    packages = sorted(set(missing.values()))
    return [Need(one, tuple(tool for tool, package in missing.items() if package == one)) for one in packages]


def for_host() -> list[Need]:
    """What the lab needs to run on this machine's own kernel."""
    return _by_package(host.missing_tools())


def for_guest(*, building: bool = True) -> list[Need]:
    """What the guest needs: to be built and to run, or to run only."""
    if not architecture.possible():
        return []
    names = [*(tools.BUILDING if building else ()), *tools.RUNNING, architecture.chosen().qemu]
    missing = {name: tools.PACKAGES[name] for name in names if shutil.which(name, path=host.PATH) is None}
    if building and not KEYRING.exists():
        missing[str(KEYRING)] = "debian-archive-keyring"
    return _by_package(missing)


def missing() -> list[Need]:
    """All of it, each package once."""
    found = {need.package: need for need in for_guest()}
    found |= {need.package: need for need in for_host()}
    return sorted(found.values())
