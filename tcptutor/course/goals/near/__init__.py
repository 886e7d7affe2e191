"""Near misses: what was done that is nearly right, and one line on why it is not."""

from __future__ import annotations

from tcptutor.course.goals.board import NearMiss
from tcptutor.course.goals.near import hosts, numbers, places, queues, runs
from tcptutor.course.goals.near.slip import Attempt, Slip

SLIPS: tuple[Slip, ...] = (
    *places.SLIPS,
    *numbers.SLIPS,
    *queues.SLIPS,
    *hosts.SLIPS,
    *runs.SLIPS,
)
"""In the order in which they are tried: what names a place comes before what names a value."""


def near_miss(attempt: Attempt) -> NearMiss | None:
    """What is nearly right of a goal that is not reached; None for nothing that is known."""
    return _first(attempt, SLIPS)


def obstacle(attempt: Attempt) -> NearMiss | None:
    """What keeps a goal from being reached whose values are all there."""
    return _first(attempt, tuple(slip for slip in SLIPS if slip.blocks))


def _first(attempt: Attempt, slips: tuple[Slip, ...]) -> NearMiss | None:
    return next((NearMiss(slip.kind, text) for slip in slips if (text := slip.says(attempt))), None)
