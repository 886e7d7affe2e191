"""Packets beside a run's file, written out for Wireshark, and the sequence graph that is drawn of them."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import msgspec
import pytest

from tcptutor.analysis import capture_size, rtts_of_packets, sequence_of_acks, sequence_of_packets
from tcptutor.analysis.observed.sequence import segment
from tcptutor.base.errors import JournalError, TutorError, UsageError
from tcptutor.exchange import export
from tcptutor.exchange import run_chart as plots
from tcptutor.run import AckSample, AckTable, CapturedAt, Run, SampleTable, frames, load, save
from tcptutor.run.frames import CapturedPacket
from tcptutor.runs import packets
from tcptutor.runs.packets import CapturedInterface, read_pcapng, write_pcapng
from tcptutor.runs.store import RunStore
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.readout import cursor_view
from tcptutor.ui.widgets.readout.cursor import Cursor, TimeSpan
from tcptutor.ui.widgets.readout.inspection import Inspection
from tcptutor.wire.protocol import CapturedPackets, Samples
from tests.command import here as tcptutor
from tests.conftest import Build

from .places import RUNS

H1, H2 = b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"
SACK = bytes([1, 1, 5, 10])


def frame(
    there: bool, number: int, payload: int, acknowledges: int = 0, flags: int = 0x10, options: bytes = b""
) -> bytes:
    """Ethernet, IPv4 and TCP headers of a segment from h1's port 40000 to h2's 5201, or of one back."""
    ports, ends = ((40000, 5201), H1 + H2) if there else ((5201, 40000), H2 + H1)
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack(
        ">HHIIBBHHH", *ports, number % (1 << 32), acknowledges % (1 << 32), offset, flags, 500, 0, 0
    )
    whole = 20 + len(tcp) + len(options) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, whole, 0, 0, 64, 6, 0) + ends
    return b"\0" * 12 + b"\x08\x00" + ip + tcp + options


FIRST = (1 << 32) - 100
"""Its numbers begin again in the middle."""
TALK = [
    (-0.02, frame(True, FIRST - 1, 0, flags=0x02)),
    (0.00, frame(True, FIRST, 1000)),
    (0.01, frame(True, FIRST + 1000, 1000)),
    (0.02, frame(True, FIRST + 2000, 1000)),
    (0.05, frame(False, 7, 0, FIRST + 1000)),
    (0.06, frame(False, 7, 0, FIRST + 1000, options=SACK + struct.pack(">II", 1900, 2900))),
    (0.07, frame(True, FIRST + 1000, 1000)),
    (0.12, frame(False, 7, 0, FIRST + 3000)),
]  # fmt: skip


def pieces(
    interface: str, talk: list[tuple[float, bytes]] = TALK, began: int = 5_000_000_000
) -> CapturedPackets:
    """A block of the kernel's ring with these packets."""
    size, block = frames.slot_size(94), b""
    for t, data in talk:
        ns = began + round(t * 1e9)
        length = 14 + struct.unpack_from(">H", data, 16)[0]
        head = struct.pack("=IIIHHII", 1, length, len(data), 66, 80, ns // 10**9, ns % 10**9)
        block += (head.ljust(66, b"\0") + data).ljust(size, b"\0")
    return CapturedPackets(interface, began, block.ljust(frames.BLOCK, b"\0"))


@pytest.fixture
def run(build: Build) -> Run:
    run = load(RUNS / "four-lossy-streams.tcprun")
    run.experiment = build(capture="on", duration="2 s")
    run.flows, run.samples = run.flows[:1], SampleTable(row for row in run.samples if row.flow == 0)
    run.captured = [
        CapturedAt(interface="h1-eth0", packets=8, dropped=3),
        CapturedAt(interface="h2-eth0", packets=8),
    ]
    return run


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Path:
    """The run's file, with its packets beside it."""
    file = tmp_path / f"{run.id}.tcprun"
    save(run, file)
    packets.save(run, [pieces("h2-eth0"), pieces("h1-eth0")], file, "")
    return file


def test_packets_have_the_times_of_the_run_and_are_in_order(run: Run, kept: Path) -> None:
    found = list(packets.load(run, kept))
    assert [round(t, 9) for t, name, _ in found if name == "h1-eth0"] == [t for t, _ in TALK]
    assert [t for t, _, _ in found] == sorted(t for t, _, _ in found)
    assert found[0][2].ns == packets.begin_ns(run) - 20_000_000
    assert packets.interfaces(kept) == ["h2-eth0", "h1-eth0"]


def test_a_file_is_read_as_it_was_written() -> None:
    there = [CapturedInterface("h1-eth0", 2, 1)]
    wrote = [CapturedPacket(7, 0, 100, b"abc"), CapturedPacket(1 << 60, 0, 5, b"")]
    names, found = read_pcapng(b"".join(write_pcapng(there, wrote, 94, "a comment")))
    assert names == ["h1-eth0"]
    assert list(found) == wrote


def test_a_damaged_file_is_told_in_one_line(run: Run, kept: Path) -> None:
    file = packets.file_of(kept)
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) - 5], b"text", b"\0" * 40, whole[:4] + b"\xff" * 4 + whole[8:]):
        file.write_bytes(damaged)
        with pytest.raises(TutorError, match="is not a capture, or damaged") as told:
            list(packets.load(run, kept))
        assert "\n" not in str(told.value)


def test_each_interface_is_exported_to_a_file_of_its_own(run: Run, kept: Path, tmp_path: Path) -> None:
    made = tcptutor("export", "--pcap", str(kept), "-o", str(tmp_path / "x.pcapng"), "--json")
    files = [Path(name) for name in msgspec.json.decode(made.stdout)["files"]]
    assert [file.name for file in files] == ["x-h2-eth0.pcapng", "x-h1-eth0.pcapng"]
    names, found = read_pcapng(files[1].read_bytes())
    assert names == ["h1-eth0"]
    assert len(list(found)) == len(TALK)
    beside = export.export_files(run, kept, "pcapng", None)
    assert beside[0].write() == kept.with_name(f"{run.id}-h2-eth0.pcapng")


def test_a_run_without_packets_says_how_to_have_some(tmp_path: Path) -> None:
    made = tcptutor("export", "--format", "pcapng", str(RUNS / "four-lossy-streams.tcprun"))
    assert made.returncode == 1
    assert "has no captured packets: `tcptutor run EXPERIMENT --set capture=on`" in made.stderr
    assert made.stderr.count("\n") == 1


def test_a_full_disk_keeps_the_run_and_says_that_its_packets_are_lost(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path)
    store.begin(run)
    store.take(run, pieces("h1-eth0"))
    assert store.finish(run)

    def full(*_: object) -> None:
        raise TutorError("cannot write it: no space left on the device")

    monkeypatch.setattr(packets, "save", full)
    with pytest.raises(
        JournalError, match=r"the packets could not be saved, cannot write it.*; the run is kept"
    ):
        store.finish_packets(run)


def test_what_a_killed_program_had_of_packets_is_found(run: Run, tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.begin(run)
    store.take(run, Samples(1.0, tuple(run.samples[:4])))
    store.take(run, pieces("h1-eth0"))
    store._parts[run.id]._close()  # as the end of its process does
    RunStore(tmp_path).recover()
    (file,) = tmp_path.glob("*.tcprun")
    assert len(list(packets.load(load(file), file))) == len(TALK)


# The sequence graph


def test_the_graph_of_packets_has_what_was_sent_sent_again_acknowledged_and_sacked(
    run: Run, kept: Path
) -> None:
    graph = sequence_of_packets(run, 0, packets.load(run, kept))
    assert graph is not None
    assert [span[1:] for span in graph.sent] == [(0, 1000), (1000, 2000), (2000, 3000)]
    assert [(round(t, 6), *span) for t, *span in graph.retransmitted] == [(0.07, 1000, 2000)]
    assert [(round(t, 6), *span) for t, *span in graph.sacked] == [(0.06, 2000, 3000)]
    assert [(round(t, 6), value) for t, value in graph.acked] == [(0.05, 1000), (0.12, 3000)]
    assert graph.end == 3000


def test_the_chart_draws_them_too(run: Run, kept: Path) -> None:
    live = Live("", "", run, state="ended")
    history = History(2.0)
    history.follow(run)
    for file, letters in ((kept, ("R", "S")), (None, ())):
        into = Inspection(live, history, file)
        assert into.has_sequence == bool(letters)
        close = Cursor(0.06, TimeSpan(0.0, 2.0), 0, (TimeSpan(0.0, 0.2),), shows_sequence=True)
        title, *graph = [line.text for line in cursor_view.render(into, close, 100, 24)]
        for letter, word in (("S", "SACKed"), ("R", "retransmitted")):
            assert (word in title) == (letter in letters)
            assert any(letter in line[8:] for line in graph[:12]) == (letter in letters)
    packets.file_of(kept).unlink()
    assert Inspection(live, history, kept).sequence(close) is None


def test_the_graph_of_acks_says_what_each_packet_found_and_left(run: Run) -> None:
    rows = [(0.1, 0, 37), (0.2, 37, 3000), (0.3, 2000, 6000)]
    run.acks = AckTable([AckSample(0, t, 10, 20, 0.05, acked, sent, 5000) for t, acked, sent in rows])
    graph = sequence_of_acks(run, 0)
    assert graph is not None
    assert graph.sent == ((0.1, 0, 37), (0.2, 37, 3000), (0.3, 3000, 6000))
    # A row tells what held before its packet: the first packet acknowledged 37.
    assert graph.acked == ((0.1, 37), (0.2, 2000), (0.3, 2000))
    assert graph.window_end == ((0.1, 5037), (0.2, 7000), (0.3, 7000))
    assert not graph.sacked
    shown = graph.between(0.15, 0.25)
    assert shown.sent == ((0.2, 37, 3000),)
    assert shown.acked == ((0.15, 37), (0.2, 2000))


def test_a_trace_without_bytes_has_no_graph(run: Run) -> None:
    run.acks = AckTable([AckSample(0, 0.1, 10, 20, 0.05)])
    assert sequence_of_acks(run, 0) is None
    assert sequence_of_acks(run, 1) is None


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_frame_that_is_cut_short_is_no_segment(cut: int) -> None:
    whole = TALK[5][1]
    assert segment(0.0, CapturedPacket(0, 0, len(whole), whole[:cut])) is None or cut >= 54


def test_the_rtt_of_a_segment_ends_with_its_first_ack_or_sack(run: Run, kept: Path) -> None:
    # The second segment was retransmitted, and its ACK may be for either copy.
    found = rtts_of_packets(run, packets.load(run, kept))
    assert [(each.flow, round(each.t, 6), round(each.rtt, 6)) for each in found] == [
        (0, 0.0, 0.05),
        (0, 0.02, 0.04),
    ]


SCALED = bytes([1, 3, 3, 7])
"""The option of a SYN that shifts windows by 7."""


@pytest.mark.parametrize(
    ("ours", "theirs", "unit"), [(SCALED, SCALED, 128), (b"", SCALED, 1), (SCALED, b"", 1)]
)
def test_the_window_is_scaled_as_both_syns_say(
    run: Run, tmp_path: Path, ours: bytes, theirs: bytes, unit: int
) -> None:
    syns = [
        (-0.02, frame(True, FIRST - 1, 0, flags=0x02, options=ours)),
        (-0.01, frame(False, 6, 0, FIRST, flags=0x12, options=theirs)),
    ]
    file = tmp_path / "scaled.tcprun"
    packets.save(run, [pieces("h1-eth0", [*syns, *TALK[1:]])], file, "give another place")
    graph = sequence_of_packets(run, 0, packets.load(run, file))
    assert graph is not None
    assert [(round(t, 6), end) for t, end in graph.window_end] == [
        (0.05, 1000 + 500 * unit),
        (0.12, 3000 + 500 * unit),
    ]


def test_without_both_syns_the_window_is_unknown(run: Run, kept: Path) -> None:
    graph = sequence_of_packets(run, 0, packets.load(run, kept))
    assert graph is not None
    assert graph.window_end == ()


def test_a_sequence_graph_is_plotted_from_the_command_line(run: Run, kept: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    for target in (one, two):
        made = tcptutor("plot", str(kept), "--kind", "sequence", "--span", "0s..0.2s", "-o", str(target))
        assert made.returncode == 0, made.stderr
    assert one.read_bytes() == two.read_bytes()
    drawn = plots.sequence_chart(run, kept, 0, (0, 0.2)).panels[0].series
    assert [each.label for each in drawn] == ["sent", "acknowledged", "SACKed", "retransmitted"]
    assert {f">{each.label}<" for each in drawn} <= set(re.findall(">[^<]*<", one.read_text()))
    shown = tcptutor("plot", str(kept), "--kind", "sequence", "--span", "0s..0.2s")
    legend = " ".join(shown.stdout.splitlines()[-2:])
    assert {"sent", "SACKed", "retransmitted", "acknowledged"} <= set(legend.split())
    assert "no receiver's window" in legend
    assert "no receiver's window" in one.read_text()
    assert re.search(r"[RS].*\n", shown.stdout)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--flow", "9"], "no flow 9: the run has 1"),
        (["--span", "1s"], "--span '1s'"),
        (["--span", "2s..1s"], "is not an earlier and a later time"),
        (["--span", "100s..200s"], "sends nothing in this span"),
        (["--what", "cwnd"], "omit --what"),
    ],
)
def test_what_cannot_be_a_sequence_graph_is_told(kept: Path, options: list[str], said: str) -> None:
    made = tcptutor("plot", str(kept), "--kind", "sequence", "-o", "x.svg", *options)
    assert made.returncode == 2
    assert said in made.stderr
    assert made.stderr.count("\n") == 1


def test_a_run_without_either_says_how_to_have_one() -> None:
    made = tcptutor("plot", str(RUNS / "four-lossy-streams.tcprun"), "--kind", "sequence", "-o", "x.svg")
    assert made.returncode == 1
    assert re.search("run the experiment with --set acks=on, or capture=on", made.stderr)


def test_flow_and_span_are_of_a_sequence_graph() -> None:
    with pytest.raises(UsageError, match="earlier"):
        plots.parse_span("0.5s..0.5s")
    made = tcptutor("plot", str(RUNS / "four-lossy-streams.tcprun"), "--flow", "1", "-o", "x.svg")
    assert "add --kind sequence" in made.stderr


# What will be kept


def test_the_size_is_told_before(build: Build) -> None:
    parameters = {"rate": "20 Mbit/s", "delay": "20 ms", "duration": "8 s", "warmup": "2 s"}
    assert capture_size(build(**parameters)) is None
    told = capture_size(build(**parameters, capture="on"))
    assert told is not None
    # 10 s of 19.1 Mbit/s: 16,500 segments and half as many ACKs, at two interfaces.
    assert told.packets == pytest.approx(49_600, rel=0.03)
    assert told.bytes == pytest.approx(16_520 * 2 * (128 + 100 / 2), rel=0.03)
    assert told.left_out == 0
    small = capture_size(build(**parameters, capture="on", capture_size="1 MiB"))
    assert small is not None
    assert small.packets == 2 * 16 * 204
    assert small.left_out == told.packets - small.packets
