"""The initial RAM disk: concatenated cpio archives of format "newc" (cpio(5)).

A large archive, the image, holds the system. A small archive with our own code, the layer, follows it, so that a
change of our code needs no new image.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import tcptutor

_PACKAGE = Path(tcptutor.__file__).parent
_SOURCES = (
    *(
        "__init__.py",
        "base/__init__.py",
        "base/errors.py",
        "base/files.py",
        "base/printable.py",
        "base/units.py",
    ),
    *("agent/**/*.py", "wire/**/*.py", "run/**/*.py", "spec/**/*.py"),
)
"""Source files of tcptutor that the guest needs."""

_START = """
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/agent/bin HOME=/tmp LC_ALL=C.UTF-8
export PYTHONPATH=/agent PYTHONDONTWRITEBYTECODE=1 PYTHON_COLORS=0
# Packages were extracted, not installed: what Debian's alternatives would link (which, awk) comes from busybox.
/usr/bin/mkdir -p /agent/bin && busybox --install -s /agent/bin
ip link set lo up
# bash needs /dev/fd for process substitution.
ln -s /proc/self/fd /dev/fd
# Applications may request buffers larger than the defaults. Not larger than this: the kernel derives the scale of
# every window from this maximum, and 1 GiB would quantize all windows to steps of 16 KiB.
for way in r w; do echo 16777216 > /proc/sys/net/core/${way}mem_max; done
for word in $(cat /proc/cmdline); do case $word in tcptutor.clock=*) clock=${word#*=};; esac; done
python3 -m tcptutor.agent.guest "$clock"
echo "the agent ended with $?"
echo o > /proc/sysrq-trigger
"""


class ArchiveEntry(NamedTuple):
    """A file or folder of an archive."""

    name: str
    mode: int
    data: bytes


def file(name: str, data: bytes, permissions: int = 0o644) -> ArchiveEntry:
    """Return an entry for a regular file."""
    return ArchiveEntry(name, stat.S_IFREG | permissions, data)


def folder(name: str) -> ArchiveEntry:
    """Return an entry for a folder."""
    return ArchiveEntry(name, stat.S_IFDIR | 0o755, b"")


def archive(entries: Iterable[ArchiveEntry]) -> bytes:
    """Return the entries as an archive padded to a multiple of 512 bytes."""
    parts: list[bytes] = []
    for inode, entry in enumerate((*entries, ArchiveEntry("TRAILER!!!", 0, b"")), start=1):
        name = entry.name.encode() + b"\0"
        fields = (inode, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, 0, 0, len(name), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        parts += [_padded(header + name, 4), _padded(entry.data, 4)]
    return _padded(b"".join(parts), 512)


def _padded(data: bytes, multiple: int) -> bytes:
    return data + b"\0" * (-len(data) % multiple)


def layer() -> bytes:
    """Return the archive with our own code, to append to the image's."""
    paths = [path for pattern in _SOURCES for path in sorted(_PACKAGE.glob(pattern))]
    code = {f"agent/tcptutor/{path.relative_to(_PACKAGE)}": path.read_bytes() for path in paths}
    # The kernel creates no parent folders, so each folder precedes its files.
    folders = sorted({name.rpartition("/")[0] for name in code})
    entries = [*map(folder, folders), file("agent/start", _START.encode())]
    return archive([*entries, *(file(name, data) for name, data in code.items())])


def layer_key() -> str:
    """Return a hash of the layer's content."""
    return hashlib.sha256(layer()).hexdigest()[:16]
