"""Near misses: actions that are almost right, each explained in a line."""

from __future__ import annotations

from tcptutor.course.goals.board import NearMiss
from tcptutor.course.goals.near_misses import host_settings, placement, qdisc_settings, run_settings, values
from tcptutor.course.goals.near_misses.slip import Attempt, Slip

SLIPS: tuple[Slip, ...] = (
    *placement.SLIPS,
    *values.SLIPS,
    *qdisc_settings.SLIPS,
    *host_settings.SLIPS,
    *run_settings.SLIPS,
)
"""Rules in the order of trial: misplaced settings before wrong values."""


def near_miss(attempt: Attempt) -> NearMiss | None:
    """Return the near miss of a goal that is not reached, or None."""
    return _first(attempt, SLIPS)


def obstacle(attempt: Attempt) -> NearMiss | None:
    """Return the near miss that blocks a goal in spite of its values, or None."""
    return _first(attempt, tuple(slip for slip in SLIPS if slip.blocks))


def _first(attempt: Attempt, slips: tuple[Slip, ...]) -> NearMiss | None:
    return next((NearMiss(slip.kind, text) for slip in slips if (text := slip.explain(attempt))), None)
