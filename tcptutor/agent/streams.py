"""TCP flows as threads of one process: each writes as iperf3 does, and its receiver takes in all that comes."""

from __future__ import annotations

import array
import contextlib
import fcntl
import mmap
import os
import socket
import struct
import termios
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

from tcptutor.agent.flow_process import FlowProcess, Gate
from tcptutor.agent.group import Group
from tcptutor.agent.network import Host, network_of
from tcptutor.base.errors import LabError
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


class _Stage(IntEnum):
    """How far a flow has come."""

    BEGUN = 0
    CONNECTED = 1
    SENT = 2
    """All of a fixed amount has been written."""


class _Flow:
    """A connection's sending end, and what its thread tells the agent of it."""

    NUMBERS = 2
    """Shared by both processes: its stage, and the number of the error that ended it before its time, or 0."""

    def __init__(self, end: socket.socket, told: memoryview) -> None:
        """`told`: NUMBERS integers of shared memory."""
        self.socket, self._told = end, told

    def reach(self, stage: _Stage) -> None:
        """Called by its thread."""
        self._told[0] = stage

    def fail(self, error: OSError) -> None:
        """Called by its thread."""
        self._told[1] = error.errno or 0

    @property
    def connected(self) -> bool:
        return self._told[0] >= _Stage.CONNECTED

    @property
    def error(self) -> str:
        """What ended it before its time; empty for nothing."""
        return os.strerror(self._told[1]) if self._told[1] else ""

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it: it failed, or the other end has acknowledged all."""
        return bool(self.error) or (self._told[0] == _Stage.SENT and not self._unacknowledged())

    def _unacknowledged(self) -> int:
        """Bytes."""
        count = array.array("i", [0])
        # SIOCOUTQ of linux/sockios.h has the number of the terminals' TIOCOUTQ.
        fcntl.ioctl(self.socket, termios.TIOCOUTQ, count)
        return count[0]


@dataclass
class StreamGroup(Group):
    """TCP flows. Owns their sending sockets, and the one at which the receiving ends connect."""

    process: FlowProcess = field(kw_only=True)
    """Where their threads are, with those of other groups."""
    _flows: list[_Flow] = field(default_factory=list)
    _listener: socket.socket | None = None
    _may_connect: Gate = field(init=False)
    _may_send: Gate = field(init=False)

    def __post_init__(self) -> None:
        self._may_connect, self._may_send = self.process.gate(), self.process.gate()

    @property
    def _algorithm(self) -> bytes:
        return self.experiment.algorithm(self.flows[0]).encode()

    def prepare(self) -> None:
        try:
            self._listener = listener = self._socket(self.receiver)
            listener.bind((self.receiver.address, self.port))
            listener.listen(len(self.flows))
        except OSError as error:
            where = f"port {self.port} of {self.receiver.name}"
            raise LabError(f"nothing can listen at {where} ({error.strerror}): {self.remedy}") from error
        for _ in self.flows:
            self.process.add(partial(self._receive, listener))
        size = _Flow.NUMBERS
        told = memoryview(mmap.mmap(-1, 4 * size * len(self.flows))).cast("i")
        for place, (_, address) in enumerate(self.addresses):
            try:
                flow = _Flow(self._socket(self.sender), told[size * place : size * (place + 1)])
                self._flows.append(flow)
                if (rate := self.experiment.flows.pacing) is not None:
                    paced = _PACING_RATE.pack(round(rate) // 8)
                    flow.socket.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, paced)
                flow.socket.bind((address.source, address.source_port))
            except OSError as error:
                where = f"port {address.source_port} of {self.sender.name}"
                raise LabError(f"nothing can send from {where} ({error.strerror}): {self.remedy}") from error
            self.process.add(partial(self._send, flow))

    @property
    def prepared(self) -> bool:
        return self._listener is not None

    def connect(self) -> None:
        self._may_connect.open()

    @property
    def connected(self) -> bool:
        return bool(self._flows) and all(flow.connected for flow in self._flows)

    def send(self) -> None:
        self._may_send.open()

    @property
    def ended(self) -> bool:
        return self.process.ended or (bool(self._flows) and all(flow.ended for flow in self._flows))

    @property
    def failure(self) -> str:
        for flow, number in zip(self._flows, self.flows, strict=False):
            if flow.error:
                what = "ended" if flow.connected else "does not connect"
                return f"flow {number + 1} of {self.sender.name} {what} ({flow.error}): {self.remedy}"
        return f"the flows' process ended: {self.remedy}" if self.process.ended else ""

    def stop(self) -> None:
        for flow in self._flows:
            flow.socket.close()
        if self._listener is not None:
            self._listener.close()

    def _socket(self, host: Host) -> socket.socket:
        """Return a socket of `host` with every option that a handshake agrees on or a listener hands down.

        A listener needs them before the SYN comes: without DCTCP it refuses ECN, and both ends do without.
        """
        with network_of(host.pid):
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # What a listener has, each of its connections has as well.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._algorithm)
        if (size := self.experiment.flows.buffer) is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        if (mss := self.experiment.hosts.mss) is not None:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        return made

    def _send(self, flow: _Flow) -> None:
        """A sender's thread: wait for the word, connect, wait once more, and write until it is over."""
        try:
            self._may_connect.wait()
            flow.socket.connect((self.receiver.address, self.port))
            flow.reach(_Stage.CONNECTED)
            self._may_send.wait()
            self._write(flow.socket)
            flow.reach(_Stage.SENT)
        except OSError as error:
            flow.fail(error)

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
            size = self.experiment.flows.length or len(_NEVER_READ)
            while end.recv_into(_NEVER_READ, size, _TAKEN):
                pass
