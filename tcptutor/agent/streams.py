"""TCP flows as threads of the flow process: each sender writes as iperf3 does, each receiver reads everything."""

from __future__ import annotations

import array
import contextlib
import fcntl
import mmap
import os
import signal
import socket
import struct
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import NoReturn

from tcptutor.agent.flow_group import Group
from tcptutor.agent.flow_process import FlowProcess, Gate
from tcptutor.agent.network import Host, network_of
from tcptutor.agent.transfers import TransferTimes
from tcptutor.base.errors import LabError
from tcptutor.run.samples import TransferRecord
from tcptutor.spec import LENGTH
from tcptutor.spec.frame_sizes import REQUEST

_SO_MAX_PACING_RATE = 47
"""asm-generic/socket.h"""
_TCP_NOTSENT_LOWAT = 25
"""include/uapi/linux/tcp.h. A send buffer that grew in slow start would otherwise hold seconds of data at the close."""
_MOST_UNSENT = 131_072
"""Unsent bytes of a flow from which its next write waits, if the run has an end."""
_PACING_RATE = struct.Struct("@L")
"""An unsigned long, bytes/s."""
RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER: discard unsent data."""
_CLOSE_AFTER_DATA = struct.pack("ii", 0, 0)
"""SO_LINGER: send everything and close."""
_SINK = mmap.mmap(-1, 1 << 26)
"""Nominal buffer for received data, which the kernel discards (MSG_TRUNC). Its size lets a receiver return from the
kernel only once per 64 MiB."""
_DISCARD = socket.MSG_WAITALL | socket.MSG_TRUNC


MOST_REQUESTS = 4000
"""Largest number of requests that a group of flows records; after them its clients ask no more."""


class _Stage(IntEnum):
    NEW = 0
    CONNECTED = 1
    SENT = 2
    """All of a fixed amount of data has been written."""


class _Flow:
    """Sending end of a connection, and the status of its thread in shared memory."""

    NUMBERS = 2
    """Shared integers: the stage, and the errno of a failure or 0."""

    def __init__(self, end: socket.socket, status: memoryview) -> None:
        self.socket, self._status = end, status
        self.is_closed = False
        """Whether the sender has closed the connection as planned."""

    def reach(self, stage: _Stage) -> None:
        self._status[0] = stage

    def close(self) -> None:
        """Close the connection after the data already written, unless it has failed."""
        if not self.error:
            self.is_closed = True
            # A connection that is not yet there is given up instead.
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)

    def fail(self, error: OSError) -> None:
        self._status[1] = error.errno or 0

    @property
    def connected(self) -> bool:
        return self._status[0] >= _Stage.CONNECTED

    @property
    def error(self) -> str:
        """Failure that ended the flow; empty for none. A closed flow's next write fails as planned."""
        return os.strerror(self._status[1]) if self._status[1] and not self.is_closed else ""

    @property
    def ended(self) -> bool:
        """True once the flow has failed or was closed, or its receiver has acknowledged all data."""
        return (
            bool(self.error)
            or self.is_closed
            or (self._status[0] == _Stage.SENT and not self._unacknowledged_bytes())
        )

    def _unacknowledged_bytes(self) -> int:
        count = array.array("i", [0])
        # SIOCOUTQ (linux/sockios.h) is the same number as the terminals' TIOCOUTQ.
        fcntl.ioctl(self.socket, termios.TIOCOUTQ, count)
        return count[0]


@dataclass
class StreamGroup(Group):
    """TCP flows. Owns their sending sockets and the listening socket of their receiver."""

    process: FlowProcess = field(kw_only=True)
    """Process of the threads, shared with other groups."""
    _flows: list[_Flow] = field(default_factory=list)
    _requests: list[TransferTimes] = field(default_factory=list)
    """Times of each flow's requests; empty without requests."""
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
            raise LabError(f"cannot listen at {where} ({error.strerror}): {self.remedy}") from error
        if self.experiment.request(self.flows[0]) is not None:
            self._requests = [TransferTimes(MOST_REQUESTS // len(self.flows)) for _ in self.flows]
        for _ in self.flows:
            self.process.add(partial(self._receive, listener, self._requests))
        size = _Flow.NUMBERS
        status = memoryview(mmap.mmap(-1, 4 * size * len(self.flows))).cast("i")
        for place, (_, address) in enumerate(self.addresses):
            try:
                flow = _Flow(self._socket(self.sender), status[size * place : size * (place + 1)])
                self._flows.append(flow)
                if (rate := self.experiment.flows.pacing) is not None:
                    pacing_rate = _PACING_RATE.pack(round(rate) // 8)
                    flow.socket.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, pacing_rate)
                if self.end is not None:
                    flow.socket.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _MOST_UNSENT)
                flow.socket.bind((address.source, address.source_port))
            except OSError as error:
                where = f"port {address.source_port} of {self.sender.name}"
                raise LabError(f"cannot send from {where} ({error.strerror}): {self.remedy}") from error
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

    @property
    def _open_flows(self) -> list[_Flow]:
        return [flow for flow in self._flows if not flow.is_closed]

    def close_flows(self) -> None:
        """Close all connections after the data already written."""
        for flow in self._flows:
            flow.close()

    def set_algorithm(self, name: str) -> None:
        """Set the congestion control of all connections from now on. Raises LabError."""
        for flow in self._open_flows:
            try:
                flow.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            except OSError as error:
                raise LabError(
                    f"the kernel refuses the algorithm {name} ({error.strerror}): {self.remedy}"
                ) from error

    @property
    def algorithms(self) -> set[str]:
        """Congestion controls of the connections, by the kernel's names."""
        raw = (
            flow.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16) for flow in self._open_flows
        )
        return {name.rstrip(b"\0").decode() for name in raw}

    def transfers(self, began: float) -> list[TransferRecord]:
        """Return the requests so far in order of time for each flow; `began` is the start of the traffic, s."""
        if (size := self.experiment.request(self.flows[0])) is None:
            return []
        return [
            TransferRecord(
                round(max(0.0, start - began), 6),
                flow,
                size,
                None if end is None else round(end - start, 6),
                True,
            )
            for flow, times in zip(self.flows, self._requests, strict=False)
            for start, end in map(times.of, range(times.most))
            if start is not None
        ]

    def stop(self) -> None:
        while self._requests:
            self._requests.pop().close()
        for flow in self._flows:
            flow.socket.close()
        if self._listener is not None:
            self._listener.close()

    def _socket(self, host: Host) -> socket.socket:
        """Return a socket of `host` with all options that a handshake negotiates or a listener passes on.

        A listener needs them before the SYN arrives: without DCTCP it declines ECN, and both ends go without.
        """
        with network_of(host.pid):
            new = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        new.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A listener passes these options on to its connections.
        new.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        new.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._algorithm)
        if (size := self.experiment.flows.buffer) is not None:
            new.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            new.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        if self.experiment.flows.nodelay:
            new.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if (mss := self.experiment.hosts.mss) is not None:
            new.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        return new

    def _send(self, flow: _Flow) -> None:
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
        """Send all data of a flow; without a fixed amount, until an OSError."""
        flow = self.flows[0]
        if (message := self.experiment.message(flow)) is not None:
            self._write_messages(end, message)
        if (on_time := self.experiment.on_time(flow)) is not None:
            self._write_and_pause(end, on_time)
        if (answer := self.experiment.request(flow)) is not None:
            self._answer(end, answer)
            return
        data = memoryview(bytes(self.experiment.write or LENGTH))
        left = self.experiment.flows.bytes
        if left is None:
            while True:
                end.send(data)
        while left:
            left -= end.send(data[: min(left, len(data))])

    def _write_messages(self, end: socket.socket, size: int) -> NoReturn:
        """Send a message every interval, at once if the time for it has passed, until an OSError."""
        message, due = bytes(size), time.monotonic()
        while True:
            end.sendall(message)
            due += self.experiment.flows.interval
            time.sleep(max(0.0, due - time.monotonic()))

    def _write_and_pause(self, end: socket.socket, seconds: float) -> NoReturn:
        """Write for `seconds`, pause, and write again, until an OSError."""
        data = memoryview(bytes(self.experiment.write or LENGTH))
        while True:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                end.send(data)
            time.sleep(self.experiment.flows.off_time)

    def _answer(self, end: socket.socket, size: int) -> None:
        """Send an answer for each request, until the client ends or an OSError."""
        answer = bytes(size)
        while len(end.recv(REQUEST, socket.MSG_WAITALL)) == REQUEST:
            end.sendall(answer)

    def _ask(self, end: socket.socket, size: int, times: TransferTimes) -> None:
        """Request `size` bytes, wait for all of them, think, and ask again."""
        request = bytes(REQUEST)
        for place in range(times.most):
            times.start(place, time.monotonic())
            end.sendall(request)
            left = size
            while left:
                count = end.recv_into(_SINK, min(left, len(_SINK)), _DISCARD)
                if not count:
                    return
                left -= count
            times.end(place, time.monotonic())
            time.sleep(self.experiment.flows.think_time)
        signal.pause()

    def _receive(self, listener: socket.socket, times: Sequence[TransferTimes]) -> None:
        with contextlib.suppress(OSError):
            end, peer = listener.accept()
            if (answer := self.experiment.request(self.flows[0])) is not None:
                self._may_send.wait()
                self._ask(end, answer, times[peer[1] - self.first_port])
            size = self.experiment.flows.length or len(_SINK)
            while end.recv_into(_SINK, size, _DISCARD):
                pass
            # The sender has closed: close as well, without a reset.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CLOSE_AFTER_DATA)
            end.close()
