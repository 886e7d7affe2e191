"""Why the flows of a run were no faster: one cause, in a sentence for the student, with its evidence."""

from __future__ import annotations

from tcptutor import units
from tcptutor.analysis.case import path_known
from tcptutor.analysis.evidence import Evidence, gather
from tcptutor.analysis.lossy import LOSS_BLIND
from tcptutor.analysis.measure import Measured, measure
from tcptutor.analysis.model import LimitedBy, Verdict
from tcptutor.run import Run
from tcptutor.spec import Experiment

MOSTLY = 0.5
"""Share of the busy time from which a window or buffer is what limits."""

BUSY = 0.8
"""Share of the time with data to send below which the application is what limits."""

STALLED = 0.3
"""Share of the time lost to timeouts from which they are what limits."""

FULL = 0.95
"""Share of its goodput from which a link is full, queue or not."""

SATURATED = 0.98
"""Share of its goodput from which more window or buffer would gain nothing."""

QUEUED = 0.85
"""Share of its goodput from which a link with a standing queue is full most of the time."""

RISING = 1.1
"""Growth of the window over the measured time from which a flow is still growing."""

_UNKNOWN_PATH = "its path is not known: import it with --set rate=... to compare it"


def explain(run: Run) -> Verdict:
    """What limited `run`, by the kernel's own account of its time. Never raises, whatever the run lacks."""
    return verdict(run, measure(run))


def verdict(run: Run, measured: Measured) -> Verdict:
    """The same, when it has been measured already."""
    seen = gather(run, measured)
    if seen is None:
        sentence = "nothing was measured" if run.complete else "cut short before anything could be measured"
        return Verdict(limited_by="growing", sentence=sentence, evidence={})
    cause = _cause(run.experiment, seen)
    sentence = _sentence(cause, run.experiment, seen) if path_known(run) else _UNKNOWN_PATH
    return Verdict(limited_by=cause, sentence=sentence, evidence=seen.as_dict())


def _cause(experiment: Experiment, seen: Evidence) -> LimitedBy:
    """The first that holds: what keeps the sender from sending comes before what the network does to it."""
    used = seen.link_used or 0.0
    full = used >= FULL or (used >= QUEUED and seen.standing_queue)
    windowed, buffered = _receiver_limits(seen), seen.sndbuf_limited >= MOSTLY
    rules: tuple[tuple[LimitedBy, bool], ...] = (
        ("application", seen.busy < BUSY),
        ("timeout", seen.stalled >= STALLED and seen.retransmits > 0),
        ("pacing", _paced(experiment, seen) and not (full and seen.standing_queue)),
        # A window of just the path's size fills the link without a queue, and is still the limit.
        ("bottleneck", full and (seen.standing_queue or used >= SATURATED or not (windowed or buffered))),
        ("receive-window", windowed),
        ("send-buffer", buffered),
        ("application", seen.app_limited >= MOSTLY),
        ("bottleneck", used >= 0.8 and experiment.hosts.algorithm in LOSS_BLIND),
        ("reordering", seen.reordered >= max(3, seen.loss_events)),
        ("random-loss", _lossy(seen) and experiment.path.loss > 0),
        ("bottleneck", _lossy(seen)),
        ("growing", seen.cwnd_growth >= RISING),
        ("bottleneck", used >= QUEUED or experiment.path.rate is None),
    )
    return next((cause for cause, holds in rules if holds), "growing")


def _lossy(seen: Evidence) -> bool:
    return seen.loss_events > 0 or seen.retransmits > 0


def _pacing(experiment: Experiment) -> float | None:
    """The largest rate that each flow may have, bit/s, by the application or by fq; None when nothing paces it."""
    rates = [rate for rate in (experiment.flows.pacing, experiment.hosts.maxrate) if rate is not None]
    return min(rates) if rates else None


def _paced(experiment: Experiment, seen: Evidence) -> bool:
    """Whether the flows go as fast as the application lets them."""
    pacing = _pacing(experiment)
    return pacing is not None and seen.throughput_bps >= 0.9 * pacing * experiment.total_streams


def _receiver_limits(seen: Evidence) -> bool:
    """By the kernel's own count, or because a window's worth is in flight and cwnd would allow more."""
    window = seen.receiver_window_bytes
    filled = 0 < window < seen.cwnd_bytes and seen.in_flight_bytes >= 0.8 * window
    return seen.rwnd_limited >= MOSTLY or (filled and seen.rwnd_limited >= 0.1)


def _sentence(cause: LimitedBy, experiment: Experiment, seen: Evidence) -> str:
    text = _reason(cause, experiment, seen)
    if seen.link_used is not None:
        text += f"; the link is {_percent(seen.link_used)} used"
    return text


def _reason(cause: LimitedBy, experiment: Experiment, seen: Evidence) -> str:  # noqa: PLR0911  (one for each cause)
    match cause:
        case "application":
            busy = min(seen.busy, 1 - seen.app_limited)
            return f"the application had data to send {_percent(busy)} of the time"
        case "receive-window":
            # What was asked for, as the student wrote it: the kernel rounds it by the window scale.
            window = experiment.hosts.window or seen.receiver_window_bytes
            return "the receiver's window" + (f", {units.size(window)}," if window else "") + " is full"
        case "send-buffer":
            return f"the send buffer was full {_percent(seen.sndbuf_limited)} of the time"
        case "pacing":
            by = "fq" if experiment.flows.pacing is None else "the application"
            return f"{by} paces each flow at {units.rate(_pacing(experiment) or 0)}"
        case "random-loss":
            return f"random loss, {units.percent(experiment.path.loss)}"
        case "bottleneck":
            return _bottleneck(experiment, seen)
        case "growing" if seen.cwnd_growth >= RISING:
            return f"the window was still growing, {seen.cwnd_growth:.2g}-fold in this run"
        case "growing":
            return "nothing limited it yet: run for longer"
        case "reordering":
            return f"segments arrived out of order {seen.reordered} times, and TCP took some for lost"
        case "timeout":
            return f"waiting for timeouts took {_percent(seen.stalled)} of the time"


def _bottleneck(experiment: Experiment, seen: Evidence) -> str:
    if experiment.path.rate is None:
        return "no rate is set: this computer is the bottleneck"
    if seen.standing_queue:
        return f"the bottleneck is full, its queue adds {units.seconds(seen.queueing_s, 2)}"
    if _lossy(seen) and (seen.link_used or 0) < FULL:
        return f"the bottleneck's short queue overflows, {seen.retransmits} segments were sent again"
    return "the bottleneck is full"


def _percent(share: float) -> str:
    return f"{100 * share:.1g} %" if 0 < share < 0.01 else f"{round(100 * share)} %"
