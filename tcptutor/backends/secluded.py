"""Start a program as a user without rights on this machine, but with full capabilities in its own namespace.

A shell on a lab host runs so when root starts the lab.

`python -m tcptutor.backends.secluded HOME PARENT PROGRAM ...` is run by root in a mount namespace of its own with
private mounts. The new user namespace maps its root to a user id that this machine does not use, and the mounts made
before cannot be changed from inside it (user_namespaces(7), mount_namespaces(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import tcptutor

_FIRST_ID, _IDS = 1_900_000_000, 65536
"""Range of user and group ids mapped to 0, 1 ... inside: used neither by the system nor by containers (systemd's
"Users, Groups, UIDs and GIDs")."""
_NOBODY = 65534
"""User id mapped to 0 where root may not map `_FIRST_ID`: in a container."""
_EMPTY = ("/tmp", "/run", "/var/tmp", "/dev/shm")  # noqa: S108  (they are hidden, not used)
"""Folders with other users' files and sockets, covered by an empty tmpfs."""
_KERNELS = ("/proc", "/sys")
"""Kernel file systems that stay writable: their files belong to root, so an unprivileged user cannot write them. A
lab host gets a /sys of its own only where /sys is writable."""

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_BIND = 4096
_PR_SET_PDEATHSIG = 1
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE, _RDONLY = -100, 0x8000, 1
"""Constants of linux/sched.h, sys/mount.h, sys/prctl.h and linux/mount.h; mount_setattr(2) needs Linux 5.12."""
_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """struct mount_attr."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns"))


def command(home: str) -> list[str]:
    """Return the command prefix that secludes a program; `home` is an empty folder the program may write to."""
    python = [sys.executable, "-m", "tcptutor.backends.secluded"]
    return ["unshare", "--mount", "--propagation=private", "--", *python, home, str(os.getpid())]


def _check(result: int, action: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), f"{action}: {os.strerror(ctypes.get_errno())}")


def _python_folders() -> set[Path]:
    names = {
        sys.prefix,
        sys.base_prefix,
        *filter(os.path.isabs, sys.path),
        str(Path(tcptutor.__file__).parents[1]),
    }
    python = Path(sys.executable)
    names |= {str(python.parent), str(python.resolve().parent)}
    folders = {Path(name) for name in names} | {Path(name).resolve() for name in names}
    return {folder for folder in folders if folder.is_dir()}


def _covers(needed: Iterable[Path]) -> set[Path]:
    """Return the folders to cover: `_EMPTY`, and parents of a needed folder that only their owner can traverse."""
    closed = {
        above
        for folder in needed
        for above in folder.parents
        if not above.is_symlink() and not above.stat().st_mode & 0o001
    }
    covers = closed | {Path(name) for name in _EMPTY if Path(name).is_dir() and not Path(name).is_symlink()}
    return {cover for cover in covers if not covers & set(cover.parents)}


def _set_attributes(path: str, *, read_only: bool, recursive: bool = False) -> None:
    attributes = _Attributes(_RDONLY if read_only else 0, 0 if read_only else _RDONLY, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    result = _libc.syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        path.encode(),
        flags,
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )
    _check(int(result), f"mount_setattr {path}")


def make_read_only(owner: int) -> None:
    """Make the mount namespace read-only except for empty folders owned by user and group `owner`. Raises OSError.

    A parent folder of Python that only its owner can traverse is covered by a folder that leads to Python only.
    """
    needed = sorted(_python_folders())
    covers = _covers(needed)
    inside = [folder for folder in needed if covers & set(folder.parents)]
    descriptors = [(folder, os.open(folder, os.O_PATH | os.O_CLOEXEC)) for folder in inside]
    for cover in sorted(covers):
        options = f"mode=0755,size=64m,uid={owner},gid={owner}".encode()
        _check(_libc.mount(b"tmpfs", str(cover).encode(), b"tmpfs", 0, options), f"tmpfs on {cover}")
    for folder, fd in descriptors:
        if not folder.exists():
            folder.mkdir(parents=True)
            source = f"/proc/self/fd/{fd}".encode()
            _check(_libc.mount(source, str(folder).encode(), None, _MS_BIND, None), f"bind {folder}")
        os.close(fd)
    _set_attributes("/", read_only=True, recursive=True)
    for name in {*_EMPTY} & {str(cover) for cover in covers}:
        _set_attributes(name, read_only=False)
        if name != "/run":
            Path(name).chmod(0o1777)
    for name in _KERNELS:
        with contextlib.suppress(OSError):
            _set_attributes(name, read_only=False)


def enter_user_namespace(first: int) -> None:
    """Become root of a new user namespace in which 0 is mapped to `first`, with its range except for `_NOBODY`.

    A forked helper that stays outside writes the maps. Raises OSError when the namespace or its maps are refused.
    """
    ours, theirs = os.pipe()
    parent = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.close(theirs)
        os.read(ours, 1)
        status = 1
        with contextlib.suppress(OSError):
            _map(parent, first)
            status = 0
        os._exit(status)
    os.close(ours)
    os.setgroups([])
    _check(_libc.unshare(_CLONE_NEWUSER), "unshare")
    os.close(theirs)
    _, status = os.waitpid(helper, 0)
    if status:
        raise PermissionError(1, "root may not map other user ids here")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _map(process: int, first: int) -> None:
    count = _IDS if first == _FIRST_ID else 1
    for name in ("gid_map", "uid_map"):
        Path("/proc", str(process), name).write_text(f"0 {first} {count}\n")


def _first_mappable_id() -> int:
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, count = (int(word) for word in line.split())
        if inside <= _FIRST_ID and inside + count >= _FIRST_ID + _IDS:
            return _FIRST_ID
    return _NOBODY


def main() -> NoReturn:
    """Seclude the process and execute PROGRAM; exit with an error line when this machine forbids it."""
    home, parent, *program = sys.argv[1:]
    owner = _first_mappable_id()
    try:
        make_read_only(owner)
        Path(home).mkdir(0o700)
        os.chown(home, owner, owner)
        os.chdir("/")
        enter_user_namespace(owner)
    except OSError as error:
        sys.exit(f"root cannot drop its privileges in a user namespace here ({error.strerror or error})")
    # A change of user clears the death signal that setpriv(1) requested.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit(1)
    os.execvp(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main()
