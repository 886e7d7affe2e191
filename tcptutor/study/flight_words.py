"""A flow's segments at an instant, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptutor.base import units

if TYPE_CHECKING:
    from tcptutor.analysis import Flight, FlightState

_SHORTEST_AGO = 1e-6
"""Seconds below which an event is the present."""


def instant_in_words(flight: Flight, t: float) -> str:
    """Describe the positions of segments at `t` seconds, and the sender's last action."""
    state = flight.at(t)
    waiting = sum(each.place == "queue" for each in state.segments)
    return (
        f"At {t:.4f} s cwnd is {state.cwnd} segments: {len(state.segments) - waiting} are under way and {waiting}"
        f" wait in the queue. {last_event(flight, state)}"
    )


def last_event(flight: Flight, state: FlightState) -> str:
    """Describe the sender's last action and its reason."""
    from tcptutor.analysis import sender_reason  # noqa: PLC0415  # takes a tenth of a second to import

    if state.event is None:
        return "The first window is under way; no ACK has arrived yet."
    ago = state.t - state.event.t
    when = f"{units.seconds(ago)} ago: " if ago > _SHORTEST_AGO else ""
    return when + sender_reason(state.event, flight.algorithm, flight.mss, flight.sack)
