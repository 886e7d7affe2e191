"""The programs that the lab runs on this machine: where they are, and the Debian packages that bring them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from tcptutor.base.errors import MissingTool

PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
"""Debian leaves the sbin folders out of an ordinary user's PATH."""

HOST = ("mnexec", "brctl", "ifconfig", "ip", "iperf3", "sysctl", "unshare", "setpriv")
"""What the agent runs on this machine's own kernel."""

GUEST = ("zstd", "setpriv")
"""What runs a built guest, besides its architecture's QEMU."""

BUILDING = ("mmdebstrap", "tar2sqfs", "depmod")
"""What builds a guest."""

PACKAGES = {
    "brctl": "bridge-utils",
    "depmod": "kmod",
    "ifconfig": "net-tools",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "mmdebstrap": "mmdebstrap",
    "mnexec": "mininet",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-x86_64": "qemu-system-x86",
    "setpriv": "util-linux",
    "sysctl": "procps",
    "tar2sqfs": "squashfs-tools-ng",
    "unshare": "util-linux",
    "zstd": "zstd",
}
"""Debian package of each program; Ubuntu's has the same name."""


def missing(names: Iterable[str]) -> dict[str, str]:
    """Those of the programs `names` that are not here, with their Debian packages."""
    return {name: PACKAGES[name] for name in names if shutil.which(name, path=PATH) is None}


def find(name: str) -> str:
    """The full path of program `name`. Raises MissingTool, which names the package."""
    path = shutil.which(name, path=PATH)
    if path is None:
        raise MissingTool(f"{name} is missing (Debian package {PACKAGES[name]}): run `tcptutor setup`")
    return path
