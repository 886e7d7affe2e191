"""The programs that the guest needs on this machine, and where they are."""

from __future__ import annotations

import os
import platform
import shutil

from tcptutor.errors import LabUnavailable, MissingTool

_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
"""Debian leaves the sbin folders out of an ordinary user's PATH."""

ARCHITECTURES = {"x86_64": "amd64"}
"""Machine names as `uname -m` gives them, with Debian's names."""

PACKAGES = {
    "mmdebstrap": "mmdebstrap",
    "tar2sqfs": "squashfs-tools-ng",
    "depmod": "kmod",
    "zstd": "zstd",
    "setpriv": "util-linux",
    "qemu-system-x86_64": "qemu-system-x86",
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


def architecture() -> str:
    """Debian's name of this machine's architecture. Raises LabUnavailable for one we have no guest for."""
    machine = platform.machine()
    try:
        return ARCHITECTURES[machine]
    except KeyError:
        raise LabUnavailable(f"there is no guest for {machine} machines yet: use --backend host") from None
