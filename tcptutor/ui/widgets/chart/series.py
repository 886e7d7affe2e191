"""Series of a run's strips: throughput, UDP, RTT, queue, losses, retransmissions."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from math import isnan

from tcptutor.base import sizes, units
from tcptutor.figures.axes import rounded_up
from tcptutor.figures.lines import BAD, QUEUE, RTT
from tcptutor.spec import Experiment
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.axes import rate_unit, size_unit
from tcptutor.ui.widgets.chart.history import STEPS, History, QueueHistory, interpolate
from tcptutor.ui.widgets.chart.scene import QUEUE_SERIES, Points, Series


def series(live: Live, history: History) -> Iterator[tuple[str, Series]]:
    experiment, has_ended = live.run.experiment, not live.in_progress
    if history.flows:
        yield "throughput", _throughput(live, history)
    for flow in sorted(history.udp):
        yield f"udp{flow}", _udp(live, history, flow)
    if any(flow.base_rtt < math.inf for flow in history.flows.values()):
        yield "rtt", _rtt(live, history)
    for link, queue in enumerate(history.queues[: experiment.link_count]):
        path = experiment.at_link(link).path
        if path.rate and path.queue and any(not isnan(value) for value in queue.waiting):
            # Two queues are named after their switches.
            name = f"at s{link + 1}" if experiment.link_count > 1 else "queue"
            first = history.warm_steps(experiment.flows.warmup) if has_ended else None
            yield QUEUE_SERIES[link], _queue(name, queue, path.queue, first)
    if history.flows:
        retransmits = sum(flow.total_retransmits for flow in history.flows.values())
        combined = [
            sum(step) for step in zip(*(flow.retransmits for flow in history.flows.values()), strict=True)
        ]
        if live.report is None or live.report.loss_events is not None:
            yield "losses", _reductions(live, history)
        # The overshoot of slow start may lose a hundred times the rest: it is cut off.
        maximum = max([4.0, *combined[history.warm_steps(experiment.flows.warmup) :]])
        count_text = _format_count(live.report.retransmits) if live.report else f"{retransmits} so far"
        if live.report is None or live.report.retransmits is not None:
            yield (
                "retransmits",
                Series(
                    "retrans",
                    combined,
                    maximum,
                    count_text,
                    aggregation="sum",
                    upper_text=f"{maximum:g} segments",
                    style=BAD,
                ),
            )


def _queue(name: str, queue: QueueHistory, size: int, measured_from: int | None) -> Series:
    """Return the backlog of a queue of `size` bytes; `measured_from` is the first measured step, once it has ended."""
    scale, unit = size_unit(size)
    values = interpolate(queue.waiting)
    if measured_from is None:
        known = [value for value in values if not isnan(value)]
        summary = f"{known[-1] / scale:.3g} now"
    else:
        maximum = _known_maximum(queue.waiting[measured_from:])
        summary = "" if isnan(maximum) else f"{maximum / scale:.3g} most"
    return Series(
        f"{name}, {unit}",
        values,
        float(size),
        summary,
        aggregation="most",
        drops=queue.dropped,
        upper_text=sizes.decimal(size),
        style=QUEUE,
    )


def _reductions(live: Live, history: History) -> Series:
    """Return the window reductions of senders by loss or mark, and the queue's drops."""
    flows = history.flows.values()
    losses, marks = (
        [sum(step) for step in zip(*each, strict=True)]
        for each in ([flow.losses for flow in flows], [flow.mark_reductions for flow in flows])
    )
    count_text, name = "", "losses"
    if any(marks):
        name = "loss, mark"
    if live.report:
        count_text = _format_count(live.report.loss_events)
        if any(marks):
            count_text = f"{units.or_dash(live.report.loss_events)}, {live.report.mark_cuts}"
    dropped: Sequence[float] = ()
    if live.run.experiment.path.rate:
        dropped = [sum(step) for step in zip(*(queue.dropped for queue in history.queues), strict=True)]
    return Series(
        name, losses, 1.0, count_text, aggregation="signs", drops=dropped, marks=marks if any(marks) else ()
    )


def warmup_events(live: Live, history: History) -> str:
    """Return retransmissions and drops of the warm-up, which no figure counts; empty if the queue stayed idle."""
    if live.report is None:
        return ""
    experiment = live.run.experiment
    start = history.warm_steps(experiment.flows.warmup)
    retransmits = sum(flow.total_retransmits for flow in history.flows.values()) - (
        live.report.retransmits or 0
    )
    events = [f"{retransmits} retransmitted"] if retransmits > 0 else []
    for link, each in enumerate(history.queues[: experiment.link_count]):
        name = f"queue at s{link + 1}" if experiment.link_count > 1 else "queue"
        if queue := _warmup_queue(each, experiment.at_link(link), start):
            events.append(f"{name}: {', '.join(queue)}")
    return ", ".join(events)


def _warmup_queue(queue: QueueHistory, experiment: Experiment, start: int) -> list[str]:
    """Return the drops of the warm-up and its longest backlog, if they say more than the measured time."""
    path, texts = experiment.path, list[str]()
    if not path.rate or not path.queue:
        return texts
    maximum, later_maximum = _known_maximum(queue.waiting[:start]), _known_maximum(queue.waiting[start:])
    if dropped := sum(queue.dropped[:start]):
        texts.append(f"{dropped:.0f} dropped")
    # A packet being transmitted does not wait.
    frame = experiment.segment + experiment.headers + experiment.framing
    if maximum > max(later_maximum, 0.01 * path.queue, frame):
        texts.append(f"most {sizes.decimal(maximum, 2)}")
    return texts


def _known_maximum(values: Sequence[float]) -> float:
    return max((value for value in values if not isnan(value)), default=math.nan)


def _format_count(number: int | None) -> str:
    """Format a count of the measured time; the word is never cut."""
    if number is None:
        return "not known"
    return f"{number} measured" if number < 10_000 else f"{number} counted"


def _throughput(live: Live, history: History) -> Series:
    total = array("d", [math.nan]) * STEPS
    for flow in history.flows:
        for at, rate in enumerate(history.throughput(flow)):
            if not isnan(rate):
                total[at] = rate if isnan(total[at]) else total[at] + rate
    path = live.run.experiment.path
    # Different flows can fill two links in a row at the same time.
    link = path.rate and path.rate + (path.second_rate or 0.0)
    full = link or max((rate for _, rate in live.rates), default=1.0)
    if live.expectation is not None:
        twice_expected = rounded_up(2 * max(1.0, live.expectation.binding.throughput_bps))
        full = min(link, twice_expected) if link else twice_expected
    scale, unit = rate_unit(full)
    summary = f"{mean_of_last(live.rates) / scale:.3g} now" if live.rates else ""
    if live.report:
        summary = f"{live.report.throughput_bps / scale:.3g} mean"
    earlier = (*(run.points for run in live.earlier), *(run.points for run in live.comparisons))
    return Series(unit, total, full, summary, earlier=earlier, upper_text=units.rate(full))


def _udp(live: Live, history: History, flow: int) -> Series:
    rate, sent = history.arrival_rate(flow), live.run.experiment.flows.udp_rate
    scale, unit = rate_unit(sent)
    result = next((each for each in live.run.udp if each.flow == flow), None)
    if result is not None:
        summary = "" if result.received_bps is None else f"{result.received_bps / scale:.3g} mean"
    else:
        known = [value for value in rate if not isnan(value)]
        summary = f"{_mean(known[-math.ceil(1 / history.step) :]) / scale:.3g} now" if known else ""
    return Series(f"UDP {unit}", rate, 1.25 * sent, summary, upper_text=units.rate(1.25 * sent))


def _rtt(live: Live, history: History) -> Series:
    flows = [interpolate(flow.rtt) for flow in history.flows.values()]
    combined = array("d", [math.nan]) * STEPS
    for at, values in enumerate(zip(*flows, strict=True)):
        known = [value for value in values if not isnan(value)]
        if known:
            combined[at] = sum(known) / len(known)
    path = live.run.experiment.path
    lower = min(flow.base_rtt for flow in history.flows.values())
    highest = max((value for value in combined if not isnan(value)), default=lower)
    full = lower + path.queue * 8 / path.rate if path.rate else 0.0
    if path.second_rate is not None:
        full += path.second_queue * 8 / path.second_rate
    if not lower < full < 20 * max(highest, lower):
        full = max(highest, 1.2 * lower)
    scale, unit = (1e-3, "ms") if full < 2 else (1.0, "s")
    known = [value for value in combined if not isnan(value)]
    summary = f"{_mean(known[-math.ceil(1 / history.step) :]) / scale:.3g} now" if known else ""
    if live.report and live.report.flows:
        mean = _mean([flow.mean_rtt_s for flow in live.report.flows if flow.mean_rtt_s])
        summary = f"{mean / scale:.3g} mean" if mean else ""
    return Series(
        f"RTT, {unit}", combined, full, summary, lower=lower, upper_text=units.seconds(full), style=RTT
    )


def mean_of_last(points: Points, over: float = 1.0) -> float:
    """Return the mean of the last `over` seconds, as single points fluctuate; 0 without points."""
    return _mean([value for t, value in points[-200:] if t > points[-1][0] - over])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
