"""The UDP flows of an iperf3 test, each by the figures that its two ends can know.

The sender knows the sent datagrams, and after the test the receiver's number of lost datagrams. The receiver knows
the received datagrams of each interval. A sending server (`-R`) never learns the receiver's count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from tcptutor.exchange.iperf3_document import Document, rate_of
from tcptutor.run import UdpResult, UdpSample, sum_or_none
from tcptutor.wire.iperf3_json import StreamRow, udp_sample

_SAME_BYTES = 0.01
"""Relative difference below which two sums of received bytes count the same datagrams."""


@dataclass(frozen=True)
class ImportedUdpFlow:
    """A UDP flow, with its receiver's intervals if the file has them."""

    result: UdpResult
    samples: tuple[UdpSample, ...]
    doubt: str = ""
    """Remark on contradictory or corrected counts of the file."""


@dataclass(frozen=True)
class _Counts:
    received_bps: float | None
    lost: int | None
    datagrams: int | None


def udp_flows(document: Document, warmup: float = 0.0) -> list[ImportedUdpFlow]:
    """Return the flows of a test in the order of connection; times include the `warmup`."""
    summaries = {each.udp.socket: each.udp for each in document.end.streams if each.udp}
    found = []
    for flow, socket in enumerate(document.sockets):
        rows, summary = document.rows(socket), summaries.get(socket)
        first = rows[0] if rows else summary
        if first is not None:
            found.append(_flow(document, flow, summary, rows, document.sends(first), warmup))
    return _scale_to_receiver_time(document, found)


def _scale_to_receiver_time(document: Document, found: list[ImportedUdpFlow]) -> list[ImportedUdpFlow]:
    """Scale the client's flows to the receiver's measuring time, if its sum reports it.

    Queued datagrams arrive after the sender has ended, so the same bytes take longer.
    """
    summed = document.end.sum_received
    own_rows = [each.result for each in found if not each.result.reverse]
    estimated = sum_or_none(result.received_bps for result in own_rows)
    if summed is None or document.at_server or not document.has_ended or not own_rows or not estimated:
        return found
    sent = [each.udp for each in document.end.streams if each.udp and document.sends(each.udp)]
    arrived = math.fsum(
        (row.bytes or 0.0) * (1 - max(0, row.lost_packets or 0) / row.packets) for row in sent if row.packets
    )
    if not summed.bits_per_second or abs((summed.bytes or 0.0) - arrived) > _SAME_BYTES * arrived:
        return found
    factor = summed.bits_per_second / estimated
    return [
        replace(
            each, result=msgspec.structs.replace(each.result, received_bps=factor * each.result.received_bps)
        )
        if not each.result.reverse and each.result.received_bps is not None
        else each
        for each in found
    ]


def _flow(
    document: Document,
    flow: int,
    summary: StreamRow | None,
    rows: Sequence[StreamRow],
    sends: bool,
    warmup: float,
) -> ImportedUdpFlow:
    peer_rows = _without_omitted(
        document.rows_of_peer(rows[0].socket if rows else (summary or StreamRow()).socket)
    )
    own_rows = _without_omitted(rows)
    receiver_rows = peer_rows if sends else own_rows
    # A sending server prints zeros: it does not get the client's counts.
    summary_row = (
        summary if summary is not None and document.has_ended and not (sends and document.at_server) else None
    )
    counts = (
        _sender_counts(own_rows, peer_rows, summary_row)
        if sends
        else _receiver_counts(document, own_rows, summary_row)
    )
    sent = rate_of(own_rows) if sends else None
    if sent is None and summary is not None and summary.bytes and (sends or not document.at_server):
        sent = summary.bits_per_second
    if (
        sends
        and counts.received_bps is None
        and counts.lost is not None
        and counts.datagrams
        and sent is not None
    ):
        share = max(0.0, 1 - max(0, counts.lost) / counts.datagrams)
        counts = _Counts(sent * share, counts.lost, counts.datagrams)
    counts, doubt = _checked(counts, own_rows, sends)
    result = UdpResult(
        flow=flow,
        pair=0,
        sent_bps=sent,
        received_bps=counts.received_bps,
        lost=counts.lost,
        datagrams=counts.datagrams,
        jitter_s=summary_row.jitter_ms / 1e3
        if summary_row is not None and summary_row.jitter_ms is not None
        else _jitter(receiver_rows),
        # For a stream that it sends, iperf3 writes 0: it does not get the receiver's count.
        out_of_order=None if sends or summary_row is None else summary_row.out_of_order,
        reverse=sends == document.at_server,
    )
    return ImportedUdpFlow(result, tuple(_samples(flow, receiver_rows, warmup)), doubt)


def _sender_counts(
    own_rows: Sequence[StreamRow], peer_rows: Sequence[StreamRow], summary_row: StreamRow | None
) -> _Counts:
    datagrams = sum_or_none(row.packets for row in own_rows) if own_rows else None
    if summary_row is None:
        return _Counts(rate_of(peer_rows), None, datagrams)
    return _Counts(rate_of(peer_rows), summary_row.lost_packets, summary_row.packets)


def _receiver_counts(
    document: Document, own_rows: Sequence[StreamRow], summary_row: StreamRow | None
) -> _Counts:
    received = rate_of(own_rows)
    summed = document.end.sum_received
    if received is None and summed is not None and len(document.sockets) == 1:
        received = summed.bits_per_second
    if summary_row is not None and summary_row.packets:
        return _Counts(received, summary_row.lost_packets, summary_row.packets)
    lost, datagrams = (
        sum_or_none(getattr(row, name) for row in own_rows) for name in ("lost_packets", "packets")
    )
    return _Counts(received, lost if own_rows else None, datagrams if own_rows else None)


def _checked(counts: _Counts, own_rows: Sequence[StreamRow], sends: bool) -> tuple[_Counts, str]:
    """Return the plausible counts, and a remark on the others."""
    lost, datagrams = counts.lost, counts.datagrams
    if lost is None or datagrams is None:
        return counts, ""
    if lost > datagrams:
        sent = sum_or_none(row.packets for row in own_rows) if sends and own_rows else None
        received = None if sends else counts.received_bps
        doubt = (
            f"the file contradicts itself, {lost} of {datagrams} datagrams lost: what arrived is not known"
        )
        return _Counts(received, None, sent), doubt
    if lost < 0:
        late = f"{-lost} datagrams that were counted as lost before the measured time came late"
        return _Counts(counts.received_bps, 0, datagrams), late
    return counts, ""


def _without_omitted(rows: Sequence[StreamRow]) -> list[StreamRow]:
    return [row for row in rows if not row.omitted]


def _jitter(rows: Sequence[StreamRow]) -> float | None:
    """Return the receiver's latest jitter, s."""
    return next((row.jitter_ms / 1e3 for row in reversed(rows) if row.jitter_ms is not None), None)


def _samples(flow: int, rows: Sequence[StreamRow], warmup: float) -> Iterator[UdpSample]:
    """Yield the cumulative counts at the end of each interval; iperf3 restarts its times after `-O`."""
    if not rows:
        return
    summary_row = UdpSample(
        flow, max(0.0, rows[0].start) + (0.0 if rows[0].omitted else warmup), 0, 0, 0, None
    )
    yield summary_row
    for row in rows:
        summary_row = udp_sample(summary_row, row, row.end + (0.0 if row.omitted else warmup))
        yield summary_row
