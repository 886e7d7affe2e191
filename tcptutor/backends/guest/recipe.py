"""Contents of the guest: the recipe of its image, and the archives of the initial RAM disk (cpio(5), format "newc").

A large archive, the image, holds the system. A small archive with our own code, the layer, follows it, so that a
change of our code needs no new image; a changed recipe does.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import tcptutor
from tcptutor.backends import programs
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.base.errors import SetupError, quoted

SUITE = "trixie"
PACKAGES = (
    "base-files", "base-passwd", "bash", "bridge-utils", "busybox-static", "coreutils", "curl", "dash", "ethtool",
    "grep", "iperf3", "iptables", "iproute2", "iputils-ping", "jq", "kmod", "libc-bin", "mawk", "mininet", "mount",
    "mtr-tiny", "nano", "net-tools", "procps", "python3-minimal", "python3-msgspec", "python3-pyroute2", "sed",
    "tcpdump", "util-linux",
)  # fmt: skip
"""Debian packages besides the architecture's kernel."""

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""Debian's archive keys as installed by their package; apt on Ubuntu does not trust them by default."""

_LEFT_OUT = (
    "boot/", "usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/",
    "usr/share/bug/", "usr/share/perl", "usr/lib/systemd/", "usr/lib/udev/", "usr/share/zoneinfo/",
    "usr/share/mime/", "var/cache/", "var/lib/apt/", "var/lib/dpkg/", "usr/lib/{triplet}/perl",
    "usr/lib/{triplet}/systemd/", "usr/bin/perl", "usr/share/initramfs-tools/", "usr/share/python-wheels/",
    "usr/lib/python3/dist-packages/setuptools/", "usr/lib/python3/dist-packages/pkg_resources/",
    "usr/lib/python3/dist-packages/inflect", "usr/lib/python3/dist-packages/typeguard",
    "usr/lib/python3.13/test/", "usr/share/bash-completion/", "usr/share/keyrings/",
    # Settings of the build machine.
    "etc/apt/", "etc/hostname", "etc/resolv.conf", "var/log/",
)  # fmt: skip
MODULES = (
    "kernel/net/", "kernel/drivers/net/veth", "kernel/drivers/net/ifb", "kernel/drivers/net/dummy",
    "kernel/lib/", "kernel/crypto/",
)  # fmt: skip
"""Path prefixes of the kernel modules to include."""
MODULES_FIRST = ("kernel/drivers/block/loop.ko", "kernel/fs/squashfs/squashfs.ko")
"""Modules the RAM disk needs to mount the root."""

INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox insmod /loop.ko
/bin/busybox insmod /squashfs.ko
/bin/busybox mount -t squashfs -o loop,ro /root.sqfs /root
for folder in tmp run var/tmp agent; do /bin/busybox mount -t tmpfs none /root/$folder; done
/bin/busybox cp -r /agent/. /root/agent/
/bin/busybox mount -t devtmpfs dev /root/dev
/bin/busybox mkdir -p /root/dev/pts /root/dev/shm
/bin/busybox mount -t devpts -o ptmxmode=666 pts /root/dev/pts
/bin/busybox mount -t tmpfs shm /root/dev/shm
/bin/busybox mount -t proc proc /root/proc
/bin/busybox mount -t sysfs sys /root/sys
/bin/busybox umount /proc /dev
# A plain chroot would not do: entering a lab host's mount namespace would leave it again.
exec /bin/busybox switch_root /root /bin/sh /agent/start
"""
_PACKAGE = Path(tcptutor.__file__).parent
_SOURCES = (
    *(
        "base/__init__.py",
        "base/decoding.py",
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


def package_names(architecture: Architecture) -> list[str]:
    """Return the Debian packages of a guest of `architecture`."""
    return sorted([*PACKAGES, architecture.kernel_package])


def left_out(architecture: Architecture) -> tuple[str, ...]:
    """Return the path prefixes excluded from the root."""
    return tuple(path.format(triplet=architecture.triplet) for path in _LEFT_OUT)


def key(architecture: Architecture) -> str:
    """Return a hash of the recipe; a different key needs a new image."""
    parts = [package_names(architecture), left_out(architecture), MODULES, MODULES_FIRST, INIT]
    text = json.dumps([SUITE, *parts, architecture.name])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
"""Names and versions of packages (Debian Policy, sections 5.6.1 and 5.6.12)."""
_NO_VERSION = re.compile(r"E: Version '(?P<version>[^']*)' for '(?P<name>[^']*)' was not found")


def package_list(names: Iterable[str], versions: Mapping[str, str]) -> str:
    """Return mmdebstrap's list of packages: `names`, and the packages of `versions` pinned to these versions.

    Raises SetupError for an invalid name or version, which apt might take for an option or a file.
    """
    for name, version in versions.items():
        if not (_NAME.fullmatch(name) and _VERSION.fullmatch(version)):
            raise SetupError(
                f"{quoted(f'{name} {version}')} is not a Debian package: choose another run to rebuild its lab"
            )
    wanted = {**dict.fromkeys(names, ""), **versions}
    return ",".join(f"{name}={version}" if version else name for name, version in sorted(wanted.items()))


def parse_versions(files: Iterable[str]) -> dict[str, str]:
    """Return the version of each package from file names of the form NAME_VERSION_ARCHITECTURE.deb."""
    named = (file.removesuffix(".deb").split("_") for file in files if file.endswith(".deb"))
    return {name: version.replace("%3a", ":") for name, version, _ in named}


def tool_versions() -> dict[str, str]:
    """Return the version lines of the programs that affect the image's bytes."""
    versions = {}
    for name in ("tar2sqfs", "depmod"):
        done = subprocess.run([programs.find(name), "--version"], capture_output=True, text=True, check=False)
        versions[name] = next(iter(done.stdout.splitlines()), "")
    return versions


def failure_reason(log: Path) -> str:
    """Return the reason for a failed build from the tools' `log`: versions that are gone, or the last error."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    gone = [f"{found['name']} {found['version']}" for line in lines if (found := _NO_VERSION.match(line))]
    if gone:
        return f"no longer available from Debian: {', '.join(gone)}"
    messages = [line for line in lines if line.strip() and not line.startswith("I:")]
    errors = [line for line in messages if line.startswith(("E:", "Err:"))] or messages
    return errors[-1] if errors else ""


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
    # Without the version of tcptutor, a release whose lab is the same needs no new guest.
    code["agent/tcptutor/__init__.py"] = b""
    # The kernel creates no parent folders, so each folder precedes its files.
    folders = sorted({name.rpartition("/")[0] for name in code})
    entries = [*map(folder, folders), file("agent/start", _START.encode())]
    return archive([*entries, *(file(name, data) for name, data in code.items())])


def layer_key() -> str:
    """Return a hash of the layer's content."""
    return hashlib.sha256(layer()).hexdigest()[:16]
