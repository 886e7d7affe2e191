"""Chart of a run in sentences: cwnd, RTT, throughput and queue over time and at an instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tcptutor.analysis import Insight, Loss, PhaseName
from tcptutor.base import sizes, units
from tcptutor.base.errors import UsageError
from tcptutor.course.activities.read_off import RATE_AROUND, FlowSamples, Span, throughput
from tcptutor.run import Run

MOST_FLOWS = 4
"""Most flows to describe."""
_MOST_EVENTS = 12
_MOST_SECONDS = 12
_PHASES: dict[PhaseName, str] = {
    "slow-start": "slow start",
    "hystart-exit": "HyStart ended slow start",
    "congestion-avoidance": "congestion avoidance",
    "recovery": "recovery",
    "timeout": "a timeout",
}


def chart(run: Run, insight: Insight) -> Iterator[str]:
    """Yield the sentences of a run's chart, flow by flow."""
    flows = run.experiment.total_streams
    for flow in range(1, min(flows, MOST_FLOWS) + 1):
        try:
            samples = FlowSamples(run, flow)
        except UsageError as error:
            yield f"{error}."
            continue
        name = f"Flow {flow}: " if flows > 1 else ""
        yield f"{name}{_window(samples)}"
        yield from _phases(insight, flow - 1)
        yield _losses(insight, flow - 1, samples)
        if rtts := [each for each in samples.column("rtt") if each > 0]:
            low, high = min(rtts), max(rtts)
            between = f"between {units.seconds(low)} and {units.seconds(high)}"
            yield f"The smoothed RTT lies {between}, ending at {units.seconds(rtts[-1])}."
        yield _rates(samples)
    if flows > MOST_FLOWS:
        yield f"{flows - MOST_FLOWS} more flows are in the list of flows. `at 5 s flow 5` tells of any of them."
    for link, queue in enumerate(run.queues, 1):
        if len(queue):
            where = f"queue at s{link}" if run.experiment.link_count > 1 else "bottleneck's queue"
            yield f"The {where} holds {sizes.decimal(max(queue.column('bytes')))} at most."


def _window(samples: FlowSamples) -> str:
    """Return the trajectory of cwnd: start, peak, lowest point after the peak, and end."""
    cwnd, t = samples.column("cwnd"), samples.t
    peak = cwnd.index(max(cwnd))
    text = f"cwnd starts at {cwnd[0]:.0f} segments and peaks at {cwnd[peak]:.0f} after {t[peak]:.2f} s"
    if peak + 1 < len(cwnd) and min(cwnd[peak:]) < cwnd[peak]:
        low = peak + cwnd[peak:].index(min(cwnd[peak:]))
        text += f", falls to {cwnd[low]:.0f} at the lowest, at {t[low]:.2f} s"
    return f"{text}, and ends at {cwnd[-1]:.0f}."


def _phases(insight: Insight, flow: int) -> Iterator[str]:
    known = insight.phases.get(flow, ())
    if not known:
        return
    shown = [
        f"{_PHASES[each.name]} at {each.start:.2f} s"
        if each.start == each.end
        else f"{_PHASES[each.name]} from {each.start:.2f} to {each.end:.2f} s"
        for each in known[:_MOST_EVENTS]
    ]
    more = f", and {len(known) - _MOST_EVENTS} more" if len(known) > _MOST_EVENTS else ""
    yield f"Phases: {', '.join(shown)}{more}."


def _losses(insight: Insight, flow: int, samples: FlowSamples) -> str:
    found = insight.losses.get(flow, ())
    losses, marks = [each for each in found if not each.is_mark], [each for each in found if each.is_mark]
    parts = [_events(losses, "loss event"), *([_events(marks, "window cut by an ECN mark")] if marks else [])]
    if losses:
        first = losses[0]
        rtt = units.seconds(samples.at("rtt", first.t))
        parts.append(f"The first one comes at an RTT of {rtt} and takes cwnd from {first.cwnd_before} to")
        parts.append(f"{first.cwnd_after}: {first.why}.")
    return " ".join(parts)


def _events(found: Sequence[Loss], name: str) -> str:
    if not found:
        return f"No {name}."
    times = ", ".join(f"{each.t:.2f} s" for each in found[:_MOST_EVENTS])
    more = f" and {len(found) - _MOST_EVENTS} later" if len(found) > _MOST_EVENTS else ""
    return f"{len(found)} {name}{'' if len(found) == 1 else 's'}, at {times}{more}."


def _rates(samples: FlowSamples) -> str:
    """Return the throughput of each second, or of `_MOST_SECONDS` equal parts of a longer run."""
    end = samples.t[-1]
    step = max(1.0, end / _MOST_SECONDS)
    rates = []
    at = 0.0
    while at + step / 2 < end:
        rates.append(throughput(samples, Span(at, at + step)))
        at += step
    scale, unit = units.axis_unit(max(rates, default=0.0), "rate")
    values = ", ".join(f"{rate / scale:.3g}" for rate in rates)
    return f"Throughput in steps of {step:.3g} s: {values} {unit}."


def instant(run: Run, insight: Insight, t: float, flow: int) -> Iterator[str]:
    """Yield the state of a flow, numbered from 1, at `t` seconds.

    Raises:
        UsageError: The run has no such flow or time.
    """
    if not 0 <= t <= run.experiment_s:
        raise UsageError(f"the run has no {t:g} s: choose 0 to {run.experiment_s:.3g} s")
    samples = FlowSamples(run, flow)
    parts = [f"cwnd is {samples.at('cwnd', t):.0f} segments"]
    if rtt := samples.at("rtt", t):
        parts.append(f"the smoothed RTT {units.seconds(rtt)}")
    around = Span(max(t - RATE_AROUND, 0.0), t + RATE_AROUND)
    if samples.t[-1] > around.start:
        parts.append(f"the rate within half a second {units.rate(throughput(samples, around))}")
    name = f" flow {flow}:" if run.experiment.total_streams > 1 else ""
    yield f"At {t:.3g} s,{name} {', '.join(parts)}."
    if phase := insight.phase(flow - 1, t):
        yield f"The flow is in {_PHASES[phase]}."
    limit = insight.limit(flow - 1, t)
    if limit is not None and limit.why:
        yield f"What limits it then: {limit.why}."
    for loss in insight.losses_between(flow - 1, t - RATE_AROUND, t + RATE_AROUND)[:3]:
        what = "An ECN mark" if loss.is_mark else "A loss"
        yield f"{what} at {loss.t:.2f} s takes cwnd from {loss.cwnd_before} to {loss.cwnd_after}: {loss.why}."
