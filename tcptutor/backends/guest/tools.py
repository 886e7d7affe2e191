"""The programs that the guest needs on this machine, and where they are."""

from __future__ import annotations

import os
import shutil

from tcptutor.backends.guest import architecture
from tcptutor.errors import MissingTool

_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
"""Debian leaves the sbin folders out of an ordinary user's PATH."""

BUILDING = ("mmdebstrap", "tar2sqfs", "depmod")
RUNNING = ("zstd", "setpriv")
"""What builds a guest, and what a built one needs besides its architecture's QEMU."""

PACKAGES = {
    "mmdebstrap": "mmdebstrap",
    "tar2sqfs": "squashfs-tools-ng",
    "depmod": "kmod",
    "zstd": "zstd",
    "setpriv": "util-linux",
    **{one.qemu: one.qemu_package for one in architecture.ALL},
}
"""Debian package of each program; the same names on Ubuntu."""


def find(name: str) -> str:
    """The full path of program `name`. Raises MissingTool, which names the package."""
    path = shutil.which(name, path=_PATH)
    if path is None:
        raise MissingTool(
            f"{name} is missing (Debian package {PACKAGES.get(name, name)}): run `tcptutor setup`"
        )
    return path
