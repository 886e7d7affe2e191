"""Programs that the lab runs on this machine, their paths, and the Debian packages that contain them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from tcptutor.base.errors import MissingTool

PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
"""Search path with the sbin folders, which Debian leaves out of an ordinary user's PATH."""

HOST = ("mnexec", "brctl", "ifconfig", "ip", "iperf3", "sysctl", "unshare", "setpriv")
"""Programs that the agent runs on this machine's own kernel."""

GUEST = ("zstd", "setpriv")
"""Programs that run a built guest, besides its architecture's QEMU."""

BUILDING = ("mmdebstrap", "tar2sqfs", "depmod")
"""Programs that build a guest."""

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
"""Debian package of each program; Ubuntu uses the same names."""


def missing(names: Iterable[str]) -> dict[str, str]:
    """Return the programs of `names` that are not installed, with their Debian packages."""
    return {name: PACKAGES[name] for name in names if shutil.which(name, path=PATH) is None}


def find(name: str) -> str:
    """Return the full path of program `name`.

    Raises:
        MissingTool: It is not installed; the message names the package.
    """
    path = shutil.which(name, path=PATH)
    if path is None:
        raise MissingTool(f"{name} is missing (Debian package {PACKAGES[name]}): run `tcptutor setup`")
    return path
