"""Near misses: actions that are almost right, each explained in a line."""

from __future__ import annotations

from tcptutor.course.goals.goal import NearMiss
from tcptutor.course.goals.near_misses.host_and_run import HOST_SLIPS, RUN_SLIPS
from tcptutor.course.goals.near_misses.path_settings import PLACEMENT_SLIPS, VALUE_SLIPS
from tcptutor.course.goals.near_misses.qdisc_settings import QDISC_SLIPS
from tcptutor.course.goals.near_misses.slip import Attempt, Slip

SLIPS: tuple[Slip, ...] = (
    *PLACEMENT_SLIPS,
    *VALUE_SLIPS,
    *QDISC_SLIPS,
    *HOST_SLIPS,
    *RUN_SLIPS,
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
