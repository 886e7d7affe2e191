"""One run: set the network up, check it, send, sample, collect, and leave the network as it was."""

from __future__ import annotations

import time

from tcptutor.errors import LabError
from tcptutor.lab import hosts, shaping, traffic, window
from tcptutor.lab.channel import Channel, Stopped
from tcptutor.lab.fidelity import Watch
from tcptutor.lab.network import Network
from tcptutor.lab.protocol import Finished, Phase, Samples
from tcptutor.lab.results import flow_results
from tcptutor.lab.sampler import Sampler
from tcptutor.run import Sample
from tcptutor.spec import Experiment

_BATCH = 0.2
"""Lab time that one Samples event covers, s."""
_CONNECT_TIMEOUT = 15.0
"""Longest wait for the connections, s of the lab's clock; a lossy path may need several SYNs."""


class _Traffic:
    """The running traffic and what was sampled of it. Owns the processes; `stop` ends them."""

    def __init__(
        self, network: Network, experiment: Experiment, first_port: int, channel: Channel, sample_hz: float
    ) -> None:
        self.network, self.experiment, self.first_port, self.channel = (
            network,
            experiment,
            first_port,
            channel,
        )
        self.period = 1 / sample_hz
        self.sampler = Sampler(network, experiment.flows.streams, first_port)
        self.pairs: list[traffic.Pair] = []
        self.samples: list[Sample] = []
        self.worst_gap = 0.0

    def stop(self) -> None:
        traffic.stop(self.pairs)
        self.sampler.close()

    def start(self) -> float:
        """Servers, then clients, then wait for all connections; the lab's time when they are there."""
        self.pairs = traffic.start_servers(self.network)
        for pair in self.pairs:
            while not traffic.listening(pair):
                self.channel.pause(0.005)
        for pair in self.pairs:
            traffic.start_client(self.network, pair, self.experiment, self.first_port)
        deadline = time.monotonic() + _CONNECT_TIMEOUT + 10 * self.experiment.path.delay
        while True:
            now = time.monotonic()
            if len(self.sampler.take(0.0)) == len(self.sampler.flows):
                return now
            for pair in self.pairs:
                if pair.client is not None and pair.client.poll() is not None:
                    pair.result()  # raises with iperf3's own reason
                    raise LabError(f"iperf3 on {pair.sender.name} ended early: run the experiment again")
            if now > deadline:
                raise LabError("the flows do not connect: the path loses too much, take a smaller loss")
            self.channel.pause(self.period / 5)

    def sample(self, began: float) -> float:
        """Take and emit samples for the length of the experiment; the time they cover, s."""
        total = self.experiment.seconds
        batch: list[Sample] = []
        sent = last = 0.0
        tick = 0
        while True:
            t = time.monotonic() - began
            rows = self.sampler.take(t)
            self.worst_gap = max(self.worst_gap, t - last)
            last = t
            batch += rows
            self.samples += rows
            if t - sent >= _BATCH or t >= total:
                self.channel.send(Samples(round(t, 6), tuple(batch)))
                batch, sent = [], t
            if t >= total:
                return t
            if not rows and all(
                pair.client is not None and pair.client.poll() is not None for pair in self.pairs
            ):
                for pair in self.pairs:
                    pair.result()
                raise LabError("iperf3 ended before its time: run the experiment again")
            tick += 1
            # The next tick of a steady grid: a late sample does not make the following ones late.
            tick = max(tick, int(t / self.period) + 1)
            self.channel.pause(max(0.0, began + tick * self.period - time.monotonic()))

    def finish(self) -> None:
        """Wait for iperf3 to write its result; it may take a moment longer than the samples."""
        deadline = time.monotonic() + 5 + 20 * self.experiment.path.delay
        for pair in self.pairs:
            while pair.client is not None and pair.client.poll() is None and time.monotonic() < deadline:
                self.channel.pause(0.02)


def run(
    network: Network, experiment: Experiment, channel: Channel, first_port: int, sample_hz: float = 20.0
) -> None:
    """Run `experiment`, sending its events; the last one is Finished. Raises LabError or KernelLacks.

    A Stop request ends the traffic, and Finished tells what was measured so far, with `complete` false.
    """
    watch = Watch(experiment)
    wanted = shaping.shaping(experiment)
    hosts.prepare(network, experiment)
    if experiment.hosts.window is not None:
        for sender, receiver in zip(network.senders, network.receivers, strict=True):
            window.bound(sender, receiver, experiment.hosts.window)
    shaping.apply(network.bottleneck, wanted)
    if experiment.hosts.maxrate is not None:
        for sender in network.senders:
            watch.invalid += shaping.pace(sender.interface, experiment.hosts.maxrate)
    running = _Traffic(network, experiment, first_port, channel, sample_hz)
    seconds, complete = 0.0, False
    try:
        channel.send(Phase("check", "checking the path"))
        watch.settings(network, wanted)
        watch.path(network)
        before = shaping.held(network.bottleneck)
        channel.send(Phase("traffic", "connecting"))
        try:
            began = running.start()
            seconds = running.sample(began)
            complete = True
            channel.send(Phase("collect", "collecting the results"))
            running.finish()
        except Stopped:
            seconds = seconds or (running.samples[-1].t if running.samples else 0.0)
        after = shaping.held(network.bottleneck)
        flows = flow_results(running.pairs, running.sampler.flows, running.samples, experiment)
        watch.traffic(before, after, flows if complete else [])
        watch.window(running.samples)
        watch.gaps(running.worst_gap, running.period)
        channel.send(Finished(tuple(flows), watch.verdict(), round(seconds, 6), complete))
    finally:
        running.stop()
        for interface in (network.bottleneck, *(sender.interface for sender in network.senders)):
            shaping.clear(interface)
