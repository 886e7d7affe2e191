"""Doing something inside a lab host's network namespace: sockets belong to the namespace they are opened in."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tcptutor.errors import LabError

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _setns(fd: int) -> None:
    # os.setns exists from Python 3.12 on; we start at 3.11.
    if _libc.setns(fd, _CLONE_NEWNET):
        code = ctypes.get_errno()
        raise LabError(f"cannot enter a lab host's network namespace: {os.strerror(code)}")


@contextmanager
def network_of(pid: int | None) -> Iterator[None]:
    """This thread in the network namespace of process `pid` (None: where it is) for the length of the block."""
    if pid is None:
        yield
        return
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _setns(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)
