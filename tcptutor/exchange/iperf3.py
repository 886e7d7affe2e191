"""iperf3's results: `-J` of 3.0 and later, and the lines of `--json-stream` (3.17 and later).

iperf_api.c (github.com/esnet/iperf) prints the format. If the stream's sender wrote the file, each interval has bytes
written, retransmits, snd_cwnd and snd_wnd (bytes), rtt and rttvar (µs), and pmtu; otherwise only bytes. snd_wnd
exists since 3.10; the figures of both directions have `sender` since 3.7. Times restart after `-O`. Systems other than
Linux report only bytes. Values missing in a file are None here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import msgspec

from tcptutor.base import decoding
from tcptutor.base.errors import TutorError
from tcptutor.exchange import foreign, iperf3_text
from tcptutor.exchange.iperf3_document import MOST, Document, rate_of
from tcptutor.exchange.iperf3_udp import ImportedUdpFlow, udp_flows
from tcptutor.run import FlowResult, Run, Sample, mean_of_known
from tcptutor.spec import Flows
from tcptutor.spec.frame_sizes import HEADERS, TIMESTAMP_OPTION
from tcptutor.wire.iperf3_json import StreamRow, StreamSummary

_SHORTEST = 1e-3
"""Shortest experiment, seconds; `-n` may end sooner."""


@dataclass(frozen=True)
class _Stream:
    """A TCP stream, by its sender's figures if the file has them."""

    rows: list[StreamRow]
    summary: StreamSummary
    """Empty for an unfinished test."""
    received_bps: float | None
    """The receiver's rate; None where the file has none."""
    mss: int
    reverse: bool
    """True from the server to the client."""
    by_sender: bool
    """True if the rows are the sender's."""
    written_bps: float | None
    """The sender's own total; None for an interrupted test, which has a wrong duration."""


def read(text: str, file: str, path: Mapping[str, str]) -> list[Run]:
    """Return a run for each test in `text`, the content of `file`.

    The notes number several tests; the first run's note lists the tests without measurements, and why.

    Raises:
        TutorError: No test has measurements.
    """
    documents = _documents(text, file)
    wrong = {number: _unmeasured(each) for number, each in enumerate(documents, 1)}
    runs = [(number, _run(each, file, path)) for number, each in enumerate(documents, 1) if not wrong[number]]
    if not runs:
        raise TutorError(f"{file}: {wrong[1]}: {_advice(documents[0])}")
    if len(documents) > 1:
        for number, run in runs:
            run.note += f"; test {number} of {len(documents)} in the file"
        left_out = "".join(f"; test {number}: {reason}" for number, reason in wrong.items() if reason)
        runs[0][1].note += left_out
    return [run for _, run in runs]


def _run(document: Document, file: str, path: Mapping[str, str]) -> Run:
    test, when = document.start.test_start, foreign.moment(document.start.timestamp.timesecs)
    udp = test.protocol == "UDP"
    streams = [] if udp else _streams(document)
    warmup = max((row.end for row in _all_rows(document) if row.omitted), default=0.0)
    datagrams = udp_flows(document, warmup) if udp else []
    last = max((row.end for row in _all_rows(document)), default=0.0)
    reverse = tuple("reverse" if stream.reverse else "forward" for stream in streams)
    flows = Flows(
        streams=len(streams),
        duration=max(_SHORTEST, test.seconds or last or 1.0),
        warmup=warmup,
        directions=reverse if "reverse" in reverse else (),
        pacing=test.pacing if streams else None,
        udp_streams=len(datagrams),
        udp_rate=(udp and (test.target_bitrate or _mean_sent(datagrams))) or Flows().udp_rate,
    )
    run = foreign.new_run(
        document.start.version.replace("iperf ", "iperf3 "),
        PurePath(file).stem,
        title=document.title or _title(document),
        when=when,
        kernel=_kernel(document.start.system_info),
        flows=flows,
        algorithm=document.end.sender_tcp_congestion or "unknown",
        path=path,
    )
    run.udp = [each.result for each in datagrams]
    run.udp_samples.extend(sorted((row for each in datagrams for row in each.samples), key=lambda row: row.t))
    run.complete = document.has_ended and not _has_lost_server(document)
    samples = [row for flow, stream in enumerate(streams) for row in _samples(flow, stream, warmup)]
    run.samples.extend(sorted(samples, key=lambda row: row.t))
    run.flows = [_result(flow, stream, run.experiment.hosts.algorithm) for flow, stream in enumerate(streams)]
    run.experiment_s = max((row.t for row in samples), default=last)
    run.note = "; ".join([run.note, *_notes(run, document, streams, datagrams)])
    return run


def _documents(text: str, file: str) -> list[Document]:
    try:
        tests = [decoding.convert(each, Document) for each in iperf3_text.parse(text)]
    except (ValueError, msgspec.ValidationError) as error:
        raise TutorError(
            f"{file} is neither an iperf3 -J output nor a flent data file ({error}): give one of these"
        ) from error
    if len(tests) > MOST:
        raise TutorError(f"{file} contains {len(tests)} tests, the limit is {MOST}: split it")
    return tests


def _all_rows(document: Document) -> Iterator[StreamRow]:
    """Yield the rows of the intervals, or the totals of a test without intervals."""
    rows = (row for interval in document.intervals for row in interval.streams)
    if any(interval.streams for interval in document.intervals):
        yield from rows
        return
    for each in document.end.streams:
        if row := each.udp or each.sender:
            yield row


def _unmeasured(document: Document) -> str:
    """Return why the document has no measurements; empty if it has."""
    if not any(interval.streams for interval in document.intervals) and not document.end.streams:
        if document.only_sums:
            return "it has only the sums of the test, not its streams"
        return (
            f"iperf3 says {foreign.shown(document.error)!r}" if document.error else "the file has no interval"
        )
    return ""


def _advice(document: Document) -> str:
    if document.only_sums:
        return "give all that iperf3 -J printed"
    return "nothing was measured, run the test again, or longer"


def _has_lost_server(document: Document) -> bool:
    """Return whether the server ended before the test, so that the client got no receiver's count."""
    sent = [each for each in document.end.streams if each.sender and document.sends(each.sender)]
    if document.at_server or not sent:
        return False
    known = [each.receiver.bytes for each in sent if each.receiver is not None]
    return bool(known) and not any(known) and any(each.sender and each.sender.bytes for each in sent)


def _streams(document: Document) -> list[_Stream]:
    """Return the streams in the order of their connections."""
    summaries = {each.sender.socket: each for each in document.end.streams if each.sender}
    streams = []
    for socket in document.sockets:
        rows, summary = document.rows(socket), summaries.get(socket, StreamSummary())
        first = rows[0] if rows else summary.sender
        if first is None:
            continue
        sends = document.sends(first)
        received = _received(document, summary, rows, sends)
        mss, by_sender = _mss(document, rows), sends
        if not sends and (theirs := document.rows_of_peer(socket)):
            # The peer sends, and the file has its figures as well.
            assert document.server_output_json is not None
            rows, mss, by_sender = theirs, _mss(document.server_output_json, theirs), True
        sender = summary.sender
        written = (
            sender.bits_per_second if sender is not None and sender.bytes and document.has_ended else None
        )
        streams.append(_Stream(rows, summary, received, mss, sends == document.at_server, by_sender, written))
    return streams


def _received(
    document: Document, summary: StreamSummary, rows: Sequence[StreamRow], sends: bool
) -> float | None:
    """Return the receiver's rate, bit/s.

    The client gets it from the server after the test; a sending server never gets it.
    """
    if not sends:
        counts = summary.receiver if document.has_ended else None
        return counts.bits_per_second if counts is not None and counts.bytes else rate_of(rows)
    if summary.receiver is None or document.at_server or document.error or _has_lost_server(document):
        return None
    return summary.receiver.bits_per_second


def _mss(document: Document, rows: Sequence[StreamRow]) -> int:
    """Return the payload bytes of a segment: a size that divides every snd_cwnd.

    iperf3 reports segments × MSS without that MSS; its tcp_mss is of a different socket, or includes options.
    """
    start, windows = document.start, {round(row.snd_cwnd) for row in rows if row.snd_cwnd}
    pmtu = max((row.pmtu or 0 for row in rows), default=0)
    # The MSS of `-M` includes the timestamp option.
    set_by_user = (start.tcp_mss - TIMESTAMP_OPTION, start.tcp_mss)
    by_pmtu = (pmtu - HEADERS - TIMESTAMP_OPTION, pmtu - HEADERS)
    candidates = [size for size in (*set_by_user, start.tcp_mss_default, *by_pmtu) if size > 0]
    fitting = [size for size in candidates if windows and math.gcd(*windows) % size == 0]
    return next(iter(fitting or candidates), foreign.USUAL_MSS)


def _samples(flow: int, stream: _Stream, warmup: float) -> list[Sample]:
    """Return a sample at the end of each interval, and an initial sample with the state of the first."""
    sent = retransmits = 0.0
    samples: list[Sample] = []
    for row in stream.rows:
        offset = 0.0 if row.omitted else warmup
        times = [row.start + offset, row.end + offset] if not samples else [row.end + offset]
        for t in times:
            if t == times[-1]:
                sent, retransmits = sent + (row.bytes or 0.0), retransmits + max(0.0, row.retransmits or 0.0)
            samples.append(
                foreign.sample(
                    flow, t, acked=sent, mss=stream.mss, cwnd=(row.snd_cwnd or 0) / stream.mss,
                    rtt=(row.rtt or 0) / 1e6, rttvar=(row.rttvar or 0) / 1e6, retransmits=retransmits,
                    snd_wnd=row.snd_wnd or 0,
                )
            )  # fmt: skip
    return samples


def _result(flow: int, stream: _Stream, algorithm: str) -> FlowResult:
    """Return the flow's result without the `-O` interval; the throughput is the receiver's if known."""
    rows = [row for row in stream.rows if not row.omitted]
    sender = stream.summary.sender or StreamRow()
    retransmitted = _retransmits(stream, rows)
    written = rate_of(rows) if stream.written_bps is None else stream.written_bps
    # For a received stream, iperf3 writes its own end's RTT.
    total = sender.mean_rtt if stream.by_sender else None
    rtt = mean_of_known(row.rtt for row in rows if row.rtt) or total or None
    cwnd = mean_of_known(row.snd_cwnd for row in rows if row.snd_cwnd)
    payload = math.fsum(row.bytes or 0.0 for row in rows) if rows else sender.bytes or 0.0
    return FlowResult(
        flow=flow,
        pair=0,
        throughput_bps=(written or 0.0) if stream.received_bps is None else stream.received_bps,
        retransmits=retransmitted,
        # An interval with retransmissions may have had any number of loss events.
        losses=None,
        segments=None if retransmitted is None else round(payload / stream.mss + retransmitted),
        mean_rtt_s=None if rtt is None else rtt / 1e6,
        mean_cwnd_segments=None if cwnd is None else cwnd / stream.mss,
        mss=stream.mss,
        algorithm=algorithm,
        receiver_bps=stream.received_bps,
    )


def _retransmits(stream: _Stream, rows: Sequence[StreamRow]) -> int | None:
    """Return the retransmitted segments; None where the file has no count, as on most systems other than Linux."""
    counts = [row.retransmits for row in rows if row.retransmits is not None and row.retransmits >= 0]
    sender = stream.summary.sender
    total = sender.retransmits if sender is not None and sender.bytes else None
    known = [math.fsum(counts)] if counts else []
    known += [total] if total is not None and total >= 0 else []
    return round(max(known)) if known else None


def _mean_sent(flows: Sequence[ImportedUdpFlow]) -> float:
    return mean_of_known(flow.result.sent_bps for flow in flows) or 0.0


def _title(document: Document) -> str:
    peer = document.start.connecting_to or document.start.accepted_connection
    protocol = document.start.test_start.protocol
    where = f" {'from' if document.at_server else 'to'} {peer.host}" if peer and peer.host else ""
    return f"{protocol} test with iperf3{where}"


def _kernel(system: str) -> str:
    """Return "6.12.0" of "Linux host 6.12.0 #1 SMP x86_64"; other systems keep their name."""
    name, _, rest = system.partition(" ")
    words = rest.split()
    release = words[1] if len(words) > 1 else "unknown"
    return release if name in ("Linux", "") else f"{name} {release}"


def _notes(
    run: Run, document: Document, streams: Sequence[_Stream], datagrams: Sequence[ImportedUdpFlow]
) -> Iterator[str]:
    """Yield remarks on the run: truncation, unknown values, and the end that counted."""
    if document.error:
        yield f"iperf3 says {foreign.shown(document.error)!r}"
    elif _has_lost_server(document):
        yield "the server reported nothing, so this is what the sender wrote"
    elif not run.complete:
        yield "the file ends before the test did"
    elif any(flow.receiver_bps is None for flow in run.flows):
        yield "what arrived is not in the file, so this is what the sender wrote"
    if any(_only_filled_its_buffer(stream) for stream in streams):
        yield "all was written within a round trip: the rate is that of the sender's buffer, not of the path"
    if document.unread:
        yield f"{document.unread} intervals have no bytes and are left out"
    yield from dict.fromkeys(each.doubt for each in datagrams if each.doubt)
    if any(each.result.received_bps is None and not each.doubt for each in datagrams):
        yield "what arrived of UDP is not in the file: take the receiver's"
    if document.only_sums:
        yield "the file has only the sums of the test"
    elif run.complete:
        yield from _unknown_state(run, streams)


def _only_filled_its_buffer(stream: _Stream) -> bool:
    """Return whether only the sender counted, and wrote everything in less than a round trip."""
    if stream.received_bps is not None or not stream.by_sender or not stream.rows:
        return False
    rtt = mean_of_known(row.rtt for row in stream.rows if row.rtt)
    return rtt is not None and stream.rows[-1].end < rtt / 1e6


def _unknown_state(run: Run, streams: Sequence[_Stream]) -> Iterator[str]:
    """Yield a remark on where to find cwnd, RTT and retransmissions when the file lacks them."""
    if not streams or any(row.snd_cwnd for stream in streams for row in stream.rows):
        return
    unknown = any(flow.retransmits is None for flow in run.flows)
    what = "cwnd, RTT and retransmissions" if unknown else "cwnd and RTT"
    if any(stream.by_sender for stream in streams):
        yield f"the sender's system does not report {what} to iperf3"
    else:
        yield f"{what} are at the sender: take its file, or --get-server-output"
