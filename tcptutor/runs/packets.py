"""The packets of a run, in a file next to the run's: `ID.tcprun.pcapng`.

A packet at instant t of the run has the time of the run's start plus t.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from tcptutor.base import files
from tcptutor.run import Run, frames
from tcptutor.run.check import LONGEST, check_interface
from tcptutor.run.frames import CapturedPacket
from tcptutor.runs import pcapng
from tcptutor.runs.pcapng import CapturedInterface
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
        for block in _blocks(run, pieces):
            out.write(block)


def _blocks(run: Run, pieces: Sequence[CapturedPackets]) -> Iterator[bytes]:
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
    return pcapng.write(interfaces_written, packets, snaplen, _comment(run))


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
    names, packets = pcapng.read(data)
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
    return pcapng.write(interfaces_written, found, run.experiment.flows.snaplen, _comment(run))


def remove_orphans(folder: Path) -> None:
    """Remove the packets of runs that are no longer in `folder`. Never raises."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"*.tcprun{SUFFIX}"):
            run_file = path.with_name(path.name.removesuffix(SUFFIX))
            if not run_file.exists() and not run_file.with_name(run_file.name + ".part").exists():
                path.unlink()
