"""Packets of some interfaces, kept in the kernel's own memory until the run is over.

Each interface has a packet socket with a ring (packet(7), Documentation/networking/packet_mmap.rst) as large as the
bound: the kernel puts the first bytes of each packet there, and no process wakes for it while the traffic runs. What
comes when the ring is full is counted.
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
from tcptutor.spec import Experiment
from tcptutor.wire.frames import BLOCK, ring_shape, slot_size
from tcptutor.wire.protocol import CapturedPackets

# linux/if_packet.h and linux/if_ether.h; Python's socket module has no names for them.
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION = 263, 5, 6, 10
_TPACKET_V2 = 1
_ETH_P_ALL = 3
_ATTACH_FILTER = 26
_NONE = struct.pack("=HBBI", 0x06, 0, 0, 0)
"""A filter that takes no packet (linux/filter.h: struct sock_filter, BPF_RET of 0 bytes)."""
_REQUEST = struct.Struct("=IIII")
"""struct tpacket_req: bytes of a block, blocks, bytes of a place, places."""
_COUNTS = struct.Struct("=II")
"""struct tpacket_stats: packets that passed, those of them that found no room."""


class _Ring:
    """The packets of one interface; `close` it."""

    def __init__(self, interface: Interface, size: int, snaplen: int) -> None:
        """`size`: bytes at most. Raises LabError."""
        self.name = interface.name
        blocks, self._in_block = ring_shape(size, snaplen)
        self._passed = self._left_out = 0
        try:
            with network_of(interface.pid):
                # No protocol yet: nothing may come before there is a ring.
                self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except OSError as error:
            raise LabError(f"no packets can be kept here ({error.strerror}): take capture=off") from error
        try:
            self._socket.setsockopt(_SOL_PACKET, _VERSION, struct.pack("=I", _TPACKET_V2))
            asked = _REQUEST.pack(BLOCK, blocks, slot_size(snaplen), blocks * self._in_block)
            self._socket.setsockopt(_SOL_PACKET, _RX_RING, asked)
            self._memory = mmap.mmap(self._socket.fileno(), blocks * BLOCK)
            self._socket.bind((interface.name, _ETH_P_ALL))
        except OSError as error:
            self._socket.close()
            raise LabError(
                f"the packets of {interface.name} cannot be kept ({error.strerror}): take a smaller capture_size,"
                " or capture=off"
            ) from error

    def end(self) -> CapturedAt:
        """Keep no more; what was kept. Call it once."""
        program = ctypes.create_string_buffer(_NONE)
        self._socket.setsockopt(
            socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("@HP", 1, ctypes.addressof(program))
        )
        counts = self._socket.getsockopt(_SOL_PACKET, _STATISTICS, _COUNTS.size)
        self._passed, self._left_out = _COUNTS.unpack(counts)
        return CapturedAt(interface=self.name, packets=self._passed - self._left_out, left_out=self._left_out)

    def blocks(self) -> Iterator[bytes]:
        """Those that hold packets, in order of time; after `end`."""
        kept = self._passed - self._left_out
        for start in range(0, -(-kept // self._in_block) * BLOCK, BLOCK):
            yield self._memory[start : start + BLOCK]

    def close(self) -> None:
        self._memory.close()
        self._socket.close()


class Capture:
    """The packets of all interfaces that an experiment asks for, from now on; `close` it."""

    def __init__(self, network: Network, experiment: Experiment) -> None:
        """Raises LabError."""
        names = experiment.captured_interfaces
        there = {interface.name: interface for interface in network.interfaces}
        self._rings: list[_Ring] = []
        # The packets' times are the wall clock's, those of a run the monotonic one's.
        self._wall = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            for name in names:
                size = experiment.flows.capture_size // len(names)
                self._rings.append(_Ring(there[name], size, experiment.flows.snaplen))
            undo.pop_all()

    def end(self, began: float) -> tuple[list[CapturedAt], Iterator[CapturedPackets]]:
        """What was kept, and the packets; `began` is the monotonic time of the traffic's start."""
        at = round(began * 1e9) + self._wall
        kept = [ring.end() for ring in self._rings]
        return kept, (
            CapturedPackets(ring.name, at, block) for ring in self._rings for block in ring.blocks()
        )

    def close(self) -> None:
        """Give the memory back; safe to call twice."""
        while self._rings:
            self._rings.pop().close()
