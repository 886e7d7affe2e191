"""Whether a run may be believed, by its network: what was read back, and what was measured beside it.

Each rule is a method that looks at one thing and adds a sentence. A setting that the kernel does not hold makes a
run invalid; a measurement that may be off makes it suspect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor.agent import counters, hosts, ping, shaping
from tcptutor.agent.netlink import QdiscState
from tcptutor.agent.network import Interface, Network
from tcptutor.agent.timeliness import Timeliness
from tcptutor.run import capacity
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain

_RTT_SLACK = 0.001
"""What a real clock and a busy machine may add to an idle path's RTT, s."""
_SUPER_PACKET = 65536
"""Bytes of payload that offloads put into one packet at most."""
_SHAPERS = ("tbf", "htb", "hfsc", "cbs", "cake")
"""Disciplines that a netem may be above or below, whose drops are their queue's."""
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
        if path.rate is not None and path.burst is not None and path.burst < self.frame:
            self.invalid.append(
                f"a full frame of {self.frame} bytes does not fit into the bottleneck's bucket of {path.burst}"
                " and is dropped: take a larger burst, or a smaller mtu"
            )

    def sockets(self, network: Network, wanted: dict[Interface, Chain]) -> None:
        """Does the data lose its sender's socket before it waits in the bottleneck?

        Else TCP Small Queues counts what waits there as the host's own; netem hides it where it delays the data.
        """
        if network.sends_copies:
            return
        flows = range(self.experiment.total_streams)
        ways = {self.experiment.reversed(flow) for flow in flows}
        for interface in [network.way_back if backward else network.bottleneck for backward in sorted(ways)]:
            chain = {qdisc.kind: qdisc.settings for qdisc in wanted.get(interface, ())}
            delays = chain.get("netem", {})
            if "tbf" in chain and not (delays.get("latency") or delays.get("jitter")):
                self.suspect.append(
                    f"this kernel counts what waits at {interface.name} as the sender's own (TCP Small Queues), and the"
                    " sender holds back: give that direction a delay, or take --backend guest"
                )

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
            # A netem counts what its child drops as well, and what is above it what it could not take.
            drops, packets = here["netem"]
            # So does a shaper, of those inside it: the outermost has them all.
            queue = next((lost for kind, (lost, _) in here.items() if kind in _SHAPERS), 0)
            random = most = drops - queue
            if self.experiment.hosts.offloads:
                # A shaper that cuts a packet of many segments counts each that it drops, and netem above it none.
                random, most = max(0, random), drops
            self._netem_drops(random, packets + queue, most)
        for interface, kinds in counted.items():
            lost = kinds.get("fq", (0, 0))[0]
            if lost:
                self.suspect.append(
                    f"{interface.name}: the sender's own fq dropped {lost} packets: that is local congestion, not loss"
                )

    def not_read(self) -> None:
        """Is every discipline on the path one that is read?"""
        if names := ", ".join(self.experiment.path.unread):
            self.checks["not read"] = names
            self.suspect.append(f"not read: {names}, so nothing is concluded about what the path can carry")

    def unshaped(self, disciplines: Sequence[str]) -> None:
        """Do these disciplines ("htb on s1-eth2") let the packets pass, for want of a class?"""
        if names := ", ".join(disciplines):
            self.checks["unshaped"] = names
            self.suspect.append(
                f"{names} has no class for these packets and sends them at any rate: give it a default that is"
                " the number of one of its classes (default 10 for class 1:10), or add a filter"
            )

    def _netem_drops(self, random: int, kept: int, most: int | None = None) -> None:
        """Check that netem dropped as many packets as it should.

        Args:
            random: packets that it dropped by chance, at least.
            kept: packets that it kept.
            most: packets that it dropped by chance, at most; None for as many as at least.
        """
        path = self.experiment.path
        self.checks["random drops"] = random
        loss = capacity.netem_drop_rate(path.loss, path.duplicate) if path.loss_by == "netem" else 0.0
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
        if (random if most is None else most) < fewest - 6 * spread - 5 and not path.loss_correlation:
            self.invalid.append(f"netem dropped only {random} packets, {expected:.0f} were planned")

    def kernel(self, moved: dict[str, dict[str, int]]) -> None:
        """Did a host's kernel throw away or hold back, for want of room, what the path had carried?"""
        for host, counted in moved.items():
            for name, count in counted.items():
                self.checks[f"{host} {name.partition(' ')[2]}"] = count
                if not count:
                    continue
                reasons = self.invalid if name in counters.WRONG else self.suspect
                sentence = (counters.WRONG | counters.DOUBTFUL)[name]
                reasons.append(f"{host}: " + sentence.format(count=count, s="s" * (count > 1)))

    def stopped(self, seconds: float) -> None:
        """Somebody stopped it after so long."""
        warmup = self.experiment.flows.warmup
        if seconds > warmup:
            self.suspect.append(
                f"cut short after {seconds - warmup:.1f} of {self.experiment.flows.duration:g} s of the measured time"
            )
        else:
            self.invalid.append("nothing was measured: it was cut short before the measured time")
