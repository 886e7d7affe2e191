"""The UDP flows of an iperf3 test, each by what its two ends can know.

The sender knows what it sent, and from the receiver, once the test has ended, how many datagrams were lost. The
receiver knows what arrived in each interval. A server that sends (`-R`) never hears what arrived.
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
"""Relative difference of two sums of what arrived below which they are of the same datagrams."""


@dataclass(frozen=True)
class ImportedUdpFlow:
    """One flow, and its receiver's intervals where they are in the file."""

    result: UdpResult
    samples: tuple[UdpSample, ...]
    doubt: str = ""
    """What the file says that cannot be, or has counted back."""


@dataclass(frozen=True)
class _Counts:
    received_bps: float | None
    lost: int | None
    datagrams: int | None


def udp_flows(document: Document, warmup: float = 0.0) -> list[ImportedUdpFlow]:
    """Return each of the test, in the order in which they were connected; times count from before the `warmup`."""
    summaries = {each.udp.socket: each.udp for each in document.end.streams if each.udp}
    found = []
    for flow, socket in enumerate(document.sockets):
        rows, summary = document.rows(socket), summaries.get(socket)
        first = rows[0] if rows else summary
        if first is not None:
            found.append(_flow(document, flow, summary, rows, document.sends(first), warmup))
    return _over_receiver_s_time(document, found)


def _over_receiver_s_time(document: Document, found: list[ImportedUdpFlow]) -> list[ImportedUdpFlow]:
    """Return the flows that a client sends over the time in which their receiver counted, where its sum tells it.

    What waits on the path arrives after the sender has ended, so that the same bytes take longer.
    """
    summed = document.end.sum_received
    mine = [each.result for each in found if not each.result.reverse]
    estimated = sum_or_none(result.received_bps for result in mine)
    if summed is None or document.at_server or not document.has_ended or not mine or not estimated:
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
    theirs = _counted(document.rows_of_peer(rows[0].socket if rows else (summary or StreamRow()).socket))
    mine = _counted(rows)
    arriving = theirs if sends else mine
    # Who sends at the server prints zeros: the client does not tell it.
    told = (
        summary if summary is not None and document.has_ended and not (sends and document.at_server) else None
    )
    counts = _of_sender(mine, theirs, told) if sends else _of_receiver(document, mine, told)
    sent = rate_of(mine) if sends else None
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
    counts, doubt = _checked(counts, mine, sends)
    result = UdpResult(
        flow=flow,
        pair=0,
        sent_bps=sent,
        received_bps=counts.received_bps,
        lost=counts.lost,
        datagrams=counts.datagrams,
        jitter_s=told.jitter_ms / 1e3
        if told is not None and told.jitter_ms is not None
        else _jitter(arriving),
        # Of a stream that it sends itself, iperf3 writes 0: the receiver does not tell it.
        out_of_order=None if sends or told is None else told.out_of_order,
        reverse=sends == document.at_server,
    )
    return ImportedUdpFlow(result, tuple(_samples(flow, arriving, warmup)), doubt)


def _of_sender(mine: Sequence[StreamRow], theirs: Sequence[StreamRow], told: StreamRow | None) -> _Counts:
    datagrams = sum_or_none(row.packets for row in mine) if mine else None
    if told is None:
        return _Counts(rate_of(theirs), None, datagrams)
    return _Counts(rate_of(theirs), told.lost_packets, told.packets)


def _of_receiver(document: Document, mine: Sequence[StreamRow], told: StreamRow | None) -> _Counts:
    received = rate_of(mine)
    summed = document.end.sum_received
    if received is None and summed is not None and len(document.sockets) == 1:
        received = summed.bits_per_second
    if told is not None and told.packets:
        return _Counts(received, told.lost_packets, told.packets)
    lost, datagrams = (
        sum_or_none(getattr(row, name) for row in mine) for name in ("lost_packets", "packets")
    )
    return _Counts(received, lost if mine else None, datagrams if mine else None)


def _checked(counts: _Counts, mine: Sequence[StreamRow], sends: bool) -> tuple[_Counts, str]:
    """The counts that can be, and what is wrong with the others."""
    lost, datagrams = counts.lost, counts.datagrams
    if lost is None or datagrams is None:
        return counts, ""
    if lost > datagrams:
        sent = sum_or_none(row.packets for row in mine) if sends and mine else None
        received = None if sends else counts.received_bps
        doubt = (
            f"the file contradicts itself, {lost} of {datagrams} datagrams lost: what arrived is not known"
        )
        return _Counts(received, None, sent), doubt
    if lost < 0:
        late = f"{-lost} datagrams that were counted as lost before the measured time came late"
        return _Counts(counts.received_bps, 0, datagrams), late
    return counts, ""


def _counted(rows: Sequence[StreamRow]) -> list[StreamRow]:
    return [row for row in rows if not row.omitted]


def _jitter(rows: Sequence[StreamRow]) -> float | None:
    """The latest that the receiver told, s."""
    return next((row.jitter_ms / 1e3 for row in reversed(rows) if row.jitter_ms is not None), None)


def _samples(flow: int, rows: Sequence[StreamRow], warmup: float) -> Iterator[UdpSample]:
    """What had arrived by the end of each interval; after `-O` iperf3 counts its times anew."""
    if not rows:
        return
    told = UdpSample(flow, max(0.0, rows[0].start) + (0.0 if rows[0].omitted else warmup), 0, 0, 0, None)
    yield told
    for row in rows:
        told = udp_sample(told, row, row.end + (0.0 if row.omitted else warmup))
        yield told
