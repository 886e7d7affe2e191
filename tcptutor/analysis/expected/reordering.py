"""Prediction for a path that reorders segments, if the sender's spurious retransmissions are predictable."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from tcptutor import theory
from tcptutor.analysis.case import Case
from tcptutor.analysis.expected.lossless import UNKNOWN
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.theory.models import ThroughputModel
from tcptutor.theory.reordering import (
    OVERTAKING_MISTAKES,
    OVERTAKING_MISTAKES_CUBIC,
    combine_with_link,
    jitter_window,
    overtaking_window,
)

LINK_ERROR = 0.2
"""Error of a link that a reordered flow fills; 20 random runs reached 0.94 with a deviation of 0.045."""

WINDOW_ERROR = 0.35
"""Error of a window that reordering keeps small; 13 runs reached 1.03 with a deviation of 0.14."""

_MISTAKES = {"cubic": OVERTAKING_MISTAKES_CUBIC}

BINDING_RATIO = 0.5
"""Link capacity over the reordering window above which the window is the limit."""

_SURE_JITTER = 0.7
"""Jitter over delay from which RACK's waiting time is too short, with any queue.

Between one half and this value, a queue may lengthen the RTT, and with it the waiting time, enough.
"""


class _Windows(NamedTuple):
    """Segments per RTT that two limits leave a flow."""

    mistakes: float
    """Window at which spurious losses keep it."""
    link: float


def _windows(case: Case) -> _Windows | None:
    """Return the windows of reordering and of the link; None if unknown.

    They are known for a single loss-based flow on a path whose only impairment is reordering.
    """
    path = case.path
    known = (
        case.flow_count == 1
        and case.algorithms <= theory.LIMITED
        and not (case.is_reverse or case.is_cut or case.udp_rate)
        and case.loss_rate <= 0
        and path.delay > 0
        and case.qdisc == "fifo"
    )
    if not known or case.tcp_capacity is None or bool(path.jitter) == bool(path.reorder):
        return None
    link = case.window_at(case.tcp_capacity)
    if path.reorder:
        mistakes = _MISTAKES.get(case.algorithm, OVERTAKING_MISTAKES)
        return _Windows(overtaking_window(path.reorder, mistakes), link)
    if path.jitter_shape != "uniform" or path.jitter > path.delay:
        return None
    return _Windows(jitter_window(path.jitter, path.delay), link)


def reordering_candidate(case: Case) -> Candidate | None:
    """Return the prediction under reordering; None if unknown or if the link is the limit."""
    windows = _windows(case)
    if windows is None or windows.link < BINDING_RATIO * windows.mistakes:
        return None
    segments = combine_with_link(*windows)
    formula = (
        f"{case.mss} B × {units.number(segments)} / {case.rtt_text()}, about a mistaken loss a round trip"
    )
    candidate = Candidate.of(
        case,
        ThroughputModel.REORDERING,
        theory.window_limited(segments * case.mss, case.rtt),
        formula,
        {"model": reordering_error(case) or UNKNOWN},
    )
    return replace(candidate, label="jitter") if case.path.jitter else candidate


def reordering_error(case: Case) -> float | None:
    """Return the relative error of the models under reordering; None if unknown."""
    windows = _windows(case)
    if windows is None:
        return None
    window, link = windows
    if link < BINDING_RATIO * window:
        return LINK_ERROR + _growth(case, link)
    if link > window and 0 < case.path.jitter < _SURE_JITTER * case.path.delay:
        return UNKNOWN
    return WINDOW_ERROR + _growth(case, combine_with_link(window, link))


def _growth(case: Case, window: float) -> float:
    """Return the largest share of the mean that a flow misses while growing to `window` segments.

    The first spurious losses end slow start early, and then the window grows by a segment per RTT.
    """
    flows = case.experiment.flows
    needed = window * case.rtt
    left = max(0.0, needed - flows.warmup)
    left = min(left, case.seconds)
    return left * left / (2 * needed * max(case.seconds, 1e-9)) if math.isfinite(needed) else 1.0
