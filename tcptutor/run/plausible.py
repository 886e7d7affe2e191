"""Whether what was measured may be believed, by the samples and the flows' figures alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tcptutor.run import Fidelity, FlowResult, QueueSample, SampleTable, Status, UdpResult, capacity
from tcptutor.run.capacity import FlowSpan
from tcptutor.run.ended import TimerCounts
from tcptutor.spec import ETHERNET_HEADER, HEADERS, Experiment

LATE = 0.002
"""How late a sample may be before its timer counts as late, s."""
_UNPUNCTUAL = 0.1
"""The share of samples that may be late, or missing."""
_LONGER = 0.05
"""The share of the RTT by which late timers may lengthen it: a quarter of what the models allow on a real clock."""
_ENOUGH_LOSSES = 10
"""Loss events below which a loss model says little: the window's mean is uncertain by a fifth and more."""
_ROUND_TRIPS = 10
"""Round trips below which a measurement is mostly a connection's start."""
_SAMPLES = 3
"""Samples below which a transfer's time is mostly the distance between two of them."""
_SEGMENTS = 30
"""Segments below which one more or less is a twentieth of the mean, and a start's few round trips are most of it."""


@dataclass
class Doubts:
    """Of a run of `experiment`; `verdict` is their sum."""

    experiment: Experiment
    checks: dict[str, float | int | str | bool] = field(default_factory=dict)
    suspect: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)

    @property
    def frame(self) -> int:
        """Bytes of a full segment on the link."""
        hosts = self.experiment.hosts
        # TCP's options are a part of the MSS that an application sets.
        packet = hosts.mtu if hosts.mss is None else min(hosts.mtu, hosts.mss + HEADERS)
        return packet + ETHERNET_HEADER

    def verdict(self) -> Fidelity:
        """The sum of it: valid only where something was looked at."""
        status: Status = "valid" if self.checks else "unchecked"
        if self.suspect or self.invalid:
            status = "invalid" if self.invalid else "suspect"
        return Fidelity(status=status, reasons=(*self.invalid, *self.suspect), checks=self.checks)


class PlausibilityChecks(Doubts):
    """Each rule is a method that looks at one thing and adds a sentence."""

    def measured(self, flows: Sequence[FlowResult]) -> None:
        """Was every flow seen in the measured time, and for more than its start?"""
        experiment = self.experiment
        missing = experiment.total_streams - len(flows)
        if missing:
            why = "they were over too soon: let them send more bytes, or take a shorter warmup"
            if experiment.flows.bytes is None:
                why = "they sent nothing in the measured time: run the experiment again"
            self.invalid.append(f"{missing} of {experiment.total_streams} flows were not measured, {why}")
        longest = max(map(experiment.delay, range(experiment.total_streams)), default=0.0)
        if experiment.flows.bytes is None and experiment.flows.duration < _ROUND_TRIPS * longest:
            trips = experiment.flows.duration / longest
            self.suspect.append(f"the measured time is only {trips:.2g} round trips: take a longer duration")

    def nothing(self, flows: Sequence[FlowResult], udp: Sequence[UdpResult]) -> None:
        """Did anything arrive at all?"""
        delivered = any(flow.throughput_bps for flow in flows) or any(flow.received_bps for flow in udp)
        if not delivered and not self.invalid:
            self.invalid.append(
                "nothing was measured: nothing arrived in the measured time, take a longer duration"
            )

    def excess(
        self, queue: Sequence[QueueSample], flows: Sequence[FlowSpan], udp: Sequence[UdpResult]
    ) -> None:
        """Did the path carry no more than its rate in the measured time?"""
        path = self.experiment.path
        if too_much := capacity.queue_excess(self.experiment, queue):
            remedy = "its bucket lets too much go at once, take a smaller burst or a longer run"
            self.invalid.append(f"{too_much}: {remedy}")
        elif too_much := capacity.flow_excess(self.experiment, flows, udp):
            remedy = "so short a run is done with what the bucket holds, take a longer one"
            if path.reorder:
                remedy = "what overtakes passes by the bottleneck's queue, take less reorder"
            self.invalid.append(f"{too_much}: {remedy}")

    def enough_time(self, flows: Sequence[FlowSpan], udp: Sequence[UdpResult]) -> None:
        """Did enough arrive, over samples enough, for a mean to say something?"""
        fixed = self.experiment.flows.bytes is not None
        short = min((flow.samples for flow in flows), default=_SAMPLES)
        if fixed and short < _SAMPLES:
            self.suspect.append(
                f"a transfer was over within {short} samples: its time is known to a hundredth of a second, "
                "let the flows send more bytes"
            )
        segments = sum(flow.arrived for flow in flows) / self.experiment.segment
        segments += sum((flow.datagrams or 0) - (flow.lost or 0) for flow in udp)
        if not fixed and segments < _SEGMENTS:
            self.suspect.append(
                f"only {segments:.0f} segments arrived in the measured time: take a longer duration"
            )

    def rate(self, queue: Sequence[QueueSample]) -> None:
        """While the bottleneck's queue was never empty, did it send at its rate?"""
        path = self.experiment.path
        if path.rate is None or any(change.name in ("rate", "link") for change in path.changes):
            return
        seconds, sent, stretches = capacity.busy_periods(queue)
        if seconds < 1:
            return
        rate = 8 * sent / seconds
        self.checks["rate of the full bottleneck"] = round(rate)
        # Frames leave whole: a stretch may have one more than its share, and the next one less.
        whole = 8 * math.sqrt(stretches) * self.frame / seconds
        if abs(rate - path.rate) > capacity.SLACK * path.rate + whole:
            self.suspect.append(
                f"the full bottleneck sent {rate / 1e6:.3g} Mbit/s, not {path.rate / 1e6:.3g}:"
                f" {'burst is too small, or ' if path.burst else ''}the machine is too slow"
            )

    def super_packets(self, flows: Sequence[FlowResult]) -> None:
        """Does one loss take many segments at once? Then an offload makes packets of 45 segments."""
        path = self.experiment.path
        losses = sum(flow.losses or 0 for flow in flows)
        retransmits = sum(flow.retransmits or 0 for flow in flows)
        random_only = 0 < path.loss <= 0.01 and path.loss_burst == 1 and not path.loss_correlation
        # Segments that come late are sent again too, though nothing was lost.
        late = path.jitter > 0 or path.reorder > 0
        if losses < 5 or not random_only or late:
            return
        each = retransmits / losses
        self.checks["segments a loss"] = round(each, 2)
        if each > 5 and int(self.checks.get("tbf drops", 0)) == 0:
            self.suspect.append(
                f"each loss took {each:.0f} segments: offloads send many as one packet, so models do not hold"
            )

    def enough_losses(self, flows: Sequence[FlowResult]) -> None:
        """Are there loss events enough for a loss model?"""
        path = self.experiment.path
        # BBR takes no loss for congestion: its rate does not depend on how many loss events there were.
        counted = [flow for flow in flows if self.experiment.algorithm(flow.flow) != "bbr"]
        losses = sum(flow.losses or 0 for flow in counted)
        if not path.loss or not counted or losses >= _ENOUGH_LOSSES:
            return
        events = "loss event" if losses == 1 else "loss events"
        dropped = self.checks.get("random drops")
        if path.loss_correlation and isinstance(dropped, int) and dropped < _ENOUGH_LOSSES:
            there = f"{dropped} segment{'' if dropped == 1 else 's'}"
            self.suspect.append(
                f"loss of {100 * path.loss:.3g} % was asked for, and the path lost {there}:"
                " correlated losses are rarer than their rate"
            )
            return
        more = "take a longer duration or more loss"
        if self.experiment.flows.bytes is not None:
            more = "let the flows send more bytes"
        self.suspect.append(f"only {losses} {events}: their mean says little, {more}")

    def window(self, largest: int, mss: int) -> None:
        """Was the advertised window the one that was asked for?"""
        asked = self.experiment.hosts.window
        if asked is None or largest == 0:
            return
        self.checks["advertised window"] = largest
        # A window is used in whole segments.
        if abs(largest - asked) > max(0.02 * asked, mss):
            self.suspect.append(f"the receiver advertised {largest} bytes, not {asked}")

    def sampling(self, timers: TimerCounts) -> None:
        """Were the samples there, and in time?"""
        self.checks["longest sampling gap"] = round(timers.longest_gap, 4)
        if timers.longest_gap > max(5 * timers.period, 0.25):
            self.suspect.append(f"no samples for {timers.longest_gap:.2f} s: the machine is too busy")
        self.checks["missing samples"] = round(timers.missing, 4)
        if timers.missing > _UNPUNCTUAL:
            self.suspect.append(f"{timers.missing:.0%} of the samples are missing: the machine is too busy")
        self.checks["late timers"] = round(timers.late, 4)
        self.checks["mean lateness"] = round(timers.mean_late, 6)
        if timers.late > _UNPUNCTUAL and (harm := self._harm(timers.mean_late)):
            late = f"{timers.late:.0%} of the timers were more than {LATE * 1e3:g} ms late, {harm}"
            self.suspect.append(f"{late}: the machine is too busy")

    def _harm(self, late: float) -> str:
        """Return what timers that are `late` seconds late on average do to the traffic; empty where it is little.

        netem's timers delay each packet by so much more, and pacing waits for a timer between packets. A bottleneck
        that sends below its rate is a doubt of its own, see `rate`.
        """
        experiment = self.experiment
        paced = experiment.hosts.maxrate or experiment.flows.pacing or "bbr" in experiment.congestion_controls
        rtt = min(map(experiment.delay, range(experiment.total_streams)), default=experiment.path.delay)
        mean = f"{late * 1e3:.2g} ms on average"
        if rtt and late > _LONGER * rtt:
            return f"{mean}, which delays packets of an RTT of {rtt * 1e3:.3g} ms as well"
        return f"{mean}, and paced packets wait for timers" if paced else ""

    def trace(self, lost: int) -> None:
        """Did the trace of ACKs lose any?"""
        self.checks["lost trace events"] = lost
        if lost:
            self.suspect.append(f"the trace lost {lost} ACKs: take fewer flows or a lower rate")


def largest_window(samples: SampleTable) -> int:
    """The largest window that a receiver advertised, bytes; 0 where the kernel does not tell."""
    return max(samples.column("snd_wnd"), default=0)
