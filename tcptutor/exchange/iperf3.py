"""iperf3's results: `-J` of 3.7 and later, and the lines of `--json-stream` (3.17 and later).

The format is what iperf_api.c prints (github.com/esnet/iperf). Each interval has, of a stream whose sender wrote the
file: bytes written, retransmits, snd_cwnd and snd_wnd (bytes), rtt and rttvar (µs), pmtu; of the others only bytes.
snd_wnd came with 3.10; the figures of both directions carry `sender` since 3.7. Times begin anew after `-O`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import msgspec

from tcptutor.errors import TutorError
from tcptutor.exchange import imported, iperf3_text
from tcptutor.lab.iperf3 import EndOfTest, StreamInterval, StreamRow, StreamSummary, udp_sample
from tcptutor.run import FlowResult, Run, Sample, UdpResult, UdpSample
from tcptutor.spec import HEADERS, TIMESTAMP_OPTION, Flows

_MOST = 512
"""Tests in a file, and streams of a test, that are read; iperf3 has 128 streams at most."""


class _Connected(msgspec.Struct, frozen=True):
    socket: int
    local_port: int = 0
    remote_port: int = 0


class _Test(msgspec.Struct, frozen=True):
    protocol: str = "TCP"
    duration: float = 0.0
    reverse: int = 0
    target_bitrate: float = 0.0


class _Peer(msgspec.Struct, frozen=True):
    host: str = ""


class _Time(msgspec.Struct, frozen=True):
    timesecs: float = 0.0


class _Start(msgspec.Struct, frozen=True):
    connected: list[_Connected] = []
    version: str = "iperf3"
    system_info: str = ""
    timestamp: _Time = _Time()
    connecting_to: _Peer | None = None
    accepted_connection: _Peer | None = None
    tcp_mss: int = 0
    tcp_mss_default: int = 0
    test_start: _Test = _Test()


class _Document(msgspec.Struct, frozen=True, dict=True):
    start: _Start = _Start()
    intervals: list[StreamInterval] = []
    end: EndOfTest = EndOfTest()
    title: str = ""
    error: str = ""
    server_output_json: _Document | None = None

    @property
    def at_server(self) -> bool:
        return self.start.accepted_connection is not None

    def sends(self, row: StreamRow) -> bool:
        """Whether who wrote this file sends that stream."""
        return (self.start.test_start.reverse == 1) == self.at_server if row.sender is None else row.sender

    @cached_property
    def _by_socket(self) -> dict[int, list[StreamRow]]:
        found: dict[int, list[StreamRow]] = {}
        for interval in self.intervals:
            for row in interval.streams:
                found.setdefault(row.socket, []).append(row)
        return found

    def rows(self, socket: int) -> list[StreamRow]:
        return self._by_socket.get(socket, [])


@dataclass(frozen=True)
class _Stream:
    """One TCP stream, by the figures of its sender where there are any."""

    rows: list[StreamRow]
    summary: StreamSummary
    """Empty for a test that did not end."""
    arrived: float | None
    """Bytes by the receiver's count."""
    mss: int
    reverse: bool
    """From the server to the client."""


def read(text: str, file: str, path: Mapping[str, str]) -> list[Run]:
    """A run of each test that `text`, of the file of that name, tells of.

    The notes say which of several tests it is, and the first one's which of them measured nothing, and why.
    Raises TutorError where none measured anything.
    """
    documents = _documents(text, file)
    wrong = {number: _unmeasured(each) for number, each in enumerate(documents, 1)}
    runs = [(number, _run(each, file, path)) for number, each in enumerate(documents, 1) if not wrong[number]]
    if not runs:
        raise TutorError(f"{file}: {wrong[1]}: nothing was measured, run the test again, or longer")
    if len(documents) > 1:
        for number, run in runs:
            run.note += f"; test {number} of {len(documents)} in the file"
        left_out = "".join(f"; test {number}: {reason}" for number, reason in wrong.items() if reason)
        runs[0][1].note += left_out
    return [run for _, run in runs]


def _run(document: _Document, file: str, path: Mapping[str, str]) -> Run:
    """The run that one test tells."""
    test, when = document.start.test_start, imported.moment(document.start.timestamp.timesecs)
    udp = test.protocol == "UDP"
    streams = [] if udp else _streams(document)
    datagrams = list(_udp(document)) if udp else []
    warmup = max((row.end for each in streams for row in each.rows if row.omitted), default=0.0)
    last = max((row.end for interval in document.intervals for row in interval.streams), default=0.0)
    reverse = tuple("reverse" if stream.reverse else "forward" for stream in streams)
    flows = Flows(
        streams=len(streams),
        duration=test.duration or last or 1.0,
        warmup=warmup,
        directions=reverse if "reverse" in reverse else (),
        udp_streams=len(datagrams),
        udp_rate=test.target_bitrate or _mean_sent(datagrams) or Flows().udp_rate,
    )
    run = imported.start(
        document.start.version.replace("iperf ", "iperf3 "),
        PurePath(file).stem,
        title=document.title or _title(document),
        when=when,
        kernel=_kernel(document.start.system_info),
        flows=flows,
        algorithm=document.end.sender_tcp_congestion or "unknown",
        path=path,
    )
    run.udp = [result for result, _ in datagrams]
    rows_of_udp = [row for _, rows in datagrams for row in rows]
    run.udp_samples.extend(sorted(rows_of_udp, key=lambda row: row.t))
    run.complete = bool(document.end.streams) and not document.error
    samples = [row for flow, stream in enumerate(streams) for row in _samples(flow, stream, warmup)]
    run.samples.extend(sorted(samples, key=lambda row: row.t))
    run.flows = [_result(flow, stream, run.experiment.hosts.algorithm) for flow, stream in enumerate(streams)]
    run.experiment_s = max((row.t for row in samples), default=last)
    run.note = _note(run, document, streams)
    return run


def _documents(text: str, file: str) -> list[_Document]:
    try:
        tests = [msgspec.convert(each, _Document) for each in iperf3_text.parse(text)]
    except (ValueError, msgspec.ValidationError) as error:
        raise TutorError(
            f"{file} is neither an iperf3 -J output nor a flent data file ({error}): give one of these"
        ) from error
    if len(tests) > _MOST:
        raise TutorError(f"{file} tells of {len(tests)} tests, we read {_MOST} at most: give some of them")
    return tests


def _unmeasured(document: _Document) -> str:
    """Why the document measured nothing; empty when it did."""
    ended = document.end.streams
    if not any(interval.streams for interval in document.intervals) and not ended:
        return (
            f"iperf3 says {imported.shown(document.error)!r}"
            if document.error
            else "the file has no interval"
        )
    if ended and all(_arrived(each, document) == 0 for each in ended):
        sent = math.fsum(each.sender.bytes for each in ended if each.sender)
        return f"the receiver counted 0 of {sent:.0f} bytes"
    return ""


def _arrived(stream: StreamSummary, document: _Document) -> float | None:
    """Bytes of a TCP stream by its receiver's count; None where that is not in the file.

    The client has it from the server after the test; the server, where it sends itself, has it never.
    """
    if stream.receiver is None or stream.sender is None or document.error or not stream.sender.bytes:
        return None
    return None if document.at_server and document.sends(stream.receiver) else stream.receiver.bytes


def _streams(document: _Document) -> list[_Stream]:
    """In the order in which they were connected."""
    known = [each.socket for each in document.start.connected]
    seen = [row.socket for interval in document.intervals for row in interval.streams]
    ended = [each.sender.socket for each in document.end.streams if each.sender]
    summaries = {each.sender.socket: each for each in document.end.streams if each.sender}
    streams = []
    sockets = dict.fromkeys([*known, *seen, *ended])
    if len(sockets) > _MOST:
        raise ValueError(f"{len(sockets)} streams, we read {_MOST} at most")
    for socket in sockets:
        rows, summary = document.rows(socket), summaries.get(socket, StreamSummary())
        first = rows[0] if rows else summary.sender
        if first is None:
            continue
        reverse = document.sends(first) == document.at_server
        mss = _mss(document, rows)
        if not document.sends(first) and document.server_output_json is not None:
            # The other end sends, and its figures are here as well.
            theirs = _rows_of_peer(document, document.server_output_json, socket)
            rows, mss = theirs or rows, _mss(document.server_output_json, theirs) if theirs else mss
        streams.append(_Stream(rows, summary, _arrived(summary, document), mss, reverse))
    return streams


def _rows_of_peer(document: _Document, server: _Document, socket: int) -> list[StreamRow]:
    """The server's rows of our stream `socket`: it is the other end of the same two ports."""
    port = next((each.local_port for each in document.start.connected if each.socket == socket), None)
    theirs = next((each.socket for each in server.start.connected if each.remote_port == port), None)
    return server.rows(theirs) if theirs is not None else []


def _mss(document: _Document, rows: Sequence[StreamRow]) -> int:
    """Payload bytes of a segment: what goes a whole number of times into every snd_cwnd.

    iperf3 gives segments × MSS without that MSS; what it calls tcp_mss is another socket's, or with options.
    """
    start, windows = document.start, {round(row.snd_cwnd) for row in rows if row.snd_cwnd > 0}
    pmtu = max((row.pmtu for row in rows), default=0)
    # The MSS of `-M` counts the option in.
    set_by_user = (start.tcp_mss - TIMESTAMP_OPTION, start.tcp_mss)
    by_pmtu = (pmtu - HEADERS - TIMESTAMP_OPTION, pmtu - HEADERS)
    candidates = [size for size in (*set_by_user, start.tcp_mss_default, *by_pmtu) if size > 0]
    fitting = [size for size in candidates if windows and math.gcd(*windows) % size == 0]
    return next(iter(fitting or candidates), imported.USUAL_MSS)


def _samples(flow: int, stream: _Stream, warmup: float) -> list[Sample]:
    """One sample at the end of each interval, and one at the start with the state of the first."""
    sent = retransmits = 0.0
    samples: list[Sample] = []
    for row in stream.rows:
        offset = 0.0 if row.omitted else warmup
        times = [row.start + offset, row.end + offset] if not samples else [row.end + offset]
        for t in times:
            if t == times[-1]:
                sent, retransmits = sent + row.bytes, retransmits + max(0.0, row.retransmits)
            samples.append(
                imported.sample(
                    flow, t, acked=sent, mss=stream.mss, cwnd=row.snd_cwnd / stream.mss, rtt=row.rtt / 1e6,
                    rttvar=row.rttvar / 1e6, retransmits=retransmits, snd_wnd=row.snd_wnd,
                )
            )  # fmt: skip
    return samples


def _result(flow: int, stream: _Stream, algorithm: str) -> FlowResult:
    """Over the test without `-O`; the throughput is the receiver's where it is known."""
    rows = [row for row in stream.rows if not row.omitted]
    seconds = math.fsum(row.seconds for row in rows)
    sender, receiver = stream.summary.sender or StreamRow(), stream.summary.receiver or StreamRow()
    sent = (
        8 * math.fsum(row.bytes for row in rows) / seconds if seconds > 0 else sender.bits_per_second or 0.0
    )
    resent = max(math.fsum(max(0.0, row.retransmits) for row in rows), sender.retransmits)
    received = receiver.bits_per_second or (None if stream.arrived is None else 0.0)
    timed = [row.rtt for row in rows if row.rtt > 0]
    windows = [row.snd_cwnd for row in rows if row.snd_cwnd > 0]
    return FlowResult(
        flow=flow,
        pair=0,
        throughput_bps=sent if received is None else received,
        retransmits=round(resent),
        losses=None,
        segments=round(math.fsum(row.bytes for row in rows) / stream.mss + resent),
        mean_rtt_s=(math.fsum(timed) / len(timed) if timed else sender.mean_rtt) / 1e6,
        mean_cwnd_segments=math.fsum(windows) / len(windows) / stream.mss if windows else 0.0,
        mss=stream.mss,
        algorithm=algorithm,
        receiver_bps=received,
    )


def _udp(document: _Document) -> Iterator[tuple[UdpResult, list[UdpSample]]]:
    """Each UDP flow, and what its receiver told over time where that is in the file."""
    if len(document.end.streams) > _MOST:
        raise ValueError(f"{len(document.end.streams)} streams, we read {_MOST} at most")
    for flow, row in enumerate(each.udp for each in document.end.streams if each.udp):
        mine = [one for one in document.rows(row.socket) if not one.omitted]
        sends = document.sends(mine[0] if mine else row)
        theirs: list[StreamRow] | None = None if sends else mine
        if sends and document.server_output_json is not None:
            rows = _rows_of_peer(document, document.server_output_json, row.socket)
            theirs = [one for one in rows if not one.omitted]
        sent = row.bits_per_second or 0.0
        arrived = 1 - row.lost_packets / row.packets if row.packets else 0.0
        result = UdpResult(
            flow=flow,
            pair=0,
            sent_bps=sent,
            received_bps=sent * max(0.0, arrived),
            lost=row.lost_packets,
            datagrams=row.packets,
            jitter_s=(row.jitter_ms or 0.0) / 1e3,
            # Of a stream that it sends itself, iperf3 writes 0: the receiver does not tell it.
            out_of_order=None if sends else row.out_of_order,
        )
        yield result, list(_udp_samples(flow, theirs or []))


def _udp_samples(flow: int, rows: Sequence[StreamRow]) -> Iterator[UdpSample]:
    told = UdpSample(flow, 0.0, 0, 0, 0, None)
    for row in rows:
        told = udp_sample(told, row, row.end)
        yield told


def _mean_sent(flows: Sequence[tuple[UdpResult, list[UdpSample]]]) -> float:
    return math.fsum(result.sent_bps or 0.0 for result, _ in flows) / len(flows) if flows else 0.0


def _title(document: _Document) -> str:
    peer = document.start.connecting_to or document.start.accepted_connection
    protocol = document.start.test_start.protocol
    where = f" {'from' if document.at_server else 'to'} {peer.host}" if peer and peer.host else ""
    return f"{protocol} test with iperf3{where}"


def _kernel(system: str) -> str:
    """ "6.12.0" from "Linux host 6.12.0 #1 SMP x86_64"; with its name for another system."""
    name, _, rest = system.partition(" ")
    words = rest.split()
    release = words[1] if len(words) > 1 else "unknown"
    return release if name in ("Linux", "") else f"{name} {release}"


def _note(run: Run, document: _Document, streams: Sequence[_Stream]) -> str:
    """What to know of it: where it was cut, or what the file cannot tell."""
    if document.error:
        return f"{run.note}; iperf3 says {imported.shown(document.error)!r}"
    if not run.complete:
        return f"{run.note}; the file ends before the test did"
    if streams and not any(row.snd_cwnd for stream in streams for row in stream.rows):
        return f"{run.note}; cwnd and RTT are at the sender: take its file, or --get-server-output"
    return run.note
