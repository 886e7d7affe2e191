"""Why the flows of a run were no faster: for each second, for each flow, and for all in one sentence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from tcptutor.analysis.case import path_known
from tcptutor.analysis.cause import LossKind, cause, is_lossy
from tcptutor.analysis.evidence import Evidence, gather, of_window
from tcptutor.analysis.fairness import converged, fairness
from tcptutor.analysis.link import Links, links_of
from tcptutor.analysis.losses import Events, losses
from tcptutor.analysis.measure import Measured, measure
from tcptutor.analysis.model import FlowVerdict, LimitedBy, Second, Verdict
from tcptutor.analysis.phases import phases
from tcptutor.analysis.seconds import seconds
from tcptutor.analysis.sentence import flow_sentence, sentence
from tcptutor.analysis.trace import Window
from tcptutor.run import Run

_ORDER: tuple[LimitedBy, ...] = (
    "application", "timeout", "pacing", "bottleneck", "receive-window", "send-buffer", "reordering", "random-loss",
    "growing",
)  # fmt: skip
"""Of two causes with equal shares of the time the first."""

_WHOLE: frozenset[LimitedBy] = frozenset({"application", "timeout"})
"""What limits a flow by the time that it takes in all, though no single second may be full of it."""

_UNKNOWN_PATH = "its path is not known: import it with --set rate=... to compare it"


def explain(run: Run) -> Verdict:
    """What limited `run`, by the kernel's own account of its time. Never raises, whatever the run lacks."""
    return verdict(run, measure(run))


def verdict(run: Run, measured: Measured) -> Verdict:
    """The same, when it has been measured already."""
    links = links_of(run)
    events = {
        trace.flow: losses(run, trace, links[run.experiment.reversed(trace.flow)])
        for trace in measured.traces
    }
    flows = _flows(run, measured, links, events)
    shared = fairness(flows)
    seen = gather(run, measured, links)
    if seen is None:
        said = "nothing was measured" if run.complete else "cut short before anything could be measured"
        return Verdict(limited_by="growing", sentence=said, evidence={}, flows=flows, fairness=shared)
    whole = cause(run.experiment, seen, _kind(run, seen, measured.windows, events))
    name = _chosen(whole, _together(flow.shares for flow in flows))
    return Verdict(
        limited_by=name,
        sentence=sentence(run.experiment, name, seen, flows) if path_known(run) else _UNKNOWN_PATH,
        evidence=seen.as_dict(),
        flows=flows,
        fairness=shared,
        converged_s=converged(shared),
    )


def _flows(run: Run, measured: Measured, links: Links, events: Events) -> tuple[FlowVerdict, ...]:
    """Each flow that was seen long enough, by itself: the link's use is its own, that of all is the run's."""
    by_flow = seconds(run, measured.traces, links, events)
    windows = {window.flow: window for window in measured.windows}
    made = []
    for trace in measured.traces:
        mine = by_flow[trace.flow]
        if not mine:
            continue
        shares = _shares(run, mine)
        window = windows.get(trace.flow, Window(trace, 0, len(trace)))
        seen = of_window(run, window, links[run.experiment.reversed(trace.flow)])
        name = _chosen(cause(run.experiment, seen, _kind(run, seen, [window], events)), shares)
        made.append(
            FlowVerdict(
                flow=trace.flow,
                limited_by=name,
                sentence=flow_sentence(run.experiment, name, seen) if path_known(run) else _UNKNOWN_PATH,
                shares=shares,
                seconds=mine,
                phases=phases(trace, run.experiment.algorithm(trace.flow)),
            )
        )
    return tuple(made)


def _kind(run: Run, seen: Evidence, windows: Iterable[Window], events: Events) -> LossKind | None:
    """What most losses of the measured time came from; None without any."""
    found: Counter[LossKind] = Counter()
    for window in windows:
        found.update(loss.kind for loss in events[window.flow] if window.start < loss.t <= window.until)
    if found:
        return max(sorted(found), key=lambda kind: found[kind])
    if not is_lossy(seen):
        return None
    return "random-loss" if run.experiment.path.loss > 0 else "bottleneck"


def _shares(run: Run, found: Sequence[Second]) -> dict[LimitedBy, float]:
    """Of the measured time; of all the time for a flow that ended in the warm-up."""
    warmup = run.experiment.flows.warmup
    for since in (warmup, 0.0):
        took: dict[LimitedBy, float] = {}
        for second in found:
            length = second.end - max(second.start, since)
            if length > 0.05:
                took[second.limited_by] = took.get(second.limited_by, 0.0) + length
        if took:
            return _ordered(took)
    return {}


def _together(shares: Iterable[dict[LimitedBy, float]]) -> dict[LimitedBy, float]:
    """The mean over the flows."""
    took: dict[LimitedBy, float] = {}
    for one in shares:
        for name, share in one.items():
            took[name] = took.get(name, 0.0) + share
    return _ordered(took)


def _ordered(took: dict[LimitedBy, float]) -> dict[LimitedBy, float]:
    total = math.fsum(took.values())
    ranked = sorted(took, key=lambda name: (-round(took[name], 6), _ORDER.index(name)))
    return {name: took[name] / total for name in ranked}


def _chosen(whole: LimitedBy, shares: dict[LimitedBy, float]) -> LimitedBy:
    """The cause that took the most time, unless all the time together says what no second can."""
    return whole if whole in _WHOLE or not shares else next(iter(shares))
