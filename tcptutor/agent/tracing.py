"""Per-packet trace of flows: congestion window and retransmissions from the kernel's tracepoints.

The tracepoints tcp:tcp_probe and tcp:tcp_retransmit_skb belong to the machine, not to a namespace. They need
root, and an own buffer (instance) separates them from other tracing.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
import time
from pathlib import Path

from tcptutor.agent.netlink import Address
from tcptutor.base.errors import KernelLacks
from tcptutor.run import AckSample, FlowBytes, Retransmission

_BUFFER_KB = 4096
_LINE = re.compile(
    rb"\s(\d+\.\d+): tcp_probe: .*?src=[\[:\]af.]*([\d.]+)\]?:(\d+) .*?snd_nxt=(?:0x)?([0-9a-f]+)"
    rb" snd_una=(?:0x)?([0-9a-f]+) snd_cwnd=(\d+) ssthresh=(\d+) snd_wnd=(\d+) srtt=(\d+)"
)
_RETRANSMIT = re.compile(rb"\s(\d+\.\d+): retransmit_\w+: .*?saddr=(\d+) sport=(\d+) seq=(\d+) end=(\d+)")
_TIME = re.compile(rb"\s(\d+\.\d+): ")
_LINES = 2048
"""Bytes at the end of a read that contain the last line's time."""
_RETRANSMIT_EVENT = (
    "tcp.tcp_retransmit_skb state=$state:s32 saddr=$saddr:u32 sport=$sport:u16"
    " seq=+40($skbaddr):u32 end=+44($skbaddr):u32"
)
"""Own event on the tracepoint, which lacks sequence numbers. They begin struct tcp_skb_cb (net/tcp.h), 40 bytes into
struct sk_buff (linux/skbuff.h: five pointers, or fields of the same size, precede `cb`)."""
_ESTABLISHED = 1
TRACEFS = Path("/sys/kernel/tracing")
_PREFIX = "tcptutor-"
_GROUP = "tcptutor"
_EVENT = "retransmit_"
_TRIES = 5


class Tracing:
    """Trace of the flows with these numbers, in its own instance of the kernel's trace buffers; `close` it.

    Raises KernelLacks, with the reason, where the tracepoint cannot be used.
    """

    def __init__(self, flows: dict[Address, int]) -> None:
        self._flows = {address[:2]: number for address, number in flows.items()}
        self._flow_bytes: dict[int, FlowBytes] = {}
        self._rest = b""
        self._pipe = -1
        self._instance: TraceInstance | None = None
        try:
            self._instance = instance = TraceInstance()
            instance.write("trace_clock", "mono")
            instance.write("buffer_size_kb", str(_BUFFER_KB))
            ports = [address.source_port for address in flows] or [0]
            instance.write("events/tcp/tcp_probe/filter", f"sport >= {min(ports)} && sport <= {max(ports)}")
            instance.write("events/tcp/tcp_probe/enable", "1")
            self._trace_retransmissions(instance, min(ports), max(ports))
            self._pipe = os.open(instance.folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.close()
            raise KernelLacks(
                f"this kernel's tcp_probe cannot be traced here ({error.strerror}): take acks=off, or --backend guest"
            ) from error

    def _trace_retransmissions(self, instance: TraceInstance, first: int, last: int) -> None:
        """Trace the ports `first` to `last`; without effect in a kernel without CONFIG_PROBE_EVENTS."""
        with contextlib.suppress(OSError):
            instance.define(_RETRANSMIT_EVENT)
            condition = f"state == {_ESTABLISHED} && sport >= {first} && sport <= {last}"
            instance.write(f"events/{instance.event}/filter", condition)
            instance.write(f"events/{instance.event}/enable", "1")

    def take(self, began: float) -> tuple[list[AckSample], list[Retransmission]]:
        """Return the records since the last call; `began` is the traffic's start on the monotonic clock."""
        lines, _, self._rest = self._read(time.monotonic()).rpartition(b"\n")
        acks, retransmissions = list[AckSample](), list[Retransmission]()
        for line in lines.splitlines():
            if match := _LINE.search(line):
                flow = self._flows.get((match[2].decode(), int(match[3])))
                if flow is not None:
                    acks.append(self._ack(flow, began, match))
            elif match := _RETRANSMIT.search(line):
                source = socket.inet_ntoa(struct.pack("=I", int(match[2])))
                flow = self._flows.get((source, int(match[3])))
                if flow is not None:
                    first, last = (
                        self._bytes(flow, int(match[at])).at(int(match[at]), onward=False) for at in (4, 5)
                    )
                    retransmissions.append(
                        Retransmission(flow, round(float(match[1]) - began, 6), first, last)
                    )
        return acks, retransmissions

    def _read(self, until: float) -> bytes:
        """Read the trace up to time `until`, and some of the newer records.

        Flows may trace faster than this reads, so it does not wait for the end.
        """
        text = bytearray(self._rest)
        while True:
            try:
                more = os.read(self._pipe, 1 << 16)
            except OSError as error:
                if error.errno == errno.EAGAIN:
                    break
                raise
            text += more
            # A read returns whole lines if at least one fits.
            times = _TIME.findall(more[-_LINES:])
            if not more or (times and float(times[-1]) >= until):
                break
        return bytes(text)

    def _bytes(self, flow: int, number: int) -> FlowBytes:
        """Return the byte counter of `flow`, starting at the sequence number `number` for a new flow."""
        return self._flow_bytes.setdefault(flow, FlowBytes(number))

    def _ack(self, flow: int, began: float, match: re.Match[bytes]) -> AckSample:
        sent, acked = int(match[4], 16), int(match[5], 16)
        cwnd, ssthresh, window, srtt = (int(match[at]) for at in (6, 7, 8, 9))
        flow_bytes = self._bytes(flow, acked)
        return AckSample(
            flow,
            round(float(match[1]) - began, 6),
            cwnd,
            min(ssthresh, 0x7FFFFFFF),
            srtt * 1e-6,
            flow_bytes.at(acked),
            flow_bytes.at(sent, onward=False),
            window,
        )

    @property
    def lost(self) -> int:
        """Events that did not fit into the buffer."""
        lost = 0
        if self._instance is None:
            return lost
        with contextlib.suppress(OSError):
            for cpu in self._instance.folder.glob("per_cpu/cpu*/stats"):
                for line in cpu.read_text().splitlines():
                    if line.startswith(("overrun:", "dropped events:")):
                        lost += int(line.rpartition(":")[2])
        return lost

    def close(self) -> None:
        """Stop tracing and release the buffers; safe to call twice."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._instance is not None:
            self._instance.close()


class TraceInstance:
    """Instance of the kernel's trace buffers, and its lock; `close` it. Raises OSError if it cannot be created."""

    def __init__(self) -> None:
        remove_dead()
        self._lock = -1
        for _ in range(_TRIES):
            self._token = os.urandom(6).hex()
            self.folder = TRACEFS / "instances" / f"{_PREFIX}{self._token}"
            self.folder.mkdir()
            # Until the folder is locked, another program may remove it as abandoned.
            with contextlib.suppress(OSError):
                self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if self.folder.exists():
                        return
                except OSError:
                    os.close(self._lock)
                    raise
                os.close(self._lock)
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    @property
    def event(self) -> str:
        """Name of the instance's own event, below `events`."""
        return f"{_GROUP}/{_EVENT}{self._token}"

    def define(self, event: str) -> None:
        """Define the instance's event, such as "tcp.tcp_retransmit_skb state=$state:s32". Raises OSError."""
        _define(f"e:{self.event} {event}")

    def write(self, name: str, value: str) -> None:
        (self.folder / name).write_text(value)

    def close(self) -> None:
        """Release the buffers; safe to call twice. Close all files opened in the instance first."""
        if self._lock >= 0:
            _remove(self.folder)
            os.close(self._lock)
            self._lock = -1


def mount() -> None:
    """Mount the kernel's tracing files in this mount namespace, if permitted."""
    try:
        is_mounted = (TRACEFS / "events").exists()
    except PermissionError:
        return  # mounted, but readable by root only
    if not is_mounted:
        ctypes.CDLL(None).mount(b"tracefs", str(TRACEFS).encode(), b"tracefs", 0, None)


def remove_dead() -> int:
    """Remove the instances and events of killed programs, and return the number of instances. Never raises."""
    removed = 0
    mount()
    with contextlib.suppress(OSError):
        for folder in TRACEFS.glob(f"instances/{_PREFIX}*"):
            removed += _remove_if_unlocked(folder)
        # An event is removed before its instance, so one without an instance is abandoned.
        for event in TRACEFS.glob(f"events/{_GROUP}/{_EVENT}*"):
            if not (TRACEFS / "instances" / f"{_PREFIX}{event.name.removeprefix(_EVENT)}").exists():
                with contextlib.suppress(OSError):
                    _define(f"-:{_GROUP}/{event.name}")
    return removed


def _remove_if_unlocked(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False  # just removed
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _remove(folder)
    except OSError:
        return False  # in use
    finally:
        os.close(lock)


def _remove(folder: Path) -> bool:
    """Remove an instance, and return whether it is gone. An enabled event or an open file would hold it."""
    event = f"{_GROUP}/{_EVENT}{folder.name.removeprefix(_PREFIX)}"
    with contextlib.suppress(OSError):
        (folder / "events" / "enable").write_text("0")
    with contextlib.suppress(OSError):
        _define(f"-:{event}")
    with contextlib.suppress(OSError):
        folder.rmdir()
        return True
    return False


def _define(event: str) -> None:
    # Python's append mode seeks first, which the kernel refuses here.
    events = os.open(TRACEFS / "dynamic_events", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(events, event.encode())
    finally:
        os.close(events)
