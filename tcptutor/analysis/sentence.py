"""What limited a run, in a sentence for the student, with the numbers that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from tcptutor import units
from tcptutor.analysis.cause import BUSY, FULL, MOSTLY, RISING, is_lossy, pacing
from tcptutor.analysis.evidence import Evidence
from tcptutor.analysis.model import FlowVerdict, LimitedBy
from tcptutor.spec import Change, Experiment

LONGEST = 110
"""Characters: what does not fit is left out, the least important first."""

_QUEUE_NAMES = {"codel": "CoDel", "fq_codel": "FQ-CoDel", "cake": "CAKE", "red": "RED"}
"""Disciplines that drop before they must."""

_STRETCHES = 3
"""More than that many causes in turn are not a story."""

NAMES: dict[LimitedBy, str] = {
    "application": "the application",
    "receive-window": "the receiver's window",
    "send-buffer": "the send buffer",
    "pacing": "pacing",
    "random-loss": "random loss",
    "bottleneck": "the bottleneck",
    "growing": "slow growth",
    "reordering": "reordering",
    "timeout": "timeouts",
}


def sentence(experiment: Experiment, cause: LimitedBy, seen: Evidence, flows: Sequence[FlowVerdict]) -> str:
    """What limited all flows, how that changed over time or differs between them, and how full the link is."""
    reason = _reason(cause, experiment, seen)
    used = "" if seen.link_used is None else f"; the link is {_percent(seen.link_used)} used"
    told = _others(cause, flows) or _over_time(experiment, flows)
    changed = _changed(experiment)
    wordings = (
        f"{changed}{reason}{told}{used}",
        f"{changed}{reason}{told}",
        f"{changed}{reason}{used}",
        f"{changed}{reason}",
        f"{reason}{told}{used}",
        f"{reason}{told}",
        f"{reason}{used}",
    )
    return next((text for text in wordings if len(text) <= LONGEST), reason)


def flow_sentence(experiment: Experiment, cause: LimitedBy, seen: Evidence) -> str:
    """What limited one flow."""
    return _reason(cause, experiment, seen)


def _others(cause: LimitedBy, flows: Sequence[FlowVerdict]) -> str:
    """Which flows had another limit: "; flow 2: the receiver's window"; empty when none had."""
    different = [flow for flow in flows if flow.limited_by != cause]
    if not different or len(flows) < 2:
        return ""
    common, number = Counter(flow.limited_by for flow in different).most_common(1)[0]
    who = f"flow {different[0].flow + 1}" if number == 1 else f"{number} of {len(flows)} flows"
    return f"; {who}: {NAMES[common]}"


def _over_time(experiment: Experiment, flows: Sequence[FlowVerdict]) -> str:
    """The causes in turn: " (first slow growth, 4 s, then the bottleneck, 6 s)"; empty for one, or for too many."""
    stretches = [one for one in _stretches(flows, experiment.flows.warmup) if one[1] >= 0.5]
    total = sum(length for _, length in stretches)
    long_enough = all(length >= 0.1 * total for _, length in stretches)
    if not 2 <= len(stretches) <= _STRETCHES or not long_enough:
        return ""
    words = [f"{NAMES[name]}, {length:.0f} s" for name, length in stretches]
    return f" (first {', then '.join(words)})"


def _stretches(flows: Sequence[FlowVerdict], warmup: float) -> list[tuple[LimitedBy, float]]:
    """What limited most of the flows, and how many seconds on end, in the measured time."""
    by_second: dict[int, Counter[LimitedBy]] = {}
    lengths: dict[int, float] = {}
    for flow in flows:
        for second in flow.seconds:
            if second.start >= warmup - 0.05:
                by_second.setdefault(int(second.start + 0.05), Counter())[second.limited_by] += 1
                key = int(second.start + 0.05)
                lengths[key] = max(lengths.get(key, 0.0), second.end - second.start)
    named = [(found.most_common(1)[0][0], lengths[key]) for key, found in sorted(by_second.items())]
    return [
        (name, sum(length for _, length in group)) for name, group in groupby(named, key=lambda one: one[0])
    ]


def _changed(experiment: Experiment) -> str:
    """The first change of the path in the measured time: "at 4 s the rate became 2 Mbit/s: "; empty without one."""
    for change in experiment.path.changes:
        if change.at > experiment.flows.warmup:
            return f"at {units.seconds(change.at)} {_change(change)}: "
    return ""


def _change(change: Change) -> str:
    match change.name:
        case "link":
            return "the link came up" if change.value else "the link went down"
        case "rate":
            return f"the rate became {units.rate(change.value)}"
        case "loss":
            return f"the loss became {units.percent(change.value)}"
        case "queue":
            return f"the queue became {units.size(change.value)}"
        case _:
            return f"the {change.name} became {units.seconds(change.value)}"


def _reason(cause: LimitedBy, experiment: Experiment, seen: Evidence) -> str:  # noqa: PLR0911  (one for each cause)
    match cause:
        case "application":
            if seen.busy < BUSY:
                return f"the application had data to send {_percent(seen.busy)} of the time"
            return f"the application writes too slowly, TCP waited for data {_percent(seen.app_limited)} of the time"
        case "receive-window":
            return _window(experiment, seen)
        case "send-buffer":
            return _buffer(experiment, seen)
        case "pacing":
            by = "fq" if experiment.flows.pacing is None else "the application"
            return f"{by} paces each flow at {units.rate(_bound(experiment))}"
        case "random-loss":
            return _random(experiment, seen)
        case "bottleneck":
            return _bottleneck(experiment, seen)
        case "growing" if seen.cwnd_growth >= RISING:
            return f"the window was still growing, {seen.cwnd_growth:.2g}-fold in this run"
        case "growing":
            return "nothing limited it yet: run for longer"
        case "reordering":
            return f"segments arrived out of order {seen.reordered} times, and TCP took some for lost"
        case "timeout":
            times = f" ({seen.timeouts} of them)" if seen.timeouts else ""
            return f"waiting for timeouts{times} took {_percent(seen.stalled)} of the time"


def _window(experiment: Experiment, seen: Evidence) -> str:
    # What was asked for, as the student wrote it: the kernel rounds it by the window scale.
    window = experiment.hosts.window or seen.receiver_window_bytes
    size = f", {units.size(window)}," if window else ""
    if seen.rwnd_limited >= MOSTLY:
        return f"the receiver's window{size} was full {_percent(seen.rwnd_limited)} of the time"
    return f"the receiver's window{size} is full"


def _buffer(experiment: Experiment, seen: Evidence) -> str:
    if seen.sndbuf_limited >= MOSTLY:
        return f"the send buffer was full {_percent(seen.sndbuf_limited)} of the time"
    asked = experiment.hosts.send_buffer or experiment.flows.buffer or seen.send_buffer_bytes
    return f"the send buffer, {units.size(asked)}, was full: it has no room for more on its way"


def _bound(experiment: Experiment) -> float:
    """As the student wrote it: fq's bound is of frames."""
    return (pacing(experiment) if experiment.flows.pacing is not None else experiment.hosts.maxrate) or 0.0


def _random(experiment: Experiment, seen: Evidence) -> str:
    loss = experiment.path.loss
    what = (
        f"random loss, {units.percent(loss)}" + ("," if seen.loss_events else "") if loss else "random loss"
    )
    if not seen.loss_events:
        return what
    return (
        f"{what} cut the window {seen.loss_events} times"
        if seen.loss_events > 1
        else f"{what} cut the window once"
    )


def _bottleneck(experiment: Experiment, seen: Evidence) -> str:
    if experiment.path.rate is None:
        return "no rate is set: this computer is the bottleneck"
    if seen.standing_queue:
        marked = f" and marks {seen.marks} segments" if seen.marks else ""
        return f"the bottleneck is full, its queue adds {units.seconds(seen.queueing_s, 2)}{marked}"
    if seen.marks:
        return f"the bottleneck is full, its queue marks {seen.marks} segments before it must drop any"
    if is_lossy(seen) and experiment.path.qdisc in _QUEUE_NAMES:
        name = _QUEUE_NAMES[experiment.path.qdisc]
        return f"the bottleneck is full, {name} drops some ({seen.queue_drops}) to keep its queue short"
    if is_lossy(seen) and (seen.link_used or 0) < FULL:
        return f"the bottleneck's short queue overflows, {seen.retransmits} segments were sent again"
    return "the bottleneck is full"


def _percent(share: float) -> str:
    return f"{100 * share:.1g} %" if 0 < share < 0.01 else f"{round(100 * share)} %"
