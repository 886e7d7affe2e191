"""Our own code for the guest: a small archive laid behind the image's, so that a change of it needs no new image."""

from __future__ import annotations

import hashlib
from pathlib import Path

import tcptutor
from tcptutor.backends.guest import cpio

_PACKAGE = Path(tcptutor.__file__).parent
_FILES = ("__init__.py", "errors.py", "units.py")
_ROOMS = ("lab", "lab/netlink", "lab/qdiscs", "lab/session", "run", "spec")

_START = """
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/agent/bin HOME=/tmp LC_ALL=C.UTF-8
export PYTHONPATH=/agent PYTHONDONTWRITEBYTECODE=1 PYTHON_COLORS=0
# Packages were extracted, not installed: what Debian's alternatives would link (which, awk) comes from busybox.
/usr/bin/mkdir -p /agent/bin && busybox --install -s /agent/bin
ip link set lo up
# Where bash looks for what it reads from another command.
ln -s /proc/self/fd /dev/fd
# Applications may ask for buffers larger than the documents print them. Not for more: the kernel takes the scale of
# every window from this maximum, and 1 GiB would have all of them in steps of 16 KiB.
for way in r w; do echo 16777216 > /proc/sys/net/core/${way}mem_max; done
for word in $(cat /proc/cmdline); do case $word in tcptutor.clock=*) clock=${word#*=};; esac; done
python3 -m tcptutor.lab.guest "$clock"
echo "the agent ended with $?"
echo o > /proc/sysrq-trigger
"""


def sources() -> list[Path]:
    """The files of ours that go into the guest."""
    rooms = [path for room in _ROOMS for path in sorted((_PACKAGE / room).glob("*.py"))]
    return [_PACKAGE / name for name in _FILES] + rooms


def archive() -> bytes:
    """The layer, ready to follow the image's archive."""
    entries = [
        cpio.folder("agent/tcptutor"),
        *(cpio.folder(f"agent/tcptutor/{room}") for room in _ROOMS),
        cpio.file("agent/start", _START.encode()),
    ]
    entries += [
        cpio.file(f"agent/tcptutor/{path.relative_to(_PACKAGE)}", path.read_bytes()) for path in sources()
    ]
    return cpio.archive(entries)


def key() -> str:
    """A key of the layer's content."""
    return hashlib.sha256(archive()).hexdigest()[:16]
