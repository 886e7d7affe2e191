"""Kernel's response to an event of a traced run, in terms of a question's choices."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tcptutor.analysis.observed.flight import EventKind, Flight, SenderEvent, flight
from tcptutor.analysis.observed.sender_reasons import sender_reason
from tcptutor.run import Run

_RESENT: tuple[EventKind, ...] = ("loss", "retransmission", "timeout", "probe")
_SILENT: tuple[EventKind, ...] = ("timeout", "probe")
_JUST_BEFORE = 1e-6


class SenderResponse(NamedTuple):
    """Response of a sender to an event."""

    event: SenderEvent
    does: Literal["resend", "new data", "nothing"]
    cwnd: Literal["grows", "same", "cut", "one"]
    """Change of cwnd, in the end: a loss cuts it even if PRR takes a round trip for it."""
    reason: str
    """Rule behind the response, in a sentence or two."""
    before: float
    """Time just before the response, seconds: after the event before it, or at the end of a silence."""
    flight: Flight


def sender_response(run: Run, kind: EventKind, after: float = 0.0) -> SenderResponse | None:
    """Return how the run's first flow responded to an event; None without such an event.

    Args:
        run: A run, with a trace of its ACKs.
        kind: Kind of the event.
        after: Time before which events don't count, seconds.
    """
    found = flight(run, min((row.flow for row in run.acks), default=0))
    event = found.neighbor(after, 1, (kind,)) if found else None
    if found is None or event is None:
        return None
    last = None if kind in _SILENT else found.neighbor(event.t, -1)
    return SenderResponse(
        event=event,
        does="resend" if kind in _RESENT else "new data" if event.sent else "nothing",
        cwnd=_change(event),
        reason=sender_reason(event, found.algorithm, found.mss, found.sack),
        before=last.t if last else event.t - _JUST_BEFORE,
        flight=found,
    )


def _change(event: SenderEvent) -> Literal["grows", "same", "cut", "one"]:
    before, after = event.cwnd
    if event.kind == "timeout":
        return "one"
    if event.kind == "loss":
        return "cut" if event.ssthresh < before else "same"
    if after == before:
        return "same"
    return "grows" if after > before else "cut"
