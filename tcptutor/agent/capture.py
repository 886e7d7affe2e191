"""Packet capture at some interfaces, held in kernel memory until the run is over.

Each interface has a packet socket with a ring of bounded size (packet(7), Documentation/networking/packet_mmap.rst).
The kernel stores the first bytes of each packet in the ring, so no process wakes up during the traffic. Packets that
arrive when the ring is full are counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import socket
import struct
import time
from collections.abc import Iterator

from tcptutor.agent.network import Interface, Network, network_of
from tcptutor.base.errors import LabError
from tcptutor.run import CapturedAt
from tcptutor.run.frames import BLOCK, ring_shape, slot_size
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import CapturedPackets

# linux/if_packet.h and linux/if_ether.h; Python's socket module does not define them.
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION = 263, 5, 6, 10
_TPACKET_V2 = 1
_ETH_P_ALL = 3
_ATTACH_FILTER = 26
_REJECT_ALL = struct.pack("=HBBI", 0x06, 0, 0, 0)
"""Filter that accepts no packet (linux/filter.h: struct sock_filter, BPF_RET of 0 bytes)."""
_REQUEST = struct.Struct("=IIII")
"""struct tpacket_req: bytes of a block, blocks, bytes of a slot, slots."""
_COUNTS = struct.Struct("=II")
"""struct tpacket_stats: packets seen, including the packets that the full ring missed."""


class _InterfaceCapture:
    """Captured packets of an interface, in a ring of at most `size` bytes; `close` it. Raises LabError."""

    def __init__(self, interface: Interface, size: int, snaplen: int) -> None:
        self.name = interface.name
        blocks, self._slots_per_block = ring_shape(size, snaplen)
        self._packets = self._missed = 0
        try:
            with network_of(interface.pid):
                # No protocol yet: packets must not arrive before the ring exists.
                self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except OSError as error:
            raise LabError(f"packets cannot be captured here ({error.strerror}): take capture=off") from error
        try:
            self._socket.setsockopt(_SOL_PACKET, _VERSION, struct.pack("=I", _TPACKET_V2))
            request = _REQUEST.pack(BLOCK, blocks, slot_size(snaplen), blocks * self._slots_per_block)
            self._socket.setsockopt(_SOL_PACKET, _RX_RING, request)
            self._memory = mmap.mmap(self._socket.fileno(), blocks * BLOCK)
            self._socket.bind((interface.name, _ETH_P_ALL))
        except OSError as error:
            self._socket.close()
            raise LabError(
                f"{interface.name} cannot be captured ({error.strerror}): take a smaller capture_size,"
                " or capture=off"
            ) from error

    def end(self) -> CapturedAt:
        """Stop capturing and return the counts. Call it once."""
        program = ctypes.create_string_buffer(_REJECT_ALL)
        self._socket.setsockopt(
            socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(program))
        )
        counts = self._socket.getsockopt(_SOL_PACKET, _STATISTICS, _COUNTS.size)
        total, self._missed = _COUNTS.unpack(counts)
        self._packets = total - self._missed
        return CapturedAt(interface=self.name, packets=self._packets, dropped=self._missed)

    def blocks(self) -> Iterator[bytes]:
        """Yield the blocks that hold packets, in order of time; call after `end`."""
        for start in range(0, -(-self._packets // self._slots_per_block) * BLOCK, BLOCK):
            yield self._memory[start : start + BLOCK]

    def close(self) -> None:
        self._memory.close()
        self._socket.close()


class Capture:
    """Capture at all interfaces that an experiment names, from construction on; `close` it. Raises LabError."""

    def __init__(self, network: Network, experiment: Experiment) -> None:
        names = experiment.captured_interfaces
        by_name = {interface.name: interface for interface in network.interfaces}
        self._captures: list[_InterfaceCapture] = []
        # Packets are stamped by the wall clock, runs by the monotonic clock.
        self._wall = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for name in names:
                size = experiment.flows.capture_size // len(names)
                self._captures.append(_InterfaceCapture(by_name[name], size, experiment.flows.snaplen))
            undo.pop_all()

    def end(self, began: float) -> tuple[list[CapturedAt], Iterator[CapturedPackets]]:
        """Stop capturing and return the counts and packets; `began` is the traffic's start on the monotonic clock."""
        at = round(began * 1e9) + self._wall
        counts = [capture.end() for capture in self._captures]
        packets = (
            CapturedPackets(capture.name, at, block)
            for capture in self._captures
            for block in capture.blocks()
        )
        return counts, packets

    def close(self) -> None:
        while self._captures:
            self._captures.pop().close()
