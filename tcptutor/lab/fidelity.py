"""Whether a run may be believed: what was read back, what was measured beside it, and the reasons for doubt."""

from __future__ import annotations

from dataclasses import dataclass, field

from tcptutor.lab import hosts, ping, shaping
from tcptutor.lab.network import Network
from tcptutor.lab.shaping import Held, Shaping
from tcptutor.run import Fidelity, FlowResult, Sample, Status
from tcptutor.spec import Experiment

_RTT_SLACK = 0.001
"""What a real clock and a busy machine may add to an idle path's RTT, s."""


@dataclass
class Watch:
    """Collects reasons while a run goes on; `verdict` is their sum."""

    experiment: Experiment
    checks: dict[str, float | int | str | bool] = field(default_factory=dict)
    suspect: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)

    def settings(self, network: Network, wanted: Shaping) -> None:
        """Before: does the kernel hold what was asked for, are the offloads off?"""
        self.invalid += shaping.differences(wanted, shaping.held(network.bottleneck))
        still_on = [
            f"{interface.name} {name}"
            for interface in network.interfaces
            for name, on in hosts.offloads(interface).items()
            if on
        ]
        self.checks["offloads"] = ", ".join(still_on) or "off"
        if still_on:
            self.suspect.append(
                f"offloads are on ({self.checks['offloads']}): one loss may take 45 segments at once"
            )

    def path(self, network: Network) -> None:
        """Before: is the RTT of the empty path what the experiment says?"""
        path = self.experiment.path
        for sender, receiver in zip(network.senders, network.receivers, strict=True):
            # The first echo waits for ARP and the bridges' learning.
            times = ping.ping(sender, receiver, count=6)[1:]
            if not times:
                self.invalid.append(f"no answer from {receiver.name}: the path does not work")
                continue
            rtt = sorted(times)[len(times) // 2]
            self.checks[f"ping {sender.name}"] = round(rtt, 7)
            slack = max(0.01 * path.delay, _RTT_SLACK) + path.jitter
            if abs(rtt - path.delay) > slack:
                self.suspect.append(
                    f"the empty path takes {rtt * 1e3:.2f} ms, not {path.delay * 1e3:g} ms: the machine is too busy"
                )

    def traffic(self, before: Held, after: Held, flows: list[FlowResult]) -> None:
        """After: drops that nobody planned, and whether sender and receiver agree."""
        path = self.experiment.path
        for kind in after.drops:
            self.checks[f"{kind} drops"] = after.drops[kind] - before.drops.get(kind, 0)
            self.checks[f"{kind} packets"] = after.packets[kind] - before.packets.get(kind, 0)
        queue_drops = int(self.checks.get("tbf drops", 0))
        # netem counts what its child drops as well.
        random_drops = int(self.checks.get("netem drops", 0)) - queue_drops
        if "netem" in after.drops:
            self.checks["random drops"] = random_drops
            if path.loss == 0 and random_drops > 0:
                self.invalid.append(
                    f"netem dropped {random_drops} packets that nobody asked for: its queue is too short"
                )
        for flow in flows:
            if flow.receiver_bps and abs(flow.throughput_bps / flow.receiver_bps - 1) > 0.05:
                self.suspect.append(
                    f"flow {flow.flow + 1}: sender and receiver differ by more than 5 % "
                    f"({flow.throughput_bps / 1e6:.3g} and {flow.receiver_bps / 1e6:.3g} Mbit/s)"
                )

    def window(self, samples: list[Sample]) -> None:
        """After: was the advertised window the one that was asked for?"""
        asked = self.experiment.hosts.window
        seen = max((sample.snd_wnd for sample in samples), default=0)
        if asked is None or seen == 0:
            return
        self.checks["advertised window"] = seen
        # A window is used in whole segments.
        if abs(seen - asked) > max(0.02 * asked, samples[-1].mss):
            self.suspect.append(f"the receiver advertised {seen} bytes, not {asked}")

    def gaps(self, worst: float, period: float) -> None:
        """After: the longest time without a sample."""
        self.checks["longest sampling gap"] = round(worst, 4)
        if worst > max(5 * period, 0.25):
            self.suspect.append(f"no samples for {worst:.2f} s: the machine is too busy")

    def verdict(self) -> Fidelity:
        status: Status = "invalid" if self.invalid else "suspect" if self.suspect else "valid"
        return Fidelity(status=status, reasons=(*self.invalid, *self.suspect), checks=self.checks)
