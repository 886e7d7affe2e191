"""Short flows next to the long ones: each connects, sends its payload and is over.

A pair's short flows share a thread that waits for all their sockets: threads would cost an emulated processor more than
their data.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from collections.abc import Iterator
from functools import partial

from tcptutor.agent.flow_process import FlowProcess
from tcptutor.agent.network import Host, Network, network_of
from tcptutor.agent.streams import RESET_AT_CLOSE
from tcptutor.agent.transfers import TransferTimes
from tcptutor.base.errors import LabError
from tcptutor.run.samples import TransferRecord
from tcptutor.spec import Experiment
from tcptutor.spec.short_flows import arrivals

PORT = 5100
"""Port of the first pair's receiver; other pairs use the following ports."""
_BACKLOG = 512
_LATE = 0.1
"""Time by which a short flow may begin late, s."""
_CHUNK = memoryview(bytes(1 << 16))
_SINK = bytearray(1 << 16)


class ShortFlows:
    """Short flows of a run. Call `prepare` before the process starts, and `stop` in any case."""

    def __init__(self, network: Network, experiment: Experiment, process: FlowProcess) -> None:
        self._network, self._experiment, self._process = network, experiment, process
        self._arrivals = arrivals(experiment)
        self._times = TransferTimes(len(self._arrivals))
        self._may_send = process.gate()
        self._listeners: list[socket.socket] = []

    def prepare(self) -> None:
        """Listen at the receivers. Raises LabError."""
        hosts = zip(self._network.senders, self._network.receivers, strict=True)
        for pair, (sender, receiver) in enumerate(hosts):
            places = [place for place, arrival in enumerate(self._arrivals) if arrival.pair == pair]
            try:
                with network_of(receiver.pid):
                    listener = self._socket(pair)
                self._listeners.append(listener)
                listener.bind((receiver.address, PORT + pair))
                listener.listen(_BACKLOG)
            except OSError as error:
                where = f"port {PORT + pair} of {receiver.name}"
                raise LabError(
                    f"cannot listen at {where} ({error.strerror}): run the experiment again"
                ) from error
            target = receiver.address, PORT + pair
            self._process.add(partial(self._run, pair, sender, target, listener, places))

    def send(self) -> None:
        """Begin the time in which the short flows arrive."""
        self._may_send.open()

    def transfers(self, began: float) -> list[TransferRecord]:
        """Return the short flows that have begun, in order of time; `began` is the start of the traffic, s."""
        found = []
        for place, arrival in enumerate(self._arrivals):
            start, end = self._times.of(place)
            if start is not None:
                seconds = None if end is None else round(end - start, 6)
                found.append(
                    TransferRecord(round(max(0.0, start - began), 6), arrival.pair, arrival.bytes, seconds)
                )
        return sorted(found, key=lambda transfer: transfer.t)

    def due(self, seconds: float) -> int:
        """Return the number of short flows that should have begun well before `seconds`."""
        return sum(arrival.at < seconds - _LATE for arrival in self._arrivals)

    def stop(self) -> None:
        """Release everything; safe to call twice."""
        while self._listeners:
            self._listeners.pop().close()
        self._times.close()

    def _socket(self, pair: int) -> socket.socket:
        """Return a socket with the options of the pair's long flows, in this thread's network."""
        experiment = self._experiment
        new = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        new.setblocking(False)
        new.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        new.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        algorithm = (
            experiment.pair_algorithm(pair) if experiment.flows.streams else experiment.hosts.algorithm
        )
        new.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        if (mss := experiment.hosts.mss) is not None:
            new.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        return new

    def _run(
        self, pair: int, sender: Host, target: tuple[str, int], listener: socket.socket, places: list[int]
    ) -> None:
        """Start each short flow when it is due, and serve the sockets of all that are under way."""
        with network_of(sender.pid):
            self._may_send.wait()
            began, due = time.monotonic(), iter(places)
            with select.epoll() as poll:
                loop = _Loop(poll, listener, self._times)
                following = next(due, None)
                while True:
                    timeout = -1.0
                    if following is not None:
                        timeout = began + self._arrivals[following].at - time.monotonic()
                        if timeout <= 0:
                            size = self._arrivals[following].bytes
                            loop.begin(following, self._socket(pair), target, size)
                            following = next(due, None)
                            continue
                    loop.serve(timeout)


class _Loop:
    """Sockets of the short flows under way in a thread."""

    def __init__(self, poll: select.epoll, listener: socket.socket, times: TransferTimes) -> None:
        self._poll, self._listener, self._times = poll, listener, times
        self._sending: dict[int, tuple[socket.socket, int]] = {}
        """Sender's socket and its bytes still to write, by file number."""
        self._receiving: dict[int, tuple[socket.socket, int, int]] = {}
        """Receiver's socket, number of the transfer and bytes still to come, by file number."""
        self._senders: dict[int, socket.socket] = {}
        """Sender's socket of each transfer under way."""
        self._places: dict[int, tuple[int, int]] = {}
        """Number of the transfer and its bytes, by the sender's port."""
        poll.register(listener, select.EPOLLIN)

    def begin(self, place: int, new: socket.socket, target: tuple[str, int], size: int) -> None:
        self._times.start(place, time.monotonic())
        if new.connect_ex(target) not in (0, errno.EINPROGRESS):
            new.close()
            return
        self._places[new.getsockname()[1]] = place, size
        self._senders[place] = new
        self._sending[new.fileno()] = new, size
        self._poll.register(new, select.EPOLLOUT)

    def serve(self, timeout: float) -> None:
        for number, _ in self._poll.poll(timeout):
            if number == self._listener.fileno():
                self._accept()
            elif number in self._sending:
                self._write(number)
            elif number in self._receiving:
                self._read(number)

    def _accept(self) -> None:
        for end, peer in _accepted(self._listener):
            end.setblocking(False)
            place, size = self._places.pop(peer[1], (-1, 0))
            if place < 0:
                end.close()
                continue
            self._receiving[end.fileno()] = end, place, size
            self._poll.register(end, select.EPOLLIN)

    def _write(self, number: int) -> None:
        end, left = self._sending[number]
        try:
            while left:
                left -= end.send(_CHUNK[: min(left, len(_CHUNK))])
        except BlockingIOError:
            self._sending[number] = end, left
            return
        except OSError:
            pass  # the kernel gave the connection up: the transfer never ends
        del self._sending[number]
        self._poll.unregister(number)

    def _read(self, number: int) -> None:
        end, place, left = self._receiving[number]
        try:
            while left:
                count = end.recv_into(_SINK, 0, socket.MSG_TRUNC)
                if not count:
                    break
                left -= count
        except BlockingIOError:
            self._receiving[number] = end, place, left
            return
        except OSError:
            left = -1
        if left == 0:
            self._times.end(place, time.monotonic())
        del self._receiving[number]
        self._poll.unregister(number)
        # Both ends reset the connection, so no port waits for late segments.
        end.close()
        self._senders.pop(place).close()


def _accepted(listener: socket.socket) -> Iterator[tuple[socket.socket, tuple[str, int]]]:
    while True:
        try:
            yield listener.accept()
        except OSError:
            return
