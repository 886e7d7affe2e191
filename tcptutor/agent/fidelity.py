"""Checks whether a run is credible: settings read back from the network, and measurements taken alongside.

Each check is a method that adds a sentence for each problem. A setting that the kernel does not hold makes a run
invalid; a measurement that may be off makes it suspect.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from tcptutor.agent import counters, host_settings, probes, shaping
from tcptutor.agent.counters import ProcessorShares
from tcptutor.agent.netlink import QdiscState
from tcptutor.agent.network import Interface, Network
from tcptutor.run import Environment, capacity
from tcptutor.run.plausible import Doubts
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain

_RTT_SLACK = 0.001
"""Extra RTT of an idle path that a real clock and a busy machine may cause, s."""
_SUPER_PACKET = 65536
"""Largest payload of a packet with offloads, bytes."""
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_SHAPERS = ("tbf", "htb", "hfsc", "cbs", "cake")
"""Disciplines that drop packets in their queue; a netem can be above or below them."""
InterfaceQdiscs = dict[Interface, tuple[QdiscState, ...]]
"""Settings and counters of the disciplines on each interface."""


class FidelityChecks(Doubts):
    """Checks of a run's network and traffic, and of the machine that it takes place on."""

    # Before the traffic

    def check_before_traffic(
        self,
        network: Network,
        chains: dict[Interface, Chain],
        problems: Sequence[str],
        environment: Environment | None,
    ) -> None:
        """Check the network as set up, with the `problems` of the hosts' settings, and its idle path."""
        self.check_settings(chains)
        self.check_offloads(network)
        self.check_sockets(network, chains)
        self.invalid += problems
        if environment is not None:
            self.check_clock(environment.hz)
        self.check_path(network)

    def check_settings(self, chains: dict[Interface, Chain]) -> None:
        """Check that the kernel holds the requested qdisc settings."""
        for interface, chain in chains.items():
            self.invalid += [
                f"{interface.name}: {problem}"
                for problem in shaping.differences(chain, shaping.read(interface))
            ]
        self._check_bucket()

    def check_offloads(self, network: Network) -> None:
        """Check that the offloads are switched as requested."""
        expected = self.experiment.hosts.offloads
        wrong = [
            f"{interface.name} {name}"
            for interface in network.interfaces
            for name, on in host_settings.offloads(interface).items()
            if on != expected
        ]
        self.checks["offloads"] = ", ".join(wrong) or ("on" if expected else "off")
        if wrong and not expected:
            self.suspect.append(
                f"offloads are on ({self.checks['offloads']}): one loss may take 45 segments at once"
            )

    def _check_bucket(self) -> None:
        """Check that a full frame fits into the bottleneck's bucket; tbf drops a larger frame."""
        path = self.experiment.path
        if path.rate is not None and path.burst is not None and path.burst < self.frame:
            self.invalid.append(
                f"a full frame of {self.frame} bytes does not fit into the bottleneck's bucket of {path.burst}"
                " and is dropped: take a larger burst, or a smaller mtu"
            )

    def check_sockets(self, network: Network, chains: dict[Interface, Chain]) -> None:
        """Check that data is detached from its sender's socket before it queues at the bottleneck.

        Otherwise TCP Small Queues counts the queue as the host's own. A netem that delays the data detaches it.
        """
        if network.sends_copies:
            return
        experiment = self.experiment
        shaped = (network.bottleneck, network.second_bottleneck)
        # The first bottleneck that a flow meets detaches its packets from the sender for the next.
        first = {
            network.reverse_bottleneck
            if experiment.reversed(flow)
            else shaped[experiment.links_of(experiment.pair_of(flow))[0]]
            for flow in range(experiment.total_streams)
        }
        for interface in (network.bottleneck, network.second_bottleneck, network.reverse_bottleneck):
            if interface is None or interface not in first:
                continue
            chain = {qdisc.kind: qdisc.settings for qdisc in chains.get(interface, ())}
            delays = chain.get("netem", {})
            if "tbf" in chain and not (delays.get("latency") or delays.get("jitter")):
                self.suspect.append(
                    f"this kernel counts what waits at {interface.name} as the sender's own (TCP Small Queues), and the"
                    " sender holds back: give that direction a delay, or take --backend guest"
                )

    def check_clock(self, hz: int) -> None:
        """Check the resolution of the kernel's clock: queue disciplines and pacing need high-resolution timers."""
        self.checks["kernel HZ"] = hz
        resolution = time.clock_getres(time.CLOCK_MONOTONIC)
        try:
            source = _CLOCK_SOURCE.read_text().strip()
        except OSError:
            source = "unknown"
        self.checks["clock source"] = source
        if resolution > 1e-6:
            self.suspect.append(
                f"the kernel's timers move in steps of {resolution * 1e3:g} ms: delays and rates are coarse"
            )
        if source in ("jiffies", "refined-jiffies"):
            self.suspect.append(f"the kernel counts time by {source}, {hz} a second: RTTs are coarse")

    def check_path(self, network: Network) -> None:
        """Check that the RTT of the idle path matches the experiment."""
        path = self.experiment.path
        for pair, (sender, receiver) in enumerate(zip(network.senders, network.receivers, strict=True)):
            if path.loss_by == "firewall" and path.loss > 0:
                break
            expected = self.experiment.pair_delay(pair)
            # The first echo waits for ARP and the bridges' address learning.
            times = probes.ping(sender, receiver, count=6, timeout=2.0 + 2 * expected)[1:]
            if not times:
                # At a loss of a third or more, all six echoes may well be lost.
                if max(path.loss, path.reverse_loss) < 0.3:
                    self.invalid.append(f"no answer from {receiver.name}: the path does not work")
                continue
            rtt = sorted(times)[len(times) // 2]
            self.checks[f"ping {sender.name}"] = round(rtt, 7)
            slack = max(0.01 * expected, _RTT_SLACK) + 3 * path.jitter
            if path.reorder:
                slack += expected  # an echo may be one of the reordered packets
            maxrate = self.experiment.hosts.maxrate
            # fq delays an echo until the one before has used up its time.
            longest = expected if maxrate is None else max(expected, 8 * probes.PING_FRAME / maxrate)
            if not expected - slack <= rtt <= longest + slack:
                why = "the machine is too busy" if rtt > longest else "a part of the delay is missing"
                self.suspect.append(
                    f"the empty path takes {rtt * 1e3:.2f} ms, not {expected * 1e3:g} ms: {why}"
                )

    # After the traffic

    def check_duration(self, missing: float) -> None:
        self.checks["traffic missing"] = round(missing, 2)
        if missing:
            self.suspect.append(f"the traffic ended {missing:.1f} s early: the machine is too busy")

    def check_processors(self, shares: ProcessorShares, alone: bool, clock: str = "real") -> None:
        """Check that the emulation had enough processor time; `alone` if this kernel runs only the lab.

        On the virtual clock a processor is as fast as the lab says, so it may be the limit of small writes.
        """
        self.checks["busiest processor"], self.checks["steal"] = shares.busiest, shares.steal
        self.checks["softirq"] = shares.softirq
        if shares.steal > 0.05:
            self.suspect.append(
                f"the hypervisor took {shares.steal:.0%} of a processor: give the machine more of it"
            )
        if shares.softirq > 0.8:
            self.suspect.append(
                f"a processor spent {shares.softirq:.0%} of the time on packets: {self._remedy()}"
            )
        if alone and shares.busiest > 0.98 and not (clock == "virtual" and self._has_small_writes):
            self.suspect.append(
                f"a processor was busy for {shares.busiest:.0%} of the time and may be the bottleneck: {self._remedy()}"
            )

    def _remedy(self) -> str:
        """Suggest how to reduce the work: writes smaller than a segment cost more than the rate does."""
        write = self.experiment.write
        if self._has_small_writes:
            return f"it writes {write} byte{'' if write == 1 else 's'} at a time, take a longer length"
        return "take a lower rate"

    @property
    def _has_small_writes(self) -> bool:
        write = self.experiment.write
        return write is not None and write < self.experiment.segment

    def check_drops(
        self,
        before: InterfaceQdiscs,
        after: InterfaceQdiscs,
        bottleneck: Interface,
        second: Interface | None = None,
    ) -> None:
        """Check for unplanned drops, at the netem of each bottleneck and at the senders' own interfaces."""
        increases = {
            interface: {
                late.kind: (late.drops - early.drops, late.packets - early.packets)
                for early, late in zip(before[interface], after[interface], strict=True)
            }
            for interface in before
            if len(before[interface]) == len(after[interface])
        }
        at_bottleneck = increases.pop(bottleneck, {})
        for kind, (drops, packets) in at_bottleneck.items():
            self.checks[f"{kind} drops"], self.checks[f"{kind} packets"] = drops, packets
        if "netem" in at_bottleneck:
            # A netem also counts its child's drops, and a shaper above it counts what the netem refused.
            drops, packets = at_bottleneck["netem"]
            # A shaper also counts those of its children, so the outermost has them all.
            queue = next((lost for kind, (lost, _) in at_bottleneck.items() if kind in _SHAPERS), 0)
            random = most = drops - queue
            if self.experiment.hosts.offloads:
                # A shaper that splits a super-packet counts each dropped segment, the netem above it none.
                random, most = max(0, random), drops
            self._netem_drops(random, most, packets + queue)
        if second is not None:
            self._check_second_drops(increases.pop(second, {}))
        for interface, kinds in increases.items():
            lost = kinds.get("fq", (0, 0))[0]
            if lost:
                self.suspect.append(
                    f"{interface.name}: the sender's own fq dropped {lost} packets: that is local congestion, not loss"
                )

    def _check_second_drops(self, kinds: dict[str, tuple[int, int]]) -> None:
        """Check that only the queue of the second bottleneck dropped packets."""
        for kind, (drops, packets) in kinds.items():
            self.checks[f"second {kind} drops"], self.checks[f"second {kind} packets"] = drops, packets
        unplanned = kinds.get("netem", (0, 0))[0] - kinds.get("tbf", (0, 0))[0]
        if unplanned > 0 and not self.experiment.hosts.offloads:
            self.invalid.append(
                f"the second link's netem dropped {unplanned} packets: its queue is too short"
            )

    def check_unread(self) -> None:
        """Check that the agent can decode every discipline on the path."""
        if names := ", ".join(self.experiment.path.unread):
            self.checks["not read"] = names
            self.suspect.append(f"not read: {names}, so nothing is concluded about what the path can carry")

    def check_unshaped(self, disciplines: Sequence[str]) -> None:
        """Check for disciplines ("htb on s1-eth2") that send the packets unshaped because no class takes them."""
        if names := ", ".join(disciplines):
            self.checks["unshaped"] = names
            self.suspect.append(
                f"{names} has no class for these packets and sends them at any rate: give it a default that is"
                " the number of one of its classes (default 10 for class 1:10), or add a filter"
            )

    def _netem_drops(self, random: int, most: int, passed: int) -> None:
        """Check netem's random drops, `random` to `most` packets while others `passed`."""
        path = self.experiment.path
        self.checks["random drops"] = random
        loss = capacity.netem_drop_rate(path.loss, path.duplicate) if path.loss_by == "netem" else 0.0
        if any(change.name == "loss" for change in path.changes):
            return
        expected = loss * (passed + random)
        # Bursty and correlated losses vary more than independent ones.
        spread = math.sqrt(expected * (1 - loss) * (2 * path.loss_burst - 1) / (1 - path.loss_correlation))
        if random > expected + 6 * spread and random > expected + (5 if loss else 0):
            why = "its queue is too short"
            offered = (
                self.experiment.pairs * self.experiment.flows.udp_streams * self.experiment.flows.udp_rate
            )
            if offered > (path.rate or plan.UNSHAPED):
                why = "the UDP flows send more than it holds while it delays them, take a smaller udp_rate"
            self.invalid.append(f"netem dropped {random} packets, {expected:.0f} were planned: {why}")
        # With offloads, passed packets are counted in segments and drops in super-packets.
        hosts = self.experiment.hosts
        fewest = expected / math.ceil(_SUPER_PACKET / self.experiment.segment) if hosts.offloads else expected
        # Correlated draws are seldom extreme, so small losses become rarer than requested.
        if most < fewest - 6 * spread - 5 and not path.loss_correlation:
            self.invalid.append(f"netem dropped only {random} packets, {expected:.0f} were planned")

    def check_kernel(self, increases: dict[str, dict[str, int]]) -> None:
        """Check for segments that a host's kernel discarded or held back although the path had carried them."""
        for host, counts in increases.items():
            for name, count in counts.items():
                self.checks[f"{host} {name.partition(' ')[2]}"] = count
                if not count:
                    continue
                reasons = self.invalid if name in counters.INVALIDATING else self.suspect
                sentence = (counters.INVALIDATING | counters.DOUBTFUL)[name]
                reasons.append(f"{host}: " + sentence.format(count=count, s="s" * (count > 1)))

    def record_firewall_drops(self, dropped: int | None) -> None:
        """Record the packets that firewall rules have dropped; None without such rules."""
        if dropped is not None:
            self.checks["firewall drops"] = dropped

    def check_short_flows(self, begun: int, due: int) -> None:
        """Check that all short flows `due` in this time have begun."""
        self.checks["short flows"] = begun
        if begun < due:
            self.suspect.append(
                f"{due - begun} of {due} short flows did not begin in time: the machine is too busy"
            )

    def record_stop(self, seconds: float) -> None:
        """Record that the run was stopped after `seconds`."""
        warmup = self.experiment.flows.warmup
        if seconds > warmup:
            self.suspect.append(
                f"cut short after {seconds - warmup:.1f} of {self.experiment.flows.duration:g} s of the measured time"
            )
        else:
            self.invalid.append("nothing was measured: it was cut short before the measured time")
