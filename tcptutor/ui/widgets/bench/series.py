"""The strips of a run as data: throughput, UDP, RTT, queue, losses, what was sent again."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from math import isnan

from tcptutor.base import units
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.history import STEPS, History, filled
from tcptutor.ui.widgets.bench.scales import rate_unit, rounded_up, size_unit
from tcptutor.ui.widgets.bench.scene import Points, Series


def series(live: Live, history: History) -> Iterator[tuple[str, Series]]:
    experiment, ended = live.run.experiment, not live.in_progress
    if history.flows:
        yield "throughput", _throughput(live, history)
    for flow in sorted(history.udp):
        yield f"udp{flow}", _udp(live, history, flow)
    if any(flow.base_rtt < math.inf for flow in history.flows.values()):
        yield "rtt", _rtt(live, history)
    path = experiment.path
    if path.rate and path.queue and any(not isnan(value) for value in history.queue):
        scale, unit = size_unit(path.queue)
        values = filled(history.queue)
        known = [value for value in values if not isnan(value)]
        said = f"now {known[-1] / scale:.3g}"
        if ended:
            most = _most(history.queue[history.warm_steps(experiment.flows.warmup) :])
            said = "" if isnan(most) else f"most {most / scale:.3g}"
        yield (
            "queue",
            Series(
                f"queue, {unit}",
                values,
                float(path.queue),
                said,
                how="most",
                over=history.dropped,
                scale=units.size(path.queue),
            ),
        )
    if history.flows:
        resent = sum(flow.total_resent for flow in history.flows.values())
        together = [sum(step) for step in zip(*(flow.resent for flow in history.flows.values()), strict=True)]
        if live.report is None or live.report.loss_events is not None:
            yield "losses", _answered(live, history)
        # The overshoot of slow start may lose a hundred times as much as all the rest: it is cut off.
        most = max([4.0, *together[history.warm_steps(experiment.flows.warmup) :]])
        counted = _counted(live.report.retransmits) if live.report else f"{resent} so far"
        if live.report is None or live.report.retransmits is not None:
            yield (
                "resent",
                Series("sent again", together, most, counted, how="sum", scale=f"{most:g} segments"),
            )


def _answered(live: Live, history: History) -> Series:
    """What senders answered: losses, marks where there are any, and what the queue dropped."""
    flows = history.flows.values()
    losses, marked = (
        [sum(step) for step in zip(*each, strict=True)]
        for each in ([flow.losses for flow in flows], [flow.marked for flow in flows])
    )
    counted, name = "", "losses"
    if any(marked):
        name = "loss, mark"
    if live.report:
        counted = _counted(live.report.loss_events)
        if any(marked):
            counted = f"{units.or_dash(live.report.loss_events)}, {live.report.mark_cuts}"
    dropped = history.dropped if live.run.experiment.path.rate else ()
    return Series(name, losses, 1.0, counted, how="signs", over=dropped, marked=marked if any(marked) else ())


def early(live: Live, history: History) -> str:
    """What a run had in its warm-up, which no figure counts; empty where it lost nothing and its queue stayed empty."""
    if live.report is None:
        return ""
    experiment = live.run.experiment
    path, start = experiment.path, history.warm_steps(experiment.flows.warmup)
    resent = sum(flow.total_resent for flow in history.flows.values()) - (live.report.retransmits or 0)
    told = [f"{resent} sent again"] if resent > 0 else []
    queue = []
    if path.rate and path.queue:
        most, after = _most(history.queue[:start]), _most(history.queue[start:])
        if dropped := sum(history.dropped[:start]):
            queue.append(f"{dropped:.0f} dropped")
        # One on its way out does not wait.
        frame = experiment.segment + experiment.headers + experiment.framing
        if most > max(after, 0.01 * path.queue, frame):
            queue.append(f"most {units.size(most, 2)}")
    if queue:
        told.append(f"queue: {', '.join(queue)}")
    return ", ".join(told)


def _most(values: Sequence[float]) -> float:
    """NaN where nothing was measured."""
    return max((value for value in values if not isnan(value)), default=math.nan)


def _counted(number: int | None) -> str:
    """In the measured time; the word is never cut."""
    if number is None:
        return "not known"
    return f"{number} measured" if number < 10_000 else f"{number} counted"


def _throughput(live: Live, history: History) -> Series:
    total = array("d", [math.nan]) * STEPS
    for flow in history.flows:
        for at, rate in enumerate(history.throughput(flow)):
            if not isnan(rate):
                total[at] = rate if isnan(total[at]) else total[at] + rate
    link = live.run.experiment.path.rate
    full = link or max((rate for _, rate in live.rates), default=1.0)
    if live.expectation is not None:
        twice = rounded_up(2 * max(1.0, live.expectation.binding.throughput_bps))
        full = min(link, twice) if link else twice
    scale, unit = rate_unit(full)
    said = f"now {latest(live.rates) / scale:.3g}" if live.rates else ""
    if live.report:
        said = f"mean {live.report.throughput_bps / scale:.3g}"
    before = (*(run.points for run in live.earlier), *(run.points for run in live.comparisons))
    return Series(unit, total, full, said, before=before, scale=units.rate(full))


def _udp(live: Live, history: History, flow: int) -> Series:
    rate, sent = history.arriving(flow), live.run.experiment.flows.udp_rate
    scale, unit = rate_unit(sent)
    result = next((each for each in live.run.udp if each.flow == flow), None)
    if result is not None:
        said = "" if result.received_bps is None else f"mean {result.received_bps / scale:.3g}"
    else:
        known = [value for value in rate if not isnan(value)]
        said = f"now {_mean(known[-math.ceil(1 / history.step) :]) / scale:.3g}" if known else ""
    return Series(f"UDP {unit}", rate, 1.25 * sent, said, scale=units.rate(1.25 * sent))


def _rtt(live: Live, history: History) -> Series:
    flows = [filled(flow.rtt) for flow in history.flows.values()]
    together = array("d", [math.nan]) * STEPS
    for at, values in enumerate(zip(*flows, strict=True)):
        known = [value for value in values if not isnan(value)]
        if known:
            together[at] = sum(known) / len(known)
    path = live.run.experiment.path
    base = min(flow.base_rtt for flow in history.flows.values())
    highest = max((value for value in together if not isnan(value)), default=base)
    full = base + path.queue * 8 / path.rate if path.rate else 0.0
    if not base < full < 20 * max(highest, base):
        full = max(highest, 1.2 * base)
    scale, unit = (1e-3, "ms") if full < 2 else (1.0, "s")
    known = [value for value in together if not isnan(value)]
    said = f"now {_mean(known[-math.ceil(1 / history.step) :]) / scale:.3g}" if known else ""
    if live.report and live.report.flows:
        mean = _mean([flow.mean_rtt_s for flow in live.report.flows if flow.mean_rtt_s])
        said = f"mean {mean / scale:.3g}" if mean else ""
    return Series(f"RTT, {unit}", together, full, said, base=base, scale=units.seconds(full))


def latest(points: Points, over: float = 1.0) -> float:
    """The mean of the last second: single points jump too much to be read. 0 before there is one."""
    return _mean([value for t, value in points[-200:] if t > points[-1][0] - over])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
