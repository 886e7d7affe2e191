"""Impairments of the path: the prediction under reordering, and effects that no model covers.

A path that reorders segments has a prediction if the sender's spurious retransmissions are predictable. Every other
effect widens the tolerance and has a note.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tcptutor import theory
from tcptutor.analysis.case import OFFLOAD_LEAST, Case
from tcptutor.analysis.expected.lossless import UNKNOWN
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import sizes, units
from tcptutor.spec.rate_trace import summary
from tcptutor.theory.loss_laws import (
    OVERTAKING_MISTAKES,
    OVERTAKING_MISTAKES_CUBIC,
    combine_with_link,
    jitter_window,
    overtaking_window,
)
from tcptutor.theory.models import LOSS_BLIND, ThroughputModel

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


def _growth(case: Case, window: float) -> float:
    """Return the largest share of the mean that a flow misses while growing to `window` segments.

    The first spurious losses end slow start early, and then the window grows by a segment per RTT.
    """
    flows = case.experiment.flows
    needed = window * case.rtt
    left = max(0.0, needed - flows.warmup)
    left = min(left, case.seconds)
    return left * left / (2 * needed * max(case.seconds, 1e-9)) if math.isfinite(needed) else 1.0


def widen_tolerances(case: Case, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return `candidates` with the blind spots of `case` added to their tolerances."""
    losses = losses_alone(candidates)
    return [
        replace(
            one, errors={**one.errors, **{each.name: each.error for each in blind_spots(case, one, losses)}}
        )
        for one in candidates
    ]


def losses_alone(candidates: Iterable[Candidate]) -> float:
    """Return the throughput of the believed loss models, bit/s; infinite without any."""
    return min((one.throughput for one in candidates if one.is_expected and one.is_lossy), default=math.inf)


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
    path, throughput = case.path, candidate.throughput
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
    yield from _application(case, throughput)
    if candidate.limited_by in ("bottleneck", "random-loss"):
        yield from _unsteady_link(case)
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


def _unsteady_link(case: Case) -> Iterator[BlindSpot]:
    """Yield what varies the room on the link: a trace of its rate, and short flows."""
    if case.path.rate_trace and not case.is_reverse:
        yield _trace(case)
    if case.short_rate and case.rate:
        share = case.short_rate / case.rate
        text = (
            f"short flows take {units.percent(share, 2)} of the link, and their bursts cost the others more"
        )
        yield BlindSpot("short flows", min(UNKNOWN, share / max(0.01, 1 - share)), text)


def _pauses_text(case: Case) -> str:
    experiment = case.experiment
    if any(experiment.message(flow.number) is not None for flow in case.flows):
        what = "sends messages and waits in between"
    elif any(experiment.request(flow.number) is not None for flow in case.flows):
        what = "answers one request after the other"
    else:
        what = "pauses again and again"
    return f"an application {what}, which no model has"


def _trace(case: Case) -> BlindSpot:
    """Return the effect of a rate that follows a trace: a step up is used late, and a step down fills the queue."""
    start = case.experiment.flows.warmup
    rates = [(at, rate) for at, rate in case.path.rate_trace if at < case.experiment.seconds]
    mean = case.path.rate or 1.0
    ends = [*(at for at, _ in rates[1:]), case.experiment.seconds]
    seconds = max(1e-9, case.experiment.seconds - start)
    above = math.fsum(
        max(0.0, rate - mean) * max(0.0, until - max(at, start))
        for (at, rate), until in zip(rates, ends, strict=True)
    )
    steps = summary(case.path.rate_trace)
    text = f"the rate follows a trace ({steps}): expected is its mean, without the time to follow it"
    return BlindSpot("trace", min(UNKNOWN, above / seconds / mean), text)


def _application(case: Case, throughput: float) -> Iterator[BlindSpot]:
    """Yield the effects of an application that writes little at a time, or not all the time."""
    length = case.experiment.flows.length
    is_counted = case.on_virtual_clock and case.flow_count == 1
    if (
        length
        and not is_counted
        and length < case.segment
        and throughput / (8 * length * case.flow_count) > WRITES_A_SECOND
    ):
        text = f"writes of {sizes.decimal(length)}: how many a second is up to the processor, and no model has it"
        yield BlindSpot("writes", UNKNOWN, text)
    if any(flow.pauses for flow in case.flows):
        yield BlindSpot("messages", UNKNOWN, _pauses_text(case))


def _flight(case: Case, throughput: float, losses: float) -> float:
    """Return the segments in flight per flow at an aggregate `throughput`, bit/s, including queued ones.

    A flow limited by the link, not by losses, fills the queue up to its window under losses.
    """
    window = max(1.0, case.window_at(throughput))
    if case.tcp_capacity is None or throughput < case.tcp_capacity or not math.isfinite(losses):
        return window
    queued = case.buffer / case.frame / max(1, case.flow_count)
    return max(window, min(window + queued, case.window_at(losses)))


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
