"""What no model here counts, though an experiment may have it: how far off that may put them, and a note on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tcptutor.analysis.case import OFFLOAD_LEAST, Case
from tcptutor.analysis.expected.limits import UNKNOWN
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.analysis.expected.reordering import reordering_error
from tcptutor.base import units
from tcptutor.theory.models import LOSS_BLIND, ThroughputModel

WRITES_A_SECOND = 50_000
"""Writes that every computer manages: above it the processor, not the network, may set the rate.

The guest, whose processor is emulated, does 100,000 to 175,000 writes of 1 to 24 bytes a second.
"""

REORDER_WINDOW = 1 / 4
"""Share of the least RTT by which RACK lets a segment be late before it takes it for lost, at first.

Each DSACK that tells of a mistake adds as much (RFC 8985, section 6.2), so twice that costs a flow little.
"""

_SPREADS = 2
"""netem delays a segment by up to `jitter` more or less than the mean."""

_JITTER_ERROR, _MISTAKEN_ERROR = 0.1, 0.25
"""Of late segments that RACK waits for, and of those for which it learns to wait."""

OFFLOADS_ERROR = 0.2
"""Of a law that counts packets of a few segments, beside what their number of segments leaves open."""

_WHOLE_WINDOWS = 0.2
"""Windows in all of the time that may be lost whole, above which the timeouts that follow are felt."""


@dataclass(frozen=True)
class BlindSpot:
    """One thing that the models leave out."""

    name: str
    """As a part of a tolerance."""
    error: float
    """Relative; `UNKNOWN` where no prediction is claimed."""
    text: str
    """A sentence for the student."""


def blind_spots(case: Case, candidate: Candidate, losses: float = math.inf) -> Iterator[BlindSpot]:
    """Yield what `candidate` leaves out of `case`.

    losses: what the losses of the path alone would leave the flows, bit/s.
    """
    path, length, throughput = case.path, case.experiment.flows.length, candidate.throughput
    known = reordering_error(case)
    if (path.jitter or path.reorder) and known is not None:
        text = f"{units.percent(path.reorder)} of segments overtake others"
        if path.jitter:
            text = f"jitter of {units.seconds(path.jitter)} reorders segments"
        if known >= UNKNOWN:
            text += ": a queue decides whether the sender waits for late ones, and no model has that"
            yield BlindSpot("reordering", known, text)
        elif candidate.model is not ThroughputModel.REORDERING:
            yield BlindSpot("reordering", known, f"{text}: the sender takes some for lost that are only late")
    elif path.jitter and not case.backward:
        text = f"jitter of {units.seconds(path.jitter)} reorders segments, which no model here counts"
        late = _SPREADS * path.jitter / (REORDER_WINDOW * case.rtt)
        error = _JITTER_ERROR if late <= 1 else _MISTAKEN_ERROR if late <= 2 else UNKNOWN
        yield BlindSpot("jitter", _JITTER_ERROR if case.algorithms <= LOSS_BLIND else error, text)
    if path.reorder and known is None and not case.backward:
        text = f"{units.percent(path.reorder)} of segments overtake others, which no model here counts"
        yield BlindSpot("reordering", UNKNOWN, text)
    is_counted = case.on_virtual_clock and case.number == 1
    if (
        length
        and not is_counted
        and length < case.full
        and throughput / (8 * length * case.number) > WRITES_A_SECOND
    ):
        text = (
            f"writes of {units.size(length)}: how many a second is up to the processor, and no model has it"
        )
        yield BlindSpot("writes", UNKNOWN, text)
    # A packet of several segments is one loss, so flows that single losses do not hold back are not held back here.
    counts_losses = candidate.is_lossy or candidate.model is ThroughputModel.MEETING
    if (
        case.experiment.hosts.offloads
        and case.loss > 0
        and counts_losses
        and not case.algorithms <= LOSS_BLIND
    ):
        text = "offloads: one loss takes a packet of many segments, and the models count each segment"
        error = UNKNOWN
        if (segments := case.super_packet) is not None:
            text = f"offloads: one loss takes a packet of about {segments:.2g} segments"
            error = OFFLOADS_ERROR + math.sqrt(segments / OFFLOAD_LEAST) - 1
        yield BlindSpot("offloads", error, text)
    if path.loss_burst > 1 and not case.backward:
        window = _flight(case, throughput, losses)
        # netem's bad state lasts for a number of packets: the repairs of a window that it took are lost as well.
        whole = (1 - 1 / path.loss_burst) ** window
        if whole * case.loss_events(throughput) > _WHOLE_WINDOWS:
            text = f"{path.loss_burst:g} losses in a row may take a whole window and its repairs: no model has that"
            yield BlindSpot("losses in a row", UNKNOWN, text)
    if case.udp and case.rate and case.udp >= case.rate and not case.fair:
        yield BlindSpot(
            "UDP", UNKNOWN, "UDP sends more than the link carries: no model has what is left for TCP"
        )


def _flight(case: Case, throughput: float, losses: float) -> float:
    """Return the segments that a flow has in flight at `throughput` bit/s, those in a queue included.

    A flow that the link holds back, and losses would not, fills the queue up to the window that losses leave it.
    """
    window = max(1.0, case.window_of(throughput))
    if case.room is None or throughput < case.room or not math.isfinite(losses):
        return window
    queued = case.buffer / case.frame / max(1, case.number)
    return max(window, min(window + queued, case.window_of(losses)))


def losses_alone(candidates: Iterable[Candidate]) -> float:
    """Return what the believed models of random loss leave the flows, bit/s; infinite where there are none."""
    return min((one.throughput for one in candidates if one.best and one.is_lossy), default=math.inf)


def widened(case: Case, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return `candidates` with the blind spots of `case` in their tolerances."""
    losses = losses_alone(candidates)
    return [
        replace(one, sure={**one.sure, **{each.name: each.error for each in blind_spots(case, one, losses)}})
        for one in candidates
    ]
