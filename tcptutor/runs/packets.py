"""The packets of a run, in a file beside the run's: `ID.tcprun.pcapng`.

Their times are those of the run: what passed at its instant t has the time of the run's start and t.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from tcptutor.base import files
from tcptutor.run import Run
from tcptutor.run.check import LONGEST, check_interface
from tcptutor.runs import pcapng
from tcptutor.runs.pcapng import CapturedInterface, CapturedPacket
from tcptutor.wire import frames
from tcptutor.wire.protocol import CapturedPackets

SUFFIX = ".pcapng"
LARGEST = 1 << 29
"""Bytes of such a file that are read: the most memory that a run may keep packets in, and as much again."""

_CAPTURE = files.FileKind(
    name="capture",
    most=LARGEST,
    plain=1 << 24,
    times=1,  # we pack none
    missing="run the experiment again with --set capture=on",
    unreadable="give a run whose packets you may read",
    damaged="run the experiment again with --set capture=on",
    large="run it again with a smaller capture_size",
)


def file_of(run_file: Path) -> Path:
    """Where the packets of the run in `run_file` are, if they were kept."""
    return run_file.with_name(run_file.name + SUFFIX)


def begin_ns(run: Run) -> int:
    """The time that the packets' times of `run` count from, ns since 1970: that of the instant 0 of its chart."""
    try:
        return round(datetime.fromisoformat(run.started).timestamp()) * 1_000_000_000
    except ValueError:
        return 0


def save(run: Run, pieces: Sequence[CapturedPackets], file: Path, elsewhere: str) -> None:
    """Write the packets in `pieces` beside the run, whose file is `file`. Raises TutorError when it cannot."""
    with files.atomic(file_of(file), elsewhere, private=True) as beside, beside.open("wb") as out:
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
    left_out = {each.interface: each.left_out for each in run.captured}
    counts = dict.fromkeys(names, 0)
    for packet in packets:
        counts[names[packet.interface]] += 1
    there = [CapturedInterface(name, counts[name], left_out.get(name, 0)) for name in names]
    return pcapng.write(there, packets, snaplen, _comment(run))


def _comment(run: Run) -> str:
    return f"tcptutor run {run.id}, {run.experiment.name}; its traffic began at {run.started}"


def load(run: Run, run_file: Path) -> Iterator[tuple[float, str, CapturedPacket]]:
    """The packets of `run`: instant, s since the traffic began, interface, and packet; in order of time.

    Raises TutorError when none are kept, or the file is damaged.
    """
    with files.open_bounded(file_of(run_file), _CAPTURE) as data:
        names, packets = _read(data)
        start = begin_ns(run)
        found = [((packet.ns - start) / 1e9, names[packet.interface], packet) for packet in packets]
        if any(abs(t) > LONGEST for t, _, _ in found):
            raise ValueError("packets of another time than the run's")
    return iter(found)


def interfaces(run_file: Path) -> list[str]:
    """Those whose packets the run in `run_file` kept. Raises TutorError when none are kept, or the file is damaged."""
    with files.open_bounded(file_of(run_file), _CAPTURE) as data:
        return _read(data)[0]


def _read(data: bytearray) -> tuple[list[str], Iterator[CapturedPacket]]:
    """Raises ValueError for names that no interface has: files are named by them."""
    names, packets = pcapng.read(data)
    for name in names:
        check_interface(name)
    if len(set(names)) < len(names):
        raise ValueError("two interfaces of one name")
    return names, packets


def of_interface(run: Run, run_file: Path, name: str) -> Iterator[bytes]:
    """A pcapng file of one interface alone, in pieces. Raises TutorError like `load`.

    With two of them every packet is there twice, and Wireshark takes the second for one that was sent again.
    """
    found = [packet._replace(interface=0) for _, where, packet in load(run, run_file) if where == name]
    left_out = sum(each.left_out for each in run.captured if each.interface == name)
    there = [CapturedInterface(name, len(found), left_out)]
    return pcapng.write(there, found, run.experiment.flows.snaplen, _comment(run))


def remove_orphans(folder: Path) -> None:
    """Remove the packets of runs that are not in `folder` any more. Never raises."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"*.tcprun{SUFFIX}"):
            run_file = path.with_name(path.name.removesuffix(SUFFIX))
            if not run_file.exists() and not run_file.with_name(run_file.name + ".part").exists():
                path.unlink()
