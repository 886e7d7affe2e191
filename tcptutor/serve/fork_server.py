"""Fork server: forks app sessions from a process that has imported the app.

Forked sessions share the memory of modules and course, and start without importing them. The fork server has no
threads, so forking is safe. `serve.app_forks` is its client in the web server.
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

from tcptutor.base import decoding
from tcptutor.base.errors import refused

MAX_REQUEST = 65536
"""Largest request in bytes."""
GRACE = 10.0
"""Seconds until SIGKILL, for sessions after the web server has ended and for orphans of ended sessions."""
_LOOK_AGAIN = 0.5
"""Seconds between checks of processes that are due to end."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
"""linux/prctl.h"""


class StartFork(msgspec.Struct, frozen=True, tag=True):
    """Request to fork a session; stdin, stdout and stderr are attached to the message."""

    number: int
    environment: dict[str, str]
    folder: str
    """Working folder."""


class SignalFork(msgspec.Struct, frozen=True, tag=True):
    """Request to signal the process group of a session; no-op if it has ended."""

    number: int
    signal: int


Request: TypeAlias = StartFork | SignalFork


class ForkStarted(msgspec.Struct, frozen=True, tag=True):
    """Process id of a new session."""

    number: int
    pid: int


class ForkEnded(msgspec.Struct, frozen=True, tag=True):
    """Exit code of a session, negative for a signal. Its process group is empty."""

    number: int
    code: int
    problem: str = ""
    """Reason why the session failed to start or was lost; empty otherwise."""


Answer: TypeAlias = ForkStarted | ForkEnded


def wait_for_session(server: socket.socket) -> None:
    """Serve requests; return only in forked sessions. Exits after the web server and all sessions have ended.

    A session gets the environment, working folder and standard streams of its request, a new process group, and no
    other open file. The kernel kills the session if the fork server dies.
    """
    gc.collect()
    gc.freeze()  # otherwise a collection in a session writes to every shared page
    gc.collect()  # full collections now depend on the number of a session's own objects
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _ForkServer(server).run_until_fork()


def exit_session(code: int) -> NoReturn:
    """Exit this session without freeing its modules: unlike `sys.exit`, this copies no shared memory."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


class _ForkServer:
    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._ends_at = float("inf")
        """Deadline for killing all sessions, once the web server has ended."""
        self._pids: dict[int, int] = {}
        """Process ids of running sessions, by session number."""
        self._orphans: dict[int, float] = {}
        """Deadlines for killing the orphans of ended sessions, by process id."""
        self._selector = selectors.DefaultSelector()
        self._selector.register(server, selectors.EVENT_READ)
        self._decoder = decoding.msgpack_decoder(Request)

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
        """Handle a request; return True in a new session."""
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
            self._send(ForkEnded(start.number, 1, refused(error)))
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
            self._send(ForkStarted(start.number, pid))
        return False

    def _reap(self, pidfd: int, number: int) -> None:
        pid = self._pids.pop(number)
        _signal_group(pid, signal.SIGKILL)  # before `waitpid` frees the id for reuse
        _, status = os.waitpid(pid, 0)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        self._send(ForkEnded(number, os.waitstatus_to_exitcode(status)))
        self._find_orphans()

    def _send(self, answer: Answer) -> None:
        with contextlib.suppress(OSError):  # the server has ended
            self._server.send(msgspec.msgpack.encode(answer))

    def _signal_all(self, number: int) -> None:
        for pid in self._pids.values():
            _signal_group(pid, number)

    def _find_orphans(self) -> None:
        """Find orphans: processes that left their session's group and were adopted by this process."""
        for pid in _children(os.getpid()):
            if pid not in self._pids.values():
                self._orphans.setdefault(pid, time.monotonic() + GRACE)

    def _end_orphans(self) -> None:
        for pid, ends_at in tuple(self._orphans.items()):
            if time.monotonic() > ends_at:
                os.kill(pid, signal.SIGKILL)
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._orphans[pid]
                self._find_orphans()  # its children are orphans now


def _become_session(parent: int, start: StartFork, streams: list[int]) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)  # the fork server then adopts orphans only after the session ends
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
