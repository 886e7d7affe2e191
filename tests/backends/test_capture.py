"""Packets that are kept of a run in the real guest, on the virtual clock, and the trace of the same run."""

from __future__ import annotations

import asyncio
import shutil
import struct
import subprocess
from contextlib import aclosing
from pathlib import Path

import pytest

from tcptutor.analysis.observed.sequence import sequence_of_packets
from tcptutor.backends.events import Recording
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.exchange import export
from tcptutor.run import Run, frames
from tcptutor.runs import packets
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import CapturedPackets
from tests.conftest import Build

pytestmark = pytest.mark.guest
PATH = {
    "rate": "10 Mbit/s",
    "delay": "20 ms",
    "loss": "1 %",
    "algorithm": "reno",
    "duration": "2 s",
    "warmup": "0",
    "acks": "on",
    "capture": "on",
}

SENT_AGAIN = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
"""Wireshark takes what is sent again soon after newer segments for one that was overtaken."""


async def played(
    guest: GuestBackend, experiment: Experiment, store: RunStore
) -> tuple[Run, list[CapturedPackets]]:
    recording = Recording(experiment, await guest.open())
    pieces = []
    store.begin(recording.run)
    async with aclosing(guest.run(experiment)) as events:
        async for event in events:
            recording.take(event)
            store.take(recording.run, event)
            if isinstance(event, CapturedPackets):
                pieces.append(event)
    store.finish(recording.run)
    store.finish_packets(recording.run)
    return recording.run, pieces


async def said(*command: str) -> str:
    """What a program prints."""
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    return done.stdout


def data_segments(run: Run, file: Path, interface: str) -> list[tuple[float, int, int]]:
    """Instant, sequence number and end of each segment with data that passed, of the flow that sends most."""
    found: dict[int, list[tuple[float, int, int]]] = {}
    for t, name, packet in packets.load(run, file):
        frame = packet.data
        if name != interface or frame[12:14] != b"\x08\0" or frame[23] != 6:
            continue
        whole, header = struct.unpack_from(">H", frame, 16)[0], (frame[14] & 15) * 4
        port, _, first, _, offset = struct.unpack_from(">HHIIB", frame, 14 + header)
        if payload := whole - header - (offset >> 4) * 4:
            found.setdefault(port, []).append((t, first, first + payload))
    return max(found.values(), key=len)


async def test_a_capture_is_the_run_packet_by_packet(
    guest: GuestBackend, build: Build, tmp_path: Path
) -> None:
    store = RunStore(tmp_path)
    run, pieces = await played(guest, build(**PATH), store)
    again, others = await played(guest, build(**PATH), store)
    # Two equal runs have equal captures, down to the kernel's own bytes.
    assert pieces == others
    assert again.samples == run.samples
    assert [one.interface for one in run.captured] == ["h1-eth0", "h2-eth0"]
    assert all(one.packets > 1000 and not one.dropped for one in run.captured)

    file = store.file(run.id)
    assert file is not None
    assert len(list(packets.load(run, file))) == sum(one.packets for one in run.captured)
    sent, arrived = (data_segments(run, file, name) for name in ("h1-eth0", "h2-eth0"))
    # What passed h1 and not h2 was dropped on the way, or is on the way at the end.
    assert len(sent) - len(arrived) >= int(run.fidelity.checks["random drops"]) > 5
    assert arrived[0][0] - sent[0][0] == pytest.approx(0.020, abs=0.001)
    # The trace's retransmissions are those of the packets, at the same instants, with the same bytes: two segments
    # that are sent again at once are one in the trace.
    begin, seen = sent[0][1], set[int]()
    twice = []
    for t, first, last in sent:
        if first in seen:
            twice.append((t, first - begin, last - begin))
        seen.add(first)
    assert len(twice) == run.samples[-1].retransmits > 5
    assert sum(last - first for _, first, last in twice) == sum(
        row.last - row.first for row in run.retransmissions
    )
    for t, first, last in twice:
        assert any(
            row.first <= first < last <= row.last and row.t == pytest.approx(t, abs=1e-4)
            for row in run.retransmissions
        )
    assert run.acks[-1].acked <= max(last for _, _, last in sent) - begin


@pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark here: apt-get install tshark")
async def test_wireshark_reads_what_was_kept(guest: GuestBackend, build: Build, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    wanted = build(**PATH | {"capture_at": "h1-eth0, s1-eth2", "snaplen": "78"})
    run, _ = await played(guest, wanted, store)
    file = store.file(run.id)
    assert file is not None
    kept = packets.file_of(file)
    told = await said("capinfos", "-M", str(kept))
    total = sum(one.packets for one in run.captured)
    assert f"Number of packets:   {total}" in told
    assert "Strict time order:   True" in told
    assert "inferred: 78 bytes" in told or "file hdr: 78 bytes" in told
    assert "Name = s1-eth2" in told
    assert "Name = h1-eth0" in told
    begin = packets.begin_ns(run) / 1e9
    files = [each.write() for each in export.export_files(run, file, "pcapng", None)]
    assert [each.name for each in files] == [f"{run.id}-h1-eth0.pcapng", f"{run.id}-s1-eth2.pcapng"]
    # Of one interface alone Wireshark sees as sent again what the sender's kernel counted.
    shown = ["-T", "fields", "-e", "frame.time_epoch", "-e", "tcp.srcport"]
    lines = await said("tshark", "-r", str(files[0]), "-Y", SENT_AGAIN, *shown)
    times = [float(line.split()[0]) - begin for line in lines.splitlines()]
    assert len(times) == run.samples[-1].retransmits
    assert times[0] == pytest.approx(run.retransmissions[0].t, abs=1e-4)


async def test_packets_without_room_are_counted(guest: GuestBackend, build: Build, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    short = {"capture_at": "h1-eth0", "capture_size": "1 MiB", "duration": "3 s", "loss": "0", "mss": "500"}
    run, pieces = await played(guest, build(**PATH | short), store)
    blocks, in_block = frames.ring_shape(1 << 20, 94)
    (one,) = run.captured
    assert one.packets == blocks * in_block == 32 * 204
    assert one.dropped > 100
    assert len(pieces) == blocks
    # What came last has no room, what came first is there.
    file = store.file(run.id)
    assert file is not None
    kept = list(packets.load(run, file))
    assert len(kept) == one.packets
    assert kept[-1][0] < run.experiment_s - 0.1


async def test_packets_go_when_their_run_does(guest: GuestBackend, build: Build, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run, _ = await played(guest, build(**PATH | {"duration": "1 s"}), store)
    file = store.file(run.id)
    assert file is not None
    store.recover()
    assert packets.file_of(file).exists()
    file.unlink()
    store.recover()
    assert not packets.file_of(file).exists()


@pytest.mark.parametrize("directions", ["forward", "reverse"])
async def test_each_flow_has_its_own_packets(
    guest: GuestBackend, build: Build, tmp_path: Path, directions: str
) -> None:
    """Flows of one algorithm are a group with consecutive ports, and one closes early."""
    store = RunStore(tmp_path)
    flows = {"streams": "4", "algorithms": "cubic, bbr", "changes": "1 s streams=3", "directions": directions}
    asked = PATH | {"loss": "0", "acks": "off", "duration": "1.5 s", "reverse_rate": "10 Mbit/s"} | flows
    run, _ = await played(guest, build(**asked), store)
    file = store.file(run.id)
    assert file is not None
    captured = [*packets.load(run, file)]
    for flow in range(4):
        found = sequence_of_packets(run, flow, captured)
        assert found is not None
        acked = [row.bytes_acked for row in run.samples if row.flow == flow][-1]
        assert found.acked[-1][1] == pytest.approx(acked, abs=20_000)
