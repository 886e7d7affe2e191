"""What no model here counts, though an experiment may have it: how far off that may put them, and a note on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tcptutor.analysis.case import Case
from tcptutor.analysis.expected.limits import UNKNOWN
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.theory.models import LOSS_BLIND

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


def blind_spots(case: Case, throughput: float) -> Iterator[BlindSpot]:
    """What no model counts for flows of `case` that would get `throughput` bit/s."""
    path, length = case.path, case.experiment.flows.length
    if path.jitter and not case.backward:
        text = f"jitter of {units.seconds(path.jitter)} reorders segments, which no model here counts"
        late = _SPREADS * path.jitter / (REORDER_WINDOW * case.rtt)
        error = _JITTER_ERROR if late <= 1 else _MISTAKEN_ERROR if late <= 2 else UNKNOWN
        yield BlindSpot("jitter", _JITTER_ERROR if case.algorithms <= LOSS_BLIND else error, text)
    if path.reorder and not case.backward:
        text = f"{units.percent(path.reorder)} of segments overtake others, which no model here counts"
        yield BlindSpot("reordering", UNKNOWN, text)
    if length and length < case.full and throughput / (8 * length * case.number) > WRITES_A_SECOND:
        text = (
            f"writes of {units.size(length)}: how many a second is up to the processor, and no model has it"
        )
        yield BlindSpot("writes", UNKNOWN, text)
    if case.experiment.hosts.offloads and case.loss > 0 and not case.algorithms <= LOSS_BLIND:
        text = "offloads: one loss takes a packet of many segments, and the models count each segment"
        yield BlindSpot("offloads", UNKNOWN, text)
    if path.loss_burst > 1 and not case.backward:
        window = max(1.0, case.window_of(throughput))
        # netem's bad state lasts for a number of packets: the repairs of a window that it took are lost as well.
        whole = (1 - 1 / path.loss_burst) ** window
        if whole * case.loss_events(throughput) > _WHOLE_WINDOWS:
            text = f"{path.loss_burst:g} losses in a row may take a whole window and its repairs: no model has that"
            yield BlindSpot("losses in a row", UNKNOWN, text)
    if case.udp and case.rate and case.udp >= case.rate and not case.fair:
        yield BlindSpot(
            "UDP", UNKNOWN, "UDP sends more than the link carries: no model has what is left for TCP"
        )


def widened(case: Case, candidates: Sequence[Candidate]) -> list[Candidate]:
    """`candidates` with the blind spots of `case` in their tolerances."""
    return [
        replace(
            one, sure={**one.sure, **{each.name: each.error for each in blind_spots(case, one.throughput)}}
        )
        for one in candidates
    ]
