"""What made a sender cut its window, event by event: a queue that overflowed or marked, the path, or reordering."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tcptutor.analysis.cause import LossKind
from tcptutor.analysis.link import Bottleneck, lossy
from tcptutor.analysis.trace import Trace
from tcptutor.run import Run

_SOON = 0.1
"""Seconds that the news of a drop may take beside the round trip: delayed and reordered acknowledgements."""


@dataclass(frozen=True)
class Loss:
    """One loss event."""

    t: float
    kind: LossKind
    cwnd: float
    """Before it, segments."""


Events = Mapping[int, Sequence[Loss]]
"""The losses of each flow, by its number."""


def losses(run: Run, trace: Trace, link: Bottleneck) -> list[Loss]:
    """In order of time.

    A queue that dropped in the round trip before tells an overflow. Where it did not, or was not measured, the loss is
    the path's if the experiment says that it loses segments then; else reordering if the sender found such, or the
    path makes it; else it can only have been a queue.
    """
    experiment = run.experiment
    random = lossy(experiment)
    shuffles = experiment.path.jitter > 0 or experiment.path.reorder > 0
    times, rtts, cwnds = trace.column("t"), trace.column("rtt"), trace.column("cwnd")
    marks, retransmits = trace.column("delivered_ce"), trace.column("retransmits")
    found = [trace.column("reord_seen"), trace.column("dsack_dups")]

    def kind(at: int) -> LossKind:
        now, reach = times[at], 1.5 * rtts[at] + _SOON
        if marks[at] > marks[at - 1] and retransmits[at] == retransmits[at - 1]:
            return "bottleneck"
        if link.drops(now - reach, now) > 0:
            return "bottleneck"
        if random(now - reach) or random(now):
            return "random-loss"
        later = min(len(times), bisect_right(times, now + reach)) - 1
        if shuffles or any(column[later] > column[at - 1] for column in found):
            return "reordering"
        return "bottleneck"

    return [Loss(times[at], kind(at), cwnds[at - 1]) for at in trace.loss_events]


def holding(events: Sequence[Loss], start: float, end: float, cwnd: float, last: float) -> LossKind | None:
    """The kind of loss that holds the window down between `start` and `end`; None where it grows freely.

    A sawtooth is one thing, not a loss now and growth then: between two losses the window is what they leave of it.
    After the last one that is so until the window, `cwnd` segments on average, is back where it was, and for as long
    as the next loss may take (twice the mean time between losses, `last` being the end of the flow); before the first
    one the window grows.
    """
    inside = [event.kind for event in events if start < event.t <= end]
    if inside:
        return max(sorted(set(inside)), key=inside.count)
    before = [event for event in events if event.t <= start]
    after = [event for event in events if event.t > end]
    if not before:
        return None
    if after or cwnd < before[-1].cwnd:
        return before[-1].kind if cwnd < before[-1].cwnd or not after else after[0].kind
    spacing = (before[-1].t - before[0].t) / (len(before) - 1) if len(before) > 1 else 0.0
    return before[-1].kind if last - before[-1].t < 2 * spacing else None
