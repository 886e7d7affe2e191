"""Processes of sessions, forked from a program that has imported the app: the side of the program.

A forked session shares the memory of modules and course with all others, and starts without importing them. The program
has no threads, so that a fork is safe. `serve.app_forks` is the side of the server.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, TypeAlias

import msgspec

from tcptutor.base.errors import refused

MAX_REQUEST = 65536
"""Largest request in bytes."""
GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL once the server has ended, and for processes that an ended session has left."""
_LOOK_AGAIN = 0.5
"""Seconds between two looks at processes that have to end."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
"""linux/prctl.h"""


class StartFork(msgspec.Struct, frozen=True, tag=True):
    """Fork a session; its standard input, output and error come with the message."""

    number: int
    environment: dict[str, str]
    folder: str
    """Working folder."""


class SignalFork(msgspec.Struct, frozen=True, tag=True):
    """Send a signal to the process group of a session; no-op if it has ended."""

    number: int
    signal: int


Request: TypeAlias = StartFork | SignalFork


class ForkStarted(msgspec.Struct, frozen=True, tag=True):
    """Process id of a session."""

    number: int
    pid: int


class ForkEnded(msgspec.Struct, frozen=True, tag=True):
    """Exit code of a session, negative for a signal. Its process group is empty."""

    number: int
    code: int
    problem: str = ""
    """Reason why it could not be started."""


Answer: TypeAlias = ForkStarted | ForkEnded


def wait_for_session(server: socket.socket) -> None:
    """Serve requests, and return in each new session only. Exits once the server and all sessions have ended.

    A session has the environment, working folder and standard streams of its request, a process group of its own and
    no other open file. The kernel kills it if this program dies.
    """
    gc.collect()
    gc.freeze()  # a collection in a session would write to every shared page
    gc.collect()  # Python waits for garbage of a quarter of what this leaves: of a session's own objects
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _ForkServer(server).run_until_fork()


def exit_session(code: int) -> NoReturn:
    """End this session without freeing its modules, as `sys.exit` would: that would copy all shared memory."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


class _ForkServer:
    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._ends_at = float("inf")
        """Time to kill all sessions, after the end of the server."""
        self._pids: dict[int, int] = {}
        """Process ids of the living sessions, by number."""
        self._orphans: dict[int, float] = {}
        """Processes that ended sessions have left, and when to kill them."""
        self._selector = selectors.DefaultSelector()
        self._selector.register(server, selectors.EVENT_READ)
        self._decoder = msgspec.msgpack.Decoder(Request)

    def run_until_fork(self) -> None:
        while self._is_serving or self._pids or self._orphans:
            timeout = _LOOK_AGAIN if self._orphans or not self._is_serving else None
            for key, _ in self._selector.select(timeout):
                if key.fileobj is self._server:
                    if self._take_request():
                        return
                else:
                    self._reap(key.fd, key.data)
            if time.monotonic() > self._ends_at:
                self._signal_all(signal.SIGKILL)
            self._end_orphans()
        os._exit(0)

    @property
    def _is_serving(self) -> bool:
        return self._ends_at == float("inf")

    def _take_request(self) -> bool:
        """Return True in a new session."""
        try:
            message, streams, _, _ = socket.recv_fds(self._server, MAX_REQUEST, 3)
        except ConnectionResetError:
            message, streams = b"", []
        if not message:
            self._ends_at = time.monotonic() + GRACE
            self._selector.unregister(self._server)
            self._signal_all(signal.SIGTERM)
            return False
        match self._decoder.decode(message):
            case StartFork() as start:
                return self._fork(start, streams)
            case SignalFork(number, name):
                if pid := self._pids.get(number):
                    _signal_group(pid, name)
        return False

    def _fork(self, start: StartFork, streams: list[int]) -> bool:
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self._tell(ForkEnded(start.number, 1, refused(error)))
            pid = -1
        if pid == 0:
            self._selector.close()
            self._server.close()
            _become_session(parent, start, streams)
            return True
        for stream in streams:
            os.close(stream)
        if pid > 0:
            with contextlib.suppress(OSError):  # the session does the same, and may have ended
                os.setpgid(pid, pid)
            self._pids[start.number] = pid
            self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, start.number)
            self._tell(ForkStarted(start.number, pid))
        return False

    def _reap(self, pidfd: int, number: int) -> None:
        pid = self._pids.pop(number)
        _signal_group(pid, signal.SIGKILL)  # while no other group can have this id
        _, status = os.waitpid(pid, 0)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        self._tell(ForkEnded(number, os.waitstatus_to_exitcode(status)))
        self._find_orphans()

    def _tell(self, answer: Answer) -> None:
        with contextlib.suppress(OSError):  # the server has ended
            self._server.send(msgspec.msgpack.encode(answer))

    def _signal_all(self, number: int) -> None:
        for pid in self._pids.values():
            _signal_group(pid, number)

    def _find_orphans(self) -> None:
        """Find the processes of ended sessions outside their groups: this program has adopted them."""
        for pid in _children(os.getpid()):
            if pid not in self._pids.values():
                self._orphans.setdefault(pid, time.monotonic() + GRACE)

    def _end_orphans(self) -> None:
        for pid, ends_at in tuple(self._orphans.items()):
            if time.monotonic() > ends_at:
                os.kill(pid, signal.SIGKILL)
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._orphans[pid]
                self._find_orphans()  # its children


def _become_session(parent: int, start: StartFork, streams: list[int]) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)  # so that the program adopts only what an ended session has left
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(int(file.name) for file in Path("/proc/self/fd").iterdir()) + 1)
    os.setpgid(0, 0)
    os.umask(0o077)
    os.chdir(start.folder)
    os.environ.clear()
    os.environ.update(start.environment)


def _children(parent: int) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                yield int(folder.name)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
