"""Whether a run may be believed: what was read back, what was measured beside it, and the reasons for doubt.

Each rule is a method that looks at one thing and adds a sentence. A setting that the kernel does not hold makes a
run invalid; a measurement that may be off makes it suspect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor.lab import carried, counters, hosts, ping, plan, shaping
from tcptutor.lab.carried import FlowSpan
from tcptutor.lab.netlink import QdiscState
from tcptutor.lab.network import Interface, Network
from tcptutor.lab.plan import Chain
from tcptutor.lab.timeliness import Timeliness
from tcptutor.run import FlowResult, QueueSample, SampleTable, UdpResult
from tcptutor.spec import ETHERNET_HEADER

_RTT_SLACK = 0.001
"""What a real clock and a busy machine may add to an idle path's RTT, s."""
_ENOUGH_LOSSES = 10
"""Loss events below which a loss model says little: the window's mean is uncertain by a fifth and more."""
_ROUND_TRIPS = 10
"""Round trips below which a measurement is mostly a connection's start."""
_SUPER_PACKET = 65536
"""Bytes of payload that offloads put into one packet at most."""
_SAMPLES = 3
"""Samples below which a transfer's time is mostly the distance between two of them."""
_SEGMENTS = 30
"""Segments below which one more or less is a twentieth of the mean, and a start's few round trips are most of it."""
Counted = dict[Interface, tuple[QdiscState, ...]]
"""What the kernel holds, and has counted, on each interface."""


class Watch(Timeliness):
    """What a run is asked of its network and its traffic, beside what `Timeliness` asks of the machine it runs on."""

    # Before

    def settings(self, wanted: dict[Interface, Chain]) -> None:
        """Does the kernel hold what was asked for?"""
        for interface, chain in wanted.items():
            self.invalid += [
                f"{interface.name}: {problem}"
                for problem in shaping.differences(chain, shaping.read(interface))
            ]
        self._bucket()

    def offloads(self, network: Network) -> None:
        """Are the offloads as they should be?"""
        asked = self.experiment.hosts.offloads
        wrong = [
            f"{interface.name} {name}"
            for interface in network.interfaces
            for name, on in hosts.offloads(interface).items()
            if on != asked
        ]
        self.checks["offloads"] = ", ".join(wrong) or ("on" if asked else "off")
        if wrong and not asked:
            self.suspect.append(
                f"offloads are on ({self.checks['offloads']}): one loss may take 45 segments at once"
            )

    def _bucket(self) -> None:
        """Does a full frame fit into the bottleneck's bucket? tbf drops what never will."""
        path = self.experiment.path
        if path.rate is not None and path.burst is not None and path.burst < self._frame:
            self.invalid.append(
                f"a full frame of {self._frame} bytes does not fit into the bottleneck's bucket of {path.burst}"
                " and is dropped: take a larger burst, or a smaller mtu"
            )

    @property
    def _frame(self) -> int:
        """Bytes of a full segment on the link."""
        hosts = self.experiment.hosts
        headers = 40  # of IP and TCP; TCP's options are a part of the MSS that an application sets
        packet = hosts.mtu if hosts.mss is None else min(hosts.mtu, hosts.mss + headers)
        return packet + ETHERNET_HEADER

    def path(self, network: Network) -> None:
        """Is the RTT of the empty path what the experiment says?"""
        path = self.experiment.path
        for pair, (sender, receiver) in enumerate(zip(network.senders, network.receivers, strict=True)):
            if path.loss_by == "firewall" and path.loss > 0:
                break
            expected = self.experiment.pair_delay(pair)
            # The first echo waits for ARP and the bridges' learning.
            times = ping.ping(sender, receiver, count=6, timeout=2.0 + 2 * expected)[1:]
            if not times:
                # At a third of loss and more, six echoes may well all be lost.
                if max(path.loss, path.reverse_loss) < 0.3:
                    self.invalid.append(f"no answer from {receiver.name}: the path does not work")
                continue
            rtt = sorted(times)[len(times) // 2]
            self.checks[f"ping {sender.name}"] = round(rtt, 7)
            slack = max(0.01 * expected, _RTT_SLACK) + 3 * path.jitter
            if path.reorder:
                slack += expected  # an echo may be among those that overtake
            maxrate = self.experiment.hosts.maxrate
            # fq holds an echo back until the one before has had its time.
            longest = expected if maxrate is None else max(expected, 8 * ping.FRAME / maxrate)
            if not expected - slack <= rtt <= longest + slack:
                why = "the machine is too busy" if rtt > longest else "a part of the delay is missing"
                self.suspect.append(
                    f"the empty path takes {rtt * 1e3:.2f} ms, not {expected * 1e3:g} ms: {why}"
                )

    # After

    def drops(self, before: Counted, after: Counted, bottleneck: Interface) -> None:
        """Drops that nobody planned, at the bottleneck's netem or at a sender's own interface."""
        counted = {
            interface: {
                late.kind: (late.drops - early.drops, late.packets - early.packets)
                for early, late in zip(before[interface], after[interface], strict=True)
            }
            for interface in before
            if len(before[interface]) == len(after[interface])
        }
        here = counted.pop(bottleneck, {})
        for kind, (drops, packets) in here.items():
            self.checks[f"{kind} drops"], self.checks[f"{kind} packets"] = drops, packets
        if "netem" in here:
            # netem counts what its child drops as well.
            drops, packets = here["netem"]
            queue = here.get("tbf", (0, 0))[0]
            self._netem_drops(drops - queue, packets + queue)
        for interface, kinds in counted.items():
            lost = kinds.get("fq", (0, 0))[0]
            if lost:
                self.suspect.append(
                    f"{interface.name}: the sender's own fq dropped {lost} packets: that is local congestion, not loss"
                )

    def _netem_drops(self, random: int, kept: int) -> None:
        """Did netem drop as many packets as it should, of these and those that it kept?"""
        path = self.experiment.path
        self.checks["random drops"] = random
        loss = carried.dropped(path.loss, path.duplicate) if path.loss_by == "netem" else 0.0
        if any(change.name == "loss" for change in path.changes):
            return
        expected = loss * (kept + random)
        # Losses in bursts and correlated losses vary more than independent ones.
        spread = math.sqrt(expected * (1 - loss) * (2 * path.loss_burst - 1) / (1 - path.loss_correlation))
        if random > expected + 6 * spread and random > expected + (5 if loss else 0):
            why = "its queue is too short"
            offered = (
                self.experiment.pairs * self.experiment.flows.udp_streams * self.experiment.flows.udp_rate
            )
            if offered > (path.rate or plan.UNSHAPED):
                why = "the UDP flows send more than it holds while it delays them, take a smaller udp_rate"
            self.invalid.append(f"netem dropped {random} packets, {expected:.0f} were planned: {why}")
        # With offloads what is kept is counted in segments, and what is dropped in packets of many.
        hosts = self.experiment.hosts
        fewest = expected / math.ceil(_SUPER_PACKET / self.experiment.segment) if hosts.offloads else expected
        # Correlated draws are seldom extreme: small losses become rarer than they are asked for.
        if random < fewest - 6 * spread - 5 and not path.loss_correlation:
            self.invalid.append(f"netem dropped only {random} packets, {expected:.0f} were planned")

    def kernel(self, moved: dict[str, dict[str, int]]) -> None:
        """Did a host's kernel throw away or hold back, for want of room, what the path had carried?"""
        for host, counted in moved.items():
            for name, count in counted.items():
                self.checks[f"{host} {name.partition(' ')[2]}"] = count
                reasons = self.invalid if name in counters.WRONG else self.suspect
                sentence = (counters.WRONG | counters.DOUBTFUL)[name]
                reasons.append(f"{host}: " + sentence.format(count=count, s="s" * (count > 1)))

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

    def stopped(self, seconds: float) -> None:
        """Somebody stopped it after so long."""
        warmup = self.experiment.flows.warmup
        if seconds > warmup:
            self.suspect.append(
                f"cut short after {seconds - warmup:.1f} of {self.experiment.flows.duration:g} s of the measured time"
            )
        else:
            self.invalid.append("nothing was measured: it was cut short before the measured time")

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
        if too_much := carried.by_queue(self.experiment, queue):
            remedy = "its bucket lets too much go at once, take a smaller burst or a longer run"
            self.invalid.append(f"{too_much}: {remedy}")
        elif too_much := carried.by_flows(self.experiment, flows, udp):
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
        segments += sum(flow.datagrams - flow.lost for flow in udp)
        if not fixed and segments < _SEGMENTS:
            self.suspect.append(
                f"only {segments:.0f} segments arrived in the measured time: take a longer duration"
            )

    def rate(self, queue: Sequence[QueueSample]) -> None:
        """While the bottleneck's queue was never empty, did it send at its rate?"""
        path = self.experiment.path
        if path.rate is None or any(change.name in ("rate", "link") for change in path.changes):
            return
        seconds, sent, stretches = carried.full_stretches(queue)
        if seconds < 1:
            return
        rate = 8 * sent / seconds
        self.checks["rate of the full bottleneck"] = round(rate)
        # Frames leave whole: a stretch may have one more than its share, and the next one less.
        whole = 8 * math.sqrt(stretches) * self._frame / seconds
        if abs(rate - path.rate) > carried.SLACK * path.rate + whole:
            self.suspect.append(
                f"the full bottleneck sent {rate / 1e6:.3g} Mbit/s, not {path.rate / 1e6:.3g}:"
                f" {'burst is too small, or ' if path.burst else ''}the machine is too slow"
            )

    def super_packets(self, flows: Sequence[FlowResult]) -> None:
        """Does one loss take many segments at once? Then an offload makes packets of 45 segments."""
        path = self.experiment.path
        losses = sum(flow.losses for flow in flows)
        retransmits = sum(flow.retransmits for flow in flows)
        random_only = 0 < path.loss <= 0.01 and path.loss_burst == 1 and not path.loss_correlation
        if losses < 5 or not random_only:
            return
        each = retransmits / losses
        self.checks["segments a loss"] = round(each, 2)
        if each > 5 and int(self.checks.get("tbf drops", 0)) == 0:
            self.suspect.append(
                f"each loss took {each:.0f} segments: offloads send many as one packet, so models do not hold"
            )

    def enough_losses(self, flows: Sequence[FlowResult]) -> None:
        """Are there loss events enough for a loss model?"""
        losses = sum(flow.losses for flow in flows)
        if self.experiment.path.loss and flows and losses < _ENOUGH_LOSSES:
            fixed = self.experiment.flows.bytes is not None
            more = "let the flows send more bytes" if fixed else "take a longer duration or more loss"
            events = "loss event" if losses == 1 else "loss events"
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


def largest_window(samples: SampleTable) -> int:
    """The largest window that a receiver advertised, bytes; 0 where the kernel does not tell."""
    return max(samples.column("snd_wnd"), default=0)
