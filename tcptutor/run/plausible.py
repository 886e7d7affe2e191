"""Plausibility of a run's results, judged only by its samples and the flows' figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tcptutor.run import (
    Fidelity,
    FlowResult,
    QueueSample,
    SampleTable,
    Status,
    TimerCounts,
    UdpResult,
    capacity,
)
from tcptutor.run.capacity import FlowSpan
from tcptutor.spec import Experiment
from tcptutor.spec.frame_sizes import ETHERNET_HEADER, HEADERS

LATE = 0.002
"""Delay after which a timer counts as late, s."""
_MAX_LATE = 0.1
"""Largest fraction of samples that may be late or missing."""
_MAX_RTT_INCREASE = 0.05
"""Largest fraction of the RTT that late timers may add: a quarter of the models' tolerance on a real clock."""
_MIN_LOSSES = 10
"""Fewest loss events for a loss model: with fewer, the window's mean is uncertain by a fifth and more."""
_FULL_LINK = 0.9
"""Smallest used share of a link that counts as full: the window's mean then matters little."""
_MIN_ROUND_TRIPS = 10
"""Fewest round trips of a measurement: with fewer, the connection's start dominates."""
_MIN_SAMPLES = 3
"""Fewest samples of a transfer: with fewer, the sampling interval dominates its time."""
_MIN_SEGMENTS = 30
"""Fewest segments for a mean: with fewer, a segment is a twentieth of it, and the start dominates."""


@dataclass
class Doubts:
    """Checks and doubts collected about a run; `verdict` combines them."""

    experiment: Experiment
    checks: dict[str, float | int | str | bool] = field(default_factory=dict)
    suspect: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)

    @property
    def frame(self) -> int:
        """Return the bytes of a full segment on the link."""
        hosts = self.experiment.hosts
        # An MSS set by an application includes TCP's options.
        packet = hosts.mtu if hosts.mss is None else min(hosts.mtu, hosts.mss + HEADERS)
        return packet + ETHERNET_HEADER

    def verdict(self) -> Fidelity:
        """Combine all doubts; valid only if something was checked."""
        status: Status = "valid" if self.checks else "unchecked"
        if self.suspect or self.invalid:
            status = "invalid" if self.invalid else "suspect"
        return Fidelity(status=status, reasons=(*self.invalid, *self.suspect), checks=self.checks)


class PlausibilityChecks(Doubts):
    """Rules that check a property each and add a sentence when it fails."""

    def check_measured(self, flows: Sequence[FlowResult]) -> None:
        """Check that every flow was seen in the measured time, and for more than its start."""
        experiment = self.experiment
        missing = experiment.total_streams - len(flows)
        if missing:
            why = "they were over too soon: let them send more bytes, or take a shorter warmup"
            if experiment.flows.bytes is None:
                why = "they sent nothing in the measured time: run the experiment again"
            self.invalid.append(f"{missing} of {experiment.total_streams} flows were not measured, {why}")
        longest = max(map(experiment.delay, range(experiment.total_streams)), default=0.0)
        if experiment.flows.bytes is None and experiment.flows.duration < _MIN_ROUND_TRIPS * longest:
            trips = experiment.flows.duration / longest
            self.suspect.append(f"the measured time is only {trips:.2g} round trips: take a longer duration")

    def check_delivery(self, flows: Sequence[FlowResult], udp: Sequence[UdpResult]) -> None:
        """Check that anything arrived at all."""
        delivered = any(flow.throughput_bps for flow in flows) or any(flow.received_bps for flow in udp)
        if not delivered and not self.invalid:
            self.invalid.append(
                "nothing was measured: nothing arrived in the measured time, take a longer duration"
            )

    def check_excess(
        self, queue: Sequence[QueueSample], flows: Sequence[FlowSpan], udp: Sequence[UdpResult], link: int = 0
    ) -> None:
        """Check that a bottleneck, with its queue and its flows, carried no more than its rate when measured."""
        experiment = self.experiment
        if too_much := capacity.queue_excess(experiment, queue, link):
            remedy = "its bucket lets too much go at once, take a smaller burst or a longer run"
            self.invalid.append(f"{too_much}: {remedy}")
        elif too_much := capacity.flow_excess(experiment, flows, udp, link):
            remedy = "so short a run is done with what the bucket holds, take a longer one"
            if experiment.path.reorder:
                remedy = "what overtakes passes by the bottleneck's queue, take less reorder"
            self.invalid.append(f"{too_much}: {remedy}")

    def check_duration(self, flows: Sequence[FlowSpan], udp: Sequence[UdpResult]) -> None:
        """Check that enough segments and samples arrived for a mean."""
        fixed = self.experiment.flows.bytes is not None
        short = min((flow.samples for flow in flows), default=_MIN_SAMPLES)
        if fixed and short < _MIN_SAMPLES:
            self.suspect.append(
                f"a transfer was over within {short} samples: its time is known to a hundredth of a second, "
                "let the flows send more bytes"
            )
        segments = sum(flow.arrived for flow in flows) / self.experiment.segment
        segments += sum((flow.datagrams or 0) - (flow.lost or 0) for flow in udp)
        if not fixed and segments < _MIN_SEGMENTS:
            self.suspect.append(
                f"only {segments:.0f} segments arrived in the measured time: take a longer duration"
            )

    def check_rate(self, queue: Sequence[QueueSample], link: int = 0) -> None:
        """Check that a bottleneck sent at its rate while its queue was never empty."""
        path = self.experiment.at_link(link).path
        if path.rate is None or any(change.name in ("rate", "link") for change in path.changes):
            return
        seconds, sent, periods, allowed = capacity.busy_periods(queue, path)
        if seconds < 1:
            return
        if allowed is not None:
            self._check_trace_rate(sent, allowed, seconds, periods)
            return
        rate = 8 * sent / seconds
        self.checks[f"rate of the full {'second ' if link else ''}bottleneck"] = round(rate)
        # Frames are sent whole: a busy period may hold one more than its share, the next one less.
        whole = 8 * math.sqrt(periods) * self.frame / seconds
        if abs(rate - path.rate) > capacity.SLACK * path.rate + whole:
            self.suspect.append(
                f"the full bottleneck sent {rate / 1e6:.3g} Mbit/s, not {path.rate / 1e6:.3g}:"
                f" {'burst is too small, or ' if path.burst else ''}the machine is too slow"
            )

    def _check_trace_rate(self, sent: int, allowed: float, seconds: float, periods: int) -> None:
        """Check that the busy bottleneck sent as much as its trace says; each step refills its bucket."""
        path = self.experiment.path
        self.checks["share of the trace that the full bottleneck sent"] = round(sent / allowed, 4)
        steps = len(path.rate_trace) * min(1.0, seconds / self.experiment.seconds)
        slack = capacity.SLACK * allowed + self.frame * (2 * steps + math.sqrt(periods))
        if abs(sent - allowed) > slack:
            self.suspect.append(
                f"the full bottleneck sent {sent / allowed:.0%} of what its rate trace says: the machine is too slow"
            )

    def check_segmentation(self, flows: Sequence[FlowResult]) -> None:
        """Check for offloads: a loss then takes a packet of up to 45 segments."""
        path = self.experiment.path
        losses = sum(flow.losses or 0 for flow in flows)
        retransmits = sum(flow.retransmits or 0 for flow in flows)
        random_only = 0 < path.loss <= 0.01 and path.loss_burst == 1 and not path.loss_correlation
        # Late segments are retransmitted too, although nothing was lost.
        late = path.jitter > 0 or path.reorder > 0
        if losses < 5 or not random_only or late:
            return
        each = retransmits / losses
        self.checks["segments a loss"] = round(each, 2)
        if each > 5 and not any(self.checks.get(name) for name in ("tbf drops", "second tbf drops")):
            self.suspect.append(
                f"each loss took {each:.0f} segments: offloads send many as one packet, so models do not hold"
            )

    def check_loss_count(self, flows: Sequence[FlowResult]) -> None:
        """Check for enough loss events for a loss model."""
        path = self.experiment.path
        # BBR does not treat loss as congestion, so its rate does not depend on the number of loss events.
        flows = [flow for flow in flows if self.experiment.crosses(flow.flow, 0)]
        counted = [flow for flow in flows if self.experiment.algorithm(flow.flow) != "bbr"]
        losses = sum(flow.losses or 0 for flow in counted)
        if not path.loss or not counted or losses >= _MIN_LOSSES or self._filled_link(flows):
            return
        events = "loss event" if losses == 1 else "loss events"
        dropped = self.checks.get("random drops")
        if path.loss_correlation and isinstance(dropped, int) and dropped < _MIN_LOSSES:
            lost_segments = f"{dropped} segment{'' if dropped == 1 else 's'}"
            self.suspect.append(
                f"loss of {100 * path.loss:.3g} % was asked for, and the path lost {lost_segments}:"
                " correlated losses are rarer than their rate"
            )
            return
        more = "take a longer duration or more loss"
        if self.experiment.flows.bytes is not None:
            more = "let the flows send more bytes"
        self.suspect.append(f"only {losses} {events}: their mean says little, {more}")

    def _filled_link(self, flows: Sequence[FlowResult]) -> bool:
        """Return whether the flows kept the bottleneck busy: its rate is their mean, however few losses they had."""
        path, planned = self.experiment.path, self.experiment.flows
        if path.rate is None or path.all_changes or planned.udp_streams or planned.directions:
            return False
        segment = self.experiment.segment
        frame = segment + self.experiment.headers + ETHERNET_HEADER
        throughput = sum(flow.throughput_bps for flow in flows)
        return throughput >= _FULL_LINK * path.rate * segment / frame

    def check_window(self, largest: int, mss: int) -> None:
        """Check that the advertised window matched the configured window."""
        configured = self.experiment.hosts.window
        if configured is None or largest == 0:
            return
        self.checks["advertised window"] = largest
        # The kernel rounds a window to whole segments.
        if abs(largest - configured) > max(0.02 * configured, mss):
            self.suspect.append(f"the receiver advertised {largest} bytes, not {configured}")

    def check_sampling(self, timers: TimerCounts) -> None:
        """Check that samples were taken, and on time."""
        self.checks["longest sampling gap"] = round(timers.longest_gap, 4)
        if timers.longest_gap > max(5 * timers.period, 0.25):
            self.suspect.append(f"no samples for {timers.longest_gap:.2f} s: the machine is too busy")
        self.checks["missing samples"] = round(timers.missing, 4)
        if timers.missing > _MAX_LATE:
            self.suspect.append(f"{timers.missing:.0%} of the samples are missing: the machine is too busy")
        self.checks["late timers"] = round(timers.late, 4)
        self.checks["mean lateness"] = round(timers.mean_late, 6)
        if timers.late > _MAX_LATE and (harm := self._harm(timers.mean_late)):
            late = f"{timers.late:.0%} of the timers were more than {LATE * 1e3:g} ms late, {harm}"
            self.suspect.append(f"{late}: the machine is too busy")

    def _harm(self, late: float) -> str:
        """Describe the effect on the traffic of timers that are `late` seconds late on average; empty if small.

        netem's timers delay each packet by that much more, and pacing waits for a timer between packets. A
        bottleneck that sends below its rate is checked by `check_rate`.
        """
        experiment = self.experiment
        paced = experiment.hosts.maxrate or experiment.flows.pacing or "bbr" in experiment.congestion_controls
        rtt = min(map(experiment.delay, range(experiment.total_streams)), default=experiment.path.delay)
        mean = f"{late * 1e3:.2g} ms on average"
        if rtt and late > _MAX_RTT_INCREASE * rtt:
            return f"{mean}, which delays packets of an RTT of {rtt * 1e3:.3g} ms as well"
        return f"{mean}, and paced packets wait for timers" if paced else ""

    def check_trace(self, lost: int) -> None:
        """Check that the trace of ACKs lost none."""
        self.checks["lost trace events"] = lost
        if lost:
            self.suspect.append(f"the trace lost {lost} ACKs: take fewer flows or a lower rate")


def largest_window(samples: SampleTable) -> int:
    """Return the largest advertised window, bytes; 0 if the kernel does not report it."""
    return max(samples.column("snd_wnd"), default=0)
