"""TCP flows as threads of the agent: each writes as iperf3 does, and its receiver takes in all that comes.

Threads and no programs, for the sake of an emulated processor: each change of process empties what it knows of the
memory and of its translated code, and a flow's sender and receiver take turns at every segment.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import mmap
import socket
import struct
import termios
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tcptutor.errors import LabError
from tcptutor.lab.group import Group
from tcptutor.lab.network import Host, network_of
from tcptutor.spec import LENGTH

_SO_MAX_PACING_RATE = 47
"""asm-generic/socket.h"""
_PACING_RATE = struct.Struct("@L")
"""An unsigned long, bytes/s."""
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER: what was not sent yet is thrown away."""
_NEVER_READ = mmap.mmap(-1, 1 << 26)
"""Where received data would go; the kernel throws it away instead (MSG_TRUNC). Its size is what one call takes in: a
receiver leaves the kernel once in 64 MiB."""
_TAKEN = socket.MSG_WAITALL | socket.MSG_TRUNC


@dataclass
class _Flow:
    """A connection's sending end, and how far it has come."""

    socket: socket.socket
    connected: bool = False
    sent: bool = False
    """Whether all of a fixed amount has been written."""
    error: OSError | None = None
    """What ended it before its time."""

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it: it failed, or the other end has acknowledged all."""
        return self.error is not None or (self.sent and not self._unacknowledged())

    def _unacknowledged(self) -> int:
        """Bytes."""
        count = array.array("i", [0])
        # SIOCOUTQ of linux/sockios.h has the number of the terminals' TIOCOUTQ.
        fcntl.ioctl(self.socket, termios.TIOCOUTQ, count)
        return count[0]


@dataclass
class StreamGroup(Group):
    """TCP flows. Owns their sockets and threads."""

    _flows: list[_Flow] = field(default_factory=list)
    _sockets: list[socket.socket] = field(default_factory=list)
    """Those that wait for connections, and the receiving ends."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _may_send: threading.Event = field(default_factory=threading.Event)
    _stopped: bool = False

    @property
    def _algorithm(self) -> bytes:
        return self.experiment.algorithm(self.flows[0]).encode()

    def listen(self) -> None:
        try:
            listener = self._socket(self.receiver)
            self._sockets.append(listener)
            listener.bind((self.receiver.address, self.port))
            listener.listen(len(self.flows))
        except OSError as error:
            where = f"port {self.port} of {self.receiver.name}"
            raise LabError(f"nothing can listen at {where} ({error.strerror}): {self.remedy}") from error
        for _ in self.flows:
            self._begin(partial(self._receive, listener))

    @property
    def listening(self) -> bool:
        return bool(self._sockets)

    def connect(self) -> None:
        for _, address in self.addresses:
            try:
                sender = self._socket(self.sender)
                self._flows.append(_Flow(sender))
                sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._algorithm)
                if (rate := self.experiment.flows.pacing) is not None:
                    sender.setsockopt(
                        socket.SOL_SOCKET, _SO_MAX_PACING_RATE, _PACING_RATE.pack(round(rate) // 8)
                    )
                sender.bind((address.source, address.source_port))
            except OSError as error:
                where = f"port {address.source_port} of {self.sender.name}"
                raise LabError(f"nothing can send from {where} ({error.strerror}): {self.remedy}") from error
        for flow in self._flows:
            self._begin(partial(self._send, flow))

    @property
    def connected(self) -> bool:
        return bool(self._flows) and all(flow.connected for flow in self._flows)

    def send(self) -> None:
        self._may_send.set()

    @property
    def ended(self) -> bool:
        return bool(self._flows) and all(flow.ended for flow in self._flows)

    @property
    def failure(self) -> str:
        for flow, number in zip(self._flows, self.flows, strict=False):
            if flow.error is not None:
                what = "ended" if flow.connected else "does not connect"
                return (
                    f"flow {number + 1} of {self.sender.name} {what} ({flow.error.strerror}): {self.remedy}"
                )
        return ""

    def stop(self) -> None:
        self._stopped = True
        self._may_send.set()
        ends = [flow.socket for flow in self._flows] + self._sockets
        for end in ends:
            # A thread that waits in the kernel goes on by a shutdown, and not by a close.
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in [flow.socket for flow in self._flows] + self._sockets:
            end.close()

    def _socket(self, host: Host) -> socket.socket:
        """One of `host` as an application sets its end up."""
        with network_of(host.pid):
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if (size := self.experiment.flows.buffer) is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        if (mss := self.experiment.hosts.mss) is not None:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        return made

    def _begin(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _send(self, flow: _Flow) -> None:
        """A sender's thread: connect, wait for the word, and write until it is over."""
        try:
            flow.socket.connect((self.receiver.address, self.port))
            flow.connected = True
            self._may_send.wait()
            self._write(flow.socket)
            flow.sent = True
        except OSError as error:
            if not self._stopped:
                flow.error = error

    def _write(self, end: socket.socket) -> None:
        """All that a flow has to send; without a fixed amount it ends by an OSError."""
        data = memoryview(bytes(self.experiment.write or LENGTH))
        left = self.experiment.flows.bytes
        if left is None:
            while True:
                end.send(data)
        while left:
            left -= end.send(data[: min(left, len(data))])

    def _receive(self, listener: socket.socket) -> None:
        """A receiver's thread: one connection, all that comes."""
        with contextlib.suppress(OSError):
            end, _ = listener.accept()
            self._sockets.append(end)
            # After the handshake, as iperf3's server does: DCTCP's receiver answers marks in its own way.
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._algorithm)
            size = self.experiment.flows.length or len(_NEVER_READ)
            while end.recv_into(_NEVER_READ, size, _TAKEN):
                pass
