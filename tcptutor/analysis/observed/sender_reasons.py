"""Sentences on what a TCP sender did at a packet, and the rule of an RFC or of the kernel that says so."""

from __future__ import annotations

from tcptutor.analysis.observed.flight import SenderEvent
from tcptutor.base import units

_LARGEST_STEP = 3
"""Segments by which cwnd falls at one ACK of a recovery."""

_CURVES = {
    "cubic": "CUBIC follows its curve (RFC 9438, section 4)",
    "bbr": "BBR sets cwnd from its estimates of rate and RTT",
    "htcp": "H-TCP grows the faster the longer the last loss is ago",
}


def sender_reason(event: SenderEvent, algorithm: str, mss: int, sack: bool) -> str:
    """Return one or two sentences: what happened, and the rule behind the response.

    Args:
        event: A packet that arrived, or a retransmission.
        algorithm: The flow's congestion control.
        mss: Payload of a full segment, bytes.
        sack: Whether the connection uses SACK.
    """
    match event.kind:
        case "ack":
            return f"{_acknowledged(event, mss)} {_window(event, algorithm)}{_sends(event, mss)}"
        case "duplicate":
            return f"{_duplicate(event)}{_sends(event, mss)}"
        case "loss":
            rule = "RACK, RFC 8985" if sack else "fast retransmit, RFC 5681, section 3.2"
            after = f"After {event.duplicates} duplicate ACKs the" if event.duplicates > 1 else "The"
            cut = _cut(event, algorithm)
            return f"{after} sender takes {_bytes(event)} for lost and sends them again ({rule}).{cut}"
        case "probe":
            return (
                f"No ACK for {units.seconds(event.silence)}: the sender sends {_bytes(event)} as a probe, to get an"
                " answer before the timer fires (tail loss probe, RFC 8985, section 7)."
            )
        case "timeout":
            return (
                f"No ACK for {units.seconds(event.silence)}: the retransmission timer fires (RFC 6298, section 5)."
                f" {_bytes(event).capitalize()} leave again, cwnd is {event.cwnd[1]}, and slow start begins anew."
            )
    return f"{_bytes(event).capitalize()} leave again: another segment of the same recovery."


def _acknowledged(event: SenderEvent, mss: int) -> str:
    whole, rest = divmod(event.acked, mss)
    if rest:
        return f"An ACK for {event.acked:,} bytes."
    return f"An ACK for {whole:,} segment{'s' if whole > 1 else ''}."


def _window(event: SenderEvent, algorithm: str) -> str:
    before, after = event.cwnd
    if after < before:
        is_step = before - after <= _LARGEST_STEP and algorithm != "bbr"
        return f"cwnd goes from {before} to {after}{', a step of the recovery (PRR, RFC 9937)' if is_step else ''}."
    if after == before:
        return f"cwnd stays at {after}."
    if before < event.ssthresh and algorithm != "bbr":
        return (
            f"cwnd grows from {before} to {after}: in slow start, every acknowledged segment adds one (RFC 5681,"
            " section 3.1)."
        )
    rule = _CURVES.get(
        algorithm, "in congestion avoidance, a round trip adds about one (RFC 5681, section 3.1)"
    )
    return f"cwnd grows from {before} to {after}: {rule}."


def _sends(event: SenderEvent, mss: int) -> str:
    if not event.sent:
        return ""
    whole, rest = divmod(event.sent, mss)
    if rest:
        return f" {event.sent:,} new bytes leave."
    return " 1 new segment leaves." if whole == 1 else f" {whole:,} new segments leave."


def _duplicate(event: SenderEvent) -> str:
    missing = f"byte {event.first:,} is still missing"
    return f"A duplicate ACK: {missing}, and a segment behind it has arrived (RFC 5681, section 2)."


def _bytes(event: SenderEvent) -> str:
    return f"bytes {event.first:,} to {event.first + event.sent - 1:,}"


def _cut(event: SenderEvent, algorithm: str) -> str:
    before, _ = event.cwnd
    if algorithm == "bbr" or event.ssthresh >= 1 << 30 or event.ssthresh >= before:
        return ""
    return f" ssthresh is now {event.ssthresh}, from a cwnd of {before}."
