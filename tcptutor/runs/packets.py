"""The packets of a run, in a pcapng file next to the run's: `ID.tcprun.pcapng` (draft-ietf-opsawg-pcapng).

The reader accepts our own files: little-endian, a single section, Ethernet, times in nanoseconds. A packet at instant t
of the run has the time of the run's start plus t.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tcptutor.base import files
from tcptutor.run import Run, frames
from tcptutor.run.bounds import LONGEST
from tcptutor.run.check import check_interface
from tcptutor.run.frames import CapturedPacket
from tcptutor.wire.protocol import CapturedPackets

SUFFIX = ".pcapng"
MAX_BYTES = 1 << 29
"""Largest size read, bytes: the most memory that a run may use for packets, doubled."""

_CAPTURE = files.FileKind(
    name="capture",
    most=MAX_BYTES,
    plain=1 << 24,
    times=1,  # captures are never compressed
    missing="run the experiment again with --set capture=on",
    unreadable="give a run whose packets you may read",
    damaged="run the experiment again with --set capture=on",
    large="run it again with a smaller capture_size",
)
_SECTION, _INTERFACE, _STATISTICS, _PACKET = 0x0A0D0D0A, 1, 5, 6
_ORDER = 0x1A2B3C4D
_ETHERNET = 1
_NANOSECONDS = 9
# Options: of every block, of a section, of an interface, of an interface's statistics.
_END, _COMMENT = 0, 1
_USER_APPLICATION = 4
_NAME, _RESOLUTION = 2, 9
_PASSED, _DROPPED = 4, 5
_HEAD = struct.Struct("<II")
_PACKET_HEAD = struct.Struct("<IIIII")
"""Interface, time (high and low 32 bits), captured bytes, bytes of the packet."""


def file_of(run_file: Path) -> Path:
    """Return the path of the packets of the run in `run_file`; the file may not exist."""
    return run_file.with_name(run_file.name + SUFFIX)


def begin_ns(run: Run) -> int:
    """Return the time of the run's instant 0, ns since 1970."""
    try:
        return round(datetime.fromisoformat(run.started).timestamp()) * 1_000_000_000
    except ValueError:
        return 0


def save(run: Run, pieces: Sequence[CapturedPackets], file: Path, elsewhere: str) -> None:
    """Write the packets in `pieces` next to the run's `file`. Raises TutorError when it cannot."""
    with files.atomic(file_of(file), elsewhere, private=True) as temporary, temporary.open("wb") as out:
        for block in _pcapng_of(run, pieces):
            out.write(block)


def _pcapng_of(run: Run, pieces: Sequence[CapturedPackets]) -> Iterator[bytes]:
    names = list(dict.fromkeys(piece.interface for piece in pieces))
    names += [each.interface for each in run.captured if each.interface not in names]
    start, snaplen = begin_ns(run), run.experiment.flows.snaplen
    packets = [
        # A host's clock may be wrong by more than the time since 1970.
        CapturedPacket(max(0, start + packet.ns - piece.began), names.index(piece.interface), *packet[1:])
        for piece in pieces
        for packet in frames.packets(piece.data, snaplen)
    ]
    packets.sort(key=lambda packet: packet.ns)
    dropped = {each.interface: each.dropped for each in run.captured}
    counts = dict.fromkeys(names, 0)
    for packet in packets:
        counts[names[packet.interface]] += 1
    interfaces_written = [CapturedInterface(name, counts[name], dropped.get(name, 0)) for name in names]
    return write_pcapng(interfaces_written, packets, snaplen, _comment(run))


def _comment(run: Run) -> str:
    return f"tcptutor run {run.id}, {run.experiment.name}; its traffic began at {run.started}"


def load(run: Run, run_file: Path) -> Iterator[tuple[float, str, CapturedPacket]]:
    """Read the packets of `run` in order of time.

    Returns:
        Tuples of instant (s since the traffic began), interface and packet.

    Raises:
        TutorError: The run has no packets, or the file is damaged.
    """
    with files.open_bounded(file_of(run_file), _CAPTURE) as data:
        names, packets = _read(data)
        start = begin_ns(run)
        found = [((packet.ns - start) / 1e9, names[packet.interface], packet) for packet in packets]
        if any(abs(t) > LONGEST for t, _, _ in found):
            raise ValueError("packet times outside the run")
    return iter(found)


def interfaces(run_file: Path) -> list[str]:
    """Return the captured interfaces of a run. Raises TutorError without packets or for a damaged file."""
    with files.open_bounded(file_of(run_file), _CAPTURE) as data:
        return _read(data)[0]


def _read(data: bytearray) -> tuple[list[str], Iterator[CapturedPacket]]:
    """Read and check a pcapng file. Raises ValueError for interface names that are unsafe in file names."""
    names, packets = read_pcapng(data)
    for name in names:
        check_interface(name)
    if len(set(names)) < len(names):
        raise ValueError("two interfaces with the same name")
    return names, packets


def of_interface(run: Run, run_file: Path, name: str) -> Iterator[bytes]:
    """Return a pcapng file with the packets of an interface, in pieces. Raises TutorError like `load`.

    With two interfaces every packet appears twice, and Wireshark would report the second as a retransmission.
    """
    found = [packet._replace(interface=0) for _, where, packet in load(run, run_file) if where == name]
    dropped = sum(each.dropped for each in run.captured if each.interface == name)
    interfaces_written = [CapturedInterface(name, len(found), dropped)]
    return write_pcapng(interfaces_written, found, run.experiment.flows.snaplen, _comment(run))


def remove_orphans(folder: Path) -> None:
    """Remove the packets of runs that are no longer in `folder`. Never raises."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"*.tcprun{SUFFIX}"):
            run_file = path.with_name(path.name.removesuffix(SUFFIX))
            if not run_file.exists() and not run_file.with_name(run_file.name + ".part").exists():
                path.unlink()


class CapturedInterface(NamedTuple):
    """A captured interface and its packet counts."""

    name: str
    packets: int = 0
    """Packets in the file."""
    dropped: int = 0
    """Packets dropped because the capture buffer was full."""


def write_pcapng(
    interfaces: Sequence[CapturedInterface], packets: Iterable[CapturedPacket], snaplen: int, comment: str
) -> Iterator[bytes]:
    """Yield the file in pieces. `packets` are in order of time."""
    section = struct.pack("<IHHq", _ORDER, 1, 0, -1)
    yield _block(_SECTION, section, {_COMMENT: comment.encode(), _USER_APPLICATION: b"tcptutor"})
    for each in interfaces:
        options = {_NAME: each.name.encode(), _RESOLUTION: bytes([_NANOSECONDS])}
        yield _block(_INTERFACE, struct.pack("<HHI", _ETHERNET, 0, snaplen), options)
    last = 0
    for packet in packets:
        last = packet.ns
        head = _PACKET_HEAD.pack(packet.interface, *_halves(last), len(packet.data), packet.length)
        yield _block(_PACKET, head + _padded(packet.data), {})
    for number, each in enumerate(interfaces):
        passed = each.packets + each.dropped
        counts = {_PASSED: struct.pack("<Q", passed), _DROPPED: struct.pack("<Q", each.dropped)}
        yield _block(_STATISTICS, struct.pack("<III", number, *_halves(last)), counts)


def _halves(ns: int) -> tuple[int, int]:
    return ns >> 32, ns & 0xFFFFFFFF


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes, options: dict[int, bytes]) -> bytes:
    for code, value in options.items():
        body += struct.pack("<HH", code, len(value)) + _padded(value)
    if options:
        body += struct.pack("<HH", _END, 0)
    length = len(body) + 12
    return _HEAD.pack(kind, length) + body + struct.pack("<I", length)


def read_pcapng(data: bytes | bytearray) -> tuple[list[str], Iterator[CapturedPacket]]:
    """Return the names of the interfaces, and the packets. Raises ValueError for damage, also while iterating."""
    blocks = _blocks(memoryview(data))
    kind, body = next(blocks, (0, memoryview(b"")))
    if kind != _SECTION or len(body) < 4 or struct.unpack_from("<I", body)[0] != _ORDER:
        raise ValueError("not a pcapng file of a little-endian machine")
    names = []
    for kind, body in _blocks(memoryview(data)):
        if kind == _INTERFACE:
            names.append(bytes(_options(body[8:]).get(_NAME, b"")).decode(errors="replace"))
    return names, (_packet(body, len(names)) for kind, body in blocks if kind == _PACKET)


def _blocks(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            raise ValueError(f"half a block at byte {at}")
        kind, length = _HEAD.unpack_from(data, at)
        if length < 12 or length % 4 or length > len(data) - at:
            raise ValueError(f"a block of {length} bytes at byte {at}")
        yield kind, data[at + 8 : at + length - 4]
        at += length


def _options(body: memoryview) -> dict[int, memoryview]:
    found, at = dict[int, memoryview](), 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == _END:
            break
        found[code] = body[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4
    return found


def _packet(body: memoryview, interfaces: int) -> CapturedPacket:
    if len(body) < _PACKET_HEAD.size:
        raise ValueError("half a packet")
    interface, high, low, kept, length = _PACKET_HEAD.unpack_from(body)
    if interface >= interfaces:
        raise ValueError(f"a packet of interface {interface}, of {interfaces}")
    begin = _PACKET_HEAD.size
    return CapturedPacket(high << 32 | low, interface, length, bytes(body[begin : begin + kept]))
