"""QEMU with no more rights than emulation takes: no capabilities, none to be had, few system calls; as root, not even
the user's files.

What it needs comes by file descriptors: it could open nothing of the user's by name.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tcptutor.backends import ending, tools
from tcptutor.base.errors import LabUnavailable

SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
"""QEMU's own filter of system calls."""
NOBODY = 65534
"""User and group that own nothing (Debian's nobody and nogroup), whom QEMU becomes when root starts it."""

_NO_GAIN = ("--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all")
_NO_CAPABILITIES = (*_NO_GAIN, "--bounding-set=-all")
_ANOTHER_USER = (f"--reuid={NOBODY}", f"--regid={NOBODY}")
_GROUPS = "--clear-groups"
_LADDER = (
    (*_NO_CAPABILITIES, *_ANOTHER_USER, _GROUPS),
    # Root of a user namespace that maps no other user: outside of it that is an ordinary user.
    _NO_CAPABILITIES,
    # An ordinary user: the capabilities that it cannot gain cannot be struck off either.
    _NO_GAIN,
)
_KVM = Path("/dev/kvm")
_FILTERS = Path("/proc/sys/kernel/seccomp/actions_avail")


class Program(NamedTuple):
    """An installed QEMU, and what it can be confined by."""

    path: str
    version: str
    """The first line that it says of itself."""
    sandboxed: bool
    """Whether it, and this kernel, have the filter of system calls."""
    privileges: tuple[str, ...]
    """What setpriv(1) is told."""

    @property
    def as_nobody(self) -> bool:
        """Whether it becomes another user than who starts it."""
        return _ANOTHER_USER[0] in self.privileges


def program(name: str) -> Program:
    """The QEMU called `name`, tried once. Raises LabUnavailable when it is not there or does not start."""
    return _tried(tools.find(name), tools.find("setpriv"), os.geteuid())


@cache
def _tried(path: str, setpriv: str, user: int) -> Program:
    sandboxes = [SANDBOX, ()] if _FILTERS.exists() else [()]
    said = ""
    for sandbox in sandboxes:
        for privileges in _LADDER if user == 0 else _LADDER[1:]:
            command = [setpriv, *privileges, "--", path, *sandbox, "-version"]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
                )
            except OSError as error:
                raise LabUnavailable(f"QEMU does not start ({error}): try again") from error
            if done.returncode == 0 and done.stdout:
                return Program(path, done.stdout.splitlines()[0], bool(sandbox), privileges)
            said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise LabUnavailable(f"QEMU does not start ({said}): install it again, or try again")


def command(qemu: Program, arguments: list[str], *, parent: int, kvm: bool = False) -> list[str]:
    """What starts `qemu`, ended when `parent` ends. With `kvm` it keeps the group that may use that."""
    privileges = list(qemu.privileges)
    if kvm and _GROUPS in privileges and (group := _kvm_group()):
        privileges[privileges.index(_GROUPS)] = f"--groups={group}"
    sandbox = SANDBOX if qemu.sandboxed else ()
    return ending.ended_with(parent, [qemu.path, *sandbox, *arguments], privileges)


def _kvm_group() -> int:
    """The group that may use hardware virtualisation; 0 where there is none, or only root's own."""
    try:
        held = _KVM.stat()
    except OSError:
        return 0
    return held.st_gid if stat.S_IMODE(held.st_mode) & 0o060 == 0o060 else 0


@contextmanager
def handed(*parts: Path | bytes) -> Iterator[int]:
    """A descriptor of memory with the contents of `parts` one after the other, whose /proc/self/fd/N every user may
    open. Raises OSError."""
    fd = os.memfd_create("tcptutor-boot", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            for part in parts:
                file.write(part if isinstance(part, bytes) else part.read_bytes())
        yield fd
    finally:
        os.close(fd)
