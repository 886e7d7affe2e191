"""Effects that no model covers: their influence on the tolerance, and notes about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tcptutor.analysis.case import OFFLOAD_LEAST, Case
from tcptutor.analysis.expected.lossless import UNKNOWN
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.analysis.expected.reordering import reordering_error
from tcptutor.base import units
from tcptutor.theory.models import LOSS_BLIND, ThroughputModel

WRITES_A_SECOND = 50_000
"""Writes per second that any computer can handle; above it, the processor may set the rate.

The emulated processor of the guest handles 100,000 to 175,000 writes of 1 to 24 bytes per second.
"""

REORDER_WINDOW = 1 / 4
"""RACK's initial reordering window over the least RTT (RFC 8985, section 6.2).

Each DSACK enlarges the window by the same amount, so delays of up to twice that cost a flow little.
"""

_SPREADS = 2
"""netem's delay varies by up to `jitter` on both sides of the mean."""

_JITTER_ERROR, _MISTAKEN_ERROR = 0.1, 0.25
"""Errors for late segments within RACK's window, and within the window after it has grown."""

OFFLOADS_ERROR = 0.2
"""Error of a law that counts packets of a few segments, in addition to the uncertain packet size."""

_WHOLE_WINDOWS = 0.2
"""Expected number of fully lost windows above which the timeouts matter."""


@dataclass(frozen=True)
class BlindSpot:
    """Effect that the models leave out."""

    name: str
    """Key in the tolerance."""
    error: float
    """Relative error; `UNKNOWN` if no prediction is made."""
    text: str
    """Sentence for the student."""


def blind_spots(case: Case, candidate: Candidate, losses: float = math.inf) -> Iterator[BlindSpot]:
    """Yield the effects in `case` that `candidate` leaves out.

    Args:
        case: The case.
        candidate: The prediction to check.
        losses: Throughput under the path's losses alone, bit/s.
    """
    path, length, throughput = case.path, case.experiment.flows.length, candidate.throughput
    reordering = reordering_error(case)
    if (path.jitter or path.reorder) and reordering is not None:
        text = f"{units.percent(path.reorder)} of segments overtake others"
        if path.jitter:
            text = f"jitter of {units.seconds(path.jitter)} reorders segments"
        if reordering >= UNKNOWN:
            text += ": a queue decides whether the sender waits for late ones, and no model has that"
            yield BlindSpot("reordering", reordering, text)
        elif candidate.model is not ThroughputModel.REORDERING:
            yield BlindSpot(
                "reordering", reordering, f"{text}: the sender takes some for lost that are only late"
            )
    elif path.jitter and not case.is_reverse:
        text = f"jitter of {units.seconds(path.jitter)} reorders segments, which no model here counts"
        late = _SPREADS * path.jitter / (REORDER_WINDOW * case.rtt)
        error = _JITTER_ERROR if late <= 1 else _MISTAKEN_ERROR if late <= 2 else UNKNOWN
        yield BlindSpot("jitter", _JITTER_ERROR if case.algorithms <= LOSS_BLIND else error, text)
    if path.reorder and reordering is None and not case.is_reverse:
        text = f"{units.percent(path.reorder)} of segments overtake others, which no model here counts"
        yield BlindSpot("reordering", UNKNOWN, text)
    is_counted = case.on_virtual_clock and case.flow_count == 1
    if (
        length
        and not is_counted
        and length < case.segment
        and throughput / (8 * length * case.flow_count) > WRITES_A_SECOND
    ):
        text = (
            f"writes of {units.size(length)}: how many a second is up to the processor, and no model has it"
        )
        yield BlindSpot("writes", UNKNOWN, text)
    # A lost packet of several segments is one event, and matters only to flows that single losses hold back.
    counts_losses = candidate.is_lossy or candidate.model is ThroughputModel.MEETING
    if (
        case.experiment.hosts.offloads
        and case.loss > 0
        and counts_losses
        and not case.algorithms <= LOSS_BLIND
    ):
        text = "offloads: one loss takes a packet of many segments, and the models count each segment"
        error = UNKNOWN
        if (segments := case.offloaded_segments) is not None:
            text = f"offloads: one loss takes a packet of about {segments:.2g} segments"
            error = OFFLOADS_ERROR + math.sqrt(segments / OFFLOAD_LEAST) - 1
        yield BlindSpot("offloads", error, text)
    if path.loss_burst > 1 and not case.is_reverse:
        window = _flight(case, throughput, losses)
        # netem's bad state lasts for a number of packets, so the window's retransmissions are lost too.
        window_loss = (1 - 1 / path.loss_burst) ** window
        if window_loss * case.loss_events(throughput) > _WHOLE_WINDOWS:
            text = f"{path.loss_burst:g} losses in a row may take a whole window and its repairs: no model has that"
            yield BlindSpot("losses in a row", UNKNOWN, text)
    if case.udp_rate and case.rate and case.udp_rate >= case.rate and not case.is_fair:
        yield BlindSpot(
            "UDP", UNKNOWN, "UDP sends more than the link carries: no model has what is left for TCP"
        )


def _flight(case: Case, throughput: float, losses: float) -> float:
    """Return the segments in flight per flow at an aggregate `throughput`, bit/s, including queued ones.

    A flow limited by the link, not by losses, fills the queue up to its window under losses.
    """
    window = max(1.0, case.window_at(throughput))
    if case.tcp_capacity is None or throughput < case.tcp_capacity or not math.isfinite(losses):
        return window
    queued = case.buffer / case.frame / max(1, case.flow_count)
    return max(window, min(window + queued, case.window_at(losses)))


def losses_alone(candidates: Iterable[Candidate]) -> float:
    """Return the throughput of the believed loss models, bit/s; infinite without any."""
    return min((one.throughput for one in candidates if one.is_expected and one.is_lossy), default=math.inf)


def widen_tolerances(case: Case, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return `candidates` with the blind spots of `case` added to their tolerances."""
    losses = losses_alone(candidates)
    return [
        replace(
            one, errors={**one.errors, **{each.name: each.error for each in blind_spots(case, one, losses)}}
        )
        for one in candidates
    ]
