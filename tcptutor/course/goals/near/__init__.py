"""Near misses: what was done that is nearly right, and one line on why it is not."""

from __future__ import annotations

from tcptutor.course.goals.board import NearMiss
from tcptutor.course.goals.near import hosts, numbers, places, queues, runs
from tcptutor.course.goals.near.slip import Case, Slip

SLIPS: tuple[Slip, ...] = (
    *places.SLIPS,
    *numbers.SLIPS,
    *queues.SLIPS,
    *hosts.SLIPS,
    *runs.SLIPS,
)
"""In the order in which they are tried: what names a place comes before what names a value."""


def near_miss(case: Case) -> NearMiss | None:
    """What is nearly right of a goal that is not reached; None for nothing that is known."""
    return _first(case, SLIPS)


def obstacle(case: Case) -> NearMiss | None:
    """What keeps a goal from being reached whose values are all there."""
    return _first(case, tuple(slip for slip in SLIPS if slip.blocks))


def _first(case: Case, slips: tuple[Slip, ...]) -> NearMiss | None:
    return next((NearMiss(slip.kind, text) for slip in slips if (text := slip.says(case))), None)
