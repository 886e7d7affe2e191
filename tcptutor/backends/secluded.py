"""Starts a program as somebody who owns nothing on this machine and can write none of its files, and yet has a
namespace's full rights: what a shell on a lab host gets when root starts the lab.

`python -m tcptutor.backends.secluded HOME PARENT PROGRAM ...`, by root, in a mount namespace of its own whose mounts
are private. The new user namespace maps its root to a user that this machine does not have, and the mounts that are
made before cannot be changed from inside it (user_namespaces(7), mount_namespaces(7)).
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
"""The users and groups that become 0, 1 ... inside: neither the system's nor those given to containers
(systemd's "Users, Groups, UIDs and GIDs")."""
_NOBODY = 65534
"""What becomes 0 where this root may not give those: in a container."""
_EMPTY = ("/tmp", "/run", "/var/tmp", "/dev/shm")  # noqa: S108  (they are hidden, not used)
"""Folders in which others' files and sockets are: memory of the program's own is laid over them."""
_KERNELS = ("/proc", "/sys")
"""Their files are root's, and whoever is nobody writes none. A lab host gets a /sys of its own only where that which is
there may be written."""

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_BIND = 4096
_PR_SET_PDEATHSIG = 1
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE, _RDONLY = -100, 0x8000, 1
"""linux/sched.h, sys/mount.h, sys/prctl.h, and linux/mount.h: from Linux 5.12 on."""
_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """struct mount_attr."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns"))


def command(home: str) -> list[str]:
    """What stands before a program; `home`, an empty folder there, is where it may write."""
    python = [sys.executable, "-m", "tcptutor.backends.secluded"]
    return ["unshare", "--mount", "--propagation=private", "--", *python, home, str(os.getpid())]


def _checked(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _needed() -> set[Path]:
    """The folders of the running Python and of its modules."""
    told = {
        sys.prefix,
        sys.base_prefix,
        *filter(os.path.isabs, sys.path),
        str(Path(tcptutor.__file__).parents[1]),
    }
    python = Path(sys.executable)
    told |= {str(python.parent), str(python.resolve().parent)}
    folders = {Path(name) for name in told} | {Path(name).resolve() for name in told}
    return {folder for folder in folders if folder.is_dir()}


def _covers(needed: Iterable[Path]) -> set[Path]:
    """What is to be laid over: `_EMPTY`, and those folders above a needed one that only their owner can go through."""
    closed = {
        above
        for folder in needed
        for above in folder.parents
        if not above.is_symlink() and not above.stat().st_mode & 0o001
    }
    found = closed | {Path(name) for name in _EMPTY if Path(name).is_dir() and not Path(name).is_symlink()}
    return {one for one in found if not found & set(one.parents)}


def _attributes(path: str, *, read_only: bool, recursive: bool = False) -> None:
    asked = _Attributes(_RDONLY if read_only else 0, 0 if read_only else _RDONLY, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    done = _libc.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, ctypes.byref(asked), ctypes.sizeof(asked)
    )
    _checked(int(done), f"mount_setattr {path}")


def close_off(owner: int) -> None:
    """Everything read-only in this mount namespace, but empty folders that belong to user and group `owner`.

    Where the way to Python leads through a folder that is only its owner's, that folder shows the way and no more.
    Raises OSError.
    """
    needed = sorted(_needed())
    covers = _covers(needed)
    inside = [folder for folder in needed if covers & set(folder.parents)]
    kept = [(folder, os.open(folder, os.O_PATH | os.O_CLOEXEC)) for folder in inside]
    for cover in sorted(covers):
        options = f"mode=0755,size=64m,uid={owner},gid={owner}".encode()
        _checked(_libc.mount(b"tmpfs", str(cover).encode(), b"tmpfs", 0, options), f"tmpfs on {cover}")
    for folder, fd in kept:
        if not folder.exists():
            folder.mkdir(parents=True)
            source = f"/proc/self/fd/{fd}".encode()
            _checked(_libc.mount(source, str(folder).encode(), None, _MS_BIND, None), f"bind {folder}")
        os.close(fd)
    _attributes("/", read_only=True, recursive=True)
    for name in {*_EMPTY} & {str(cover) for cover in covers}:
        _attributes(name, read_only=False)
        if name != "/run":
            Path(name).chmod(0o1777)
    for name in _KERNELS:
        with contextlib.suppress(OSError):
            _attributes(name, read_only=False)


def become(first: int) -> None:
    """Root of a new user namespace in which `first` and those after it, or nobody alone, are 0 and so on.

    Raises OSError. Only this process goes there: another, which stays, writes whom it maps.
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
    _checked(_libc.unshare(_CLONE_NEWUSER), "unshare")
    os.close(theirs)
    _, status = os.waitpid(helper, 0)
    if status:
        raise PermissionError(1, "this root may give no other users")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def _map(process: int, first: int) -> None:
    count = _IDS if first == _FIRST_ID else 1
    for name in ("gid_map", "uid_map"):
        Path("/proc", str(process), name).write_text(f"0 {first} {count}\n")


def _owner() -> int:
    """The first user to give: one of those that this root has."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, count = (int(word) for word in line.split())
        if inside <= _FIRST_ID and inside + count >= _FIRST_ID + _IDS:
            return _FIRST_ID
    return _NOBODY


def main() -> NoReturn:
    """As the module says. Ends with one line on standard error when this machine does not allow it."""
    home, parent, *program = sys.argv[1:]
    owner = _owner()
    try:
        close_off(owner)
        Path(home).mkdir(0o700)
        os.chown(home, owner, owner)
        os.chdir("/")
        become(owner)
    except OSError as error:
        sys.exit(f"this machine gives root no user namespaces to be nobody in ({error.strerror or error})")
    # A change of user takes the promise back that the kernel gave for the program that has started this one.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit(1)
    os.execvp(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main()
