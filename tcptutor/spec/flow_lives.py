"""Lives of TCP flows whose number changes during a run. Pure computation.

A pair that gets more streams connects new flows; one that gets fewer closes its youngest flows. A closed flow never
returns: later streams are new connections with numbers of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class StreamChange(NamedTuple):
    """A new number of streams of a pair, or of all pairs."""

    at: float
    """Seconds since the traffic began."""
    pair: int | None
    """Index of the pair; None for all."""
    streams: int


class FlowLife(NamedTuple):
    """Time of a TCP flow, in seconds since the traffic began."""

    pair: int
    start: float
    end: float | None
    """When the sender closes the flow; None if it sends to the end of the run."""


@lru_cache(maxsize=256)
def flow_lives(
    pairs: int, streams: int, starts: tuple[float, ...], changes: tuple[StreamChange, ...]
) -> tuple[FlowLife, ...]:
    """Return the life of every flow by its number: those of the first pair, then of the second, and so on.

    Args:
        pairs: Host pairs.
        streams: Flows of each pair at the start.
        starts: Start of each pair, of each flow with a single pair; used in turn, empty for 0.
        changes: Changes in order of time.
    """
    lives: list[FlowLife] = []
    for pair in range(pairs):
        own = [change for change in changes if change.pair in (None, pair)]
        places = range(streams) if pairs == 1 else [pair] * streams
        begins = [starts[place % len(starts)] if starts else 0.0 for place in places]
        lives += _lives_of_pair(pair, begins, own)
    return tuple(lives)


def _lives_of_pair(pair: int, starts: Sequence[float], changes: Sequence[StreamChange]) -> list[FlowLife]:
    lives = [FlowLife(pair, start, None) for start in starts]
    for change in changes:
        # Youngest last; of flows with the same start, the one with the highest number is the youngest.
        open_flows = sorted(
            (number for number, life in enumerate(lives) if life.end is None),
            key=lambda number: (lives[number].start, number),
        )
        for number in open_flows[change.streams :]:
            lives[number] = lives[number]._replace(end=change.at)
        lives += [FlowLife(pair, change.at, None)] * (change.streams - len(open_flows))
    return lives
