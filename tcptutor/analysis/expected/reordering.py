"""What a path that reorders segments leaves one flow, where the mistakes of its sender are known well enough."""

from __future__ import annotations

import math
from dataclasses import replace

from tcptutor import theory
from tcptutor.analysis.case import Case
from tcptutor.analysis.expected.limits import UNKNOWN
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.theory.models import ThroughputModel
from tcptutor.theory.reordering import (
    OVERTAKING_MISTAKES,
    OVERTAKING_MISTAKES_CUBIC,
    beside_link,
    jitter_window,
    overtaking_window,
)

LINK_ERROR = 0.2
"""Of a link that reordering lets a flow fill: 20 drawn runs had 0.94 of it with a standard deviation of 0.045."""

WINDOW_ERROR = 0.35
"""Of a window that reordering keeps small: 13 runs had 1.03 of it with a standard deviation of 0.14."""

_MISTAKES = {"cubic": OVERTAKING_MISTAKES_CUBIC}

FELT = 0.5
"""The link over the window that reordering allows, above which that window is felt."""

_SURE_JITTER = 0.7
"""Jitter over the delay from which RACK's waiting time is too short, whatever waits in the queue.

Below it, and above one half, a queue may lengthen the round trip, and so the waiting time, just enough.
"""


def mistakes_window(case: Case) -> float | None:
    """Return the segments a round trip at which mistaken losses keep the flow; None where that is not known.

    It is known for one flow that goes by losses, on a path with a link that only reorders.
    """
    path = case.path
    known = (
        case.number == 1
        and case.algorithms <= theory.LIMITED
        and not (case.backward or case.down or case.udp)
        and case.loss_rate <= 0
        and case.room is not None
        and path.delay > 0
        and case.qdisc == "fifo"
    )
    if not known or bool(path.jitter) == bool(path.reorder):
        return None
    if path.reorder:
        return overtaking_window(path.reorder, _MISTAKES.get(case.algorithm, OVERTAKING_MISTAKES))
    if path.jitter_shape != "uniform" or path.jitter > path.delay:
        return None
    return jitter_window(path.jitter, path.delay)


def reordering_candidate(case: Case) -> Candidate | None:
    """Return what reordering leaves the flow; None where it is not known or the link is the limit."""
    window = mistakes_window(case)
    if window is None or case.room is None:
        return None
    link = case.window_of(case.room)
    if link < FELT * window:
        return None
    segments = beside_link(window, link)
    formula = (
        f"{case.mss} B × {units.number(segments)} / {case.rtt_text()}, about a mistaken loss a round trip"
    )
    made = Candidate.of(
        case,
        ThroughputModel.REORDERING,
        theory.window_limited(segments * case.mss, case.rtt),
        formula,
        {"model": reordering_error(case) or UNKNOWN},
    )
    return replace(made, label="jitter") if case.path.jitter else made


def reordering_error(case: Case) -> float | None:
    """Return how far reordering may put the models of `case` off, relative; None where no model counts it."""
    window = mistakes_window(case)
    if window is None or case.room is None:
        return None
    link = case.window_of(case.room)
    if link < FELT * window:
        return LINK_ERROR + _growth(case, link)
    if link > window and 0 < case.path.jitter < _SURE_JITTER * case.path.delay:
        return UNKNOWN
    return WINDOW_ERROR + _growth(case, beside_link(window, link))


def _growth(case: Case, window: float) -> float:
    """Return the share of the measured mean that a flow misses at most while its window grows to `window` segments.

    The first mistakes end slow start early, and then the window grows by a segment a round trip.
    """
    flows = case.experiment.flows
    needed = window * case.rtt
    left = max(0.0, needed - flows.warmup)
    left = min(left, case.seconds)
    return left * left / (2 * needed * max(case.seconds, 1e-9)) if math.isfinite(needed) else 1.0
