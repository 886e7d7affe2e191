"""The traffic: iperf3 between hosts, one server and one client process for flows that share all settings."""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tcptutor import units
from tcptutor.errors import LabError
from tcptutor.lab.netlink import Address
from tcptutor.lab.network import Host, Network
from tcptutor.spec import Experiment

PORT = 5201
"""Of the first server; those of others follow it."""
_ROUND_TRIPS = 10
"""Round trips below which an iperf3 may fail for want of time."""
_SETTING_UP = 6
"""Round trips of a client before its first flow: iperf3's control connection, and what both tell each other over it."""
COOKIE = 37
"""Bytes that iperf3 sends on each data connection before the data."""


@dataclass
class Group:
    """Flows that one iperf3 client sends: their settings, its two processes, and where they write."""

    number: int
    pair: int
    sender: Host
    receiver: Host
    flows: tuple[int, ...]
    """Numbers of its TCP flows; empty for UDP."""
    algorithm: str
    start: float
    """Seconds after the traffic began."""
    first_port: int
    """Its flows' source ports are this one and those after it."""
    udp_streams: int = 0
    remedy: str = "run the experiment again"
    """What to do when iperf3 fails."""
    server: subprocess.Popen[bytes] | None = None
    client: subprocess.Popen[bytes] | None = None
    server_output: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    output: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    @property
    def port(self) -> int:
        return PORT + self.number

    @property
    def addresses(self) -> list[tuple[int, Address]]:
        """Its TCP flows: their numbers and connections."""
        return [
            (number, Address(self.sender.address, self.first_port + place, self.receiver.address, self.port))
            for place, number in enumerate(self.flows)
        ]

    @property
    def ended(self) -> bool:
        """Whether its client has been started and is over."""
        return self.client is not None and self.client.poll() is not None

    @property
    def served(self) -> bool:
        """Whether its server is over."""
        return self.server is not None and self.server.poll() is not None

    def result(self) -> dict[str, Any]:
        """iperf3's JSON once the client has ended; empty when it was cut off. Raises LabError with iperf3's error."""
        self.output.seek(0)
        try:
            document: dict[str, Any] = json.loads(self.output.read() or b"{}")
        except ValueError:
            return {}
        if error := document.get("error"):
            raise LabError(f"iperf3 on {self.sender.name}: {error}: {self.remedy}")
        return document


def groups(network: Network, experiment: Experiment, first_port: int) -> list[Group]:
    """Who sends to whom: flows that differ in nothing share a client; a fixed amount is counted for each client."""
    members: dict[tuple[int, bool, str, float, int], list[int]] = {}
    for flow in range(experiment.total_streams):
        alone = flow if experiment.flows.bytes is not None else -1
        settings = (experiment.reversed(flow), experiment.algorithm(flow), experiment.start(flow), alone)
        members.setdefault((flow // experiment.flows.streams, *settings), []).append(flow)
    found: list[Group] = []
    longest = max(map(experiment.pair_delay, range(experiment.pairs)))
    remedy = Group.remedy
    if experiment.flows.duration < _ROUND_TRIPS * longest:
        # iperf3's own messages before and after the data take several.
        trips = units.seconds(_ROUND_TRIPS * longest)
        remedy = f"take a longer duration, {_ROUND_TRIPS} round trips ({trips}) or more"
    for (pair, backward, algorithm, start, _), flows in members.items():
        hosts = network.senders[pair], network.receivers[pair]
        sender, receiver = reversed(hosts) if backward else hosts
        # Flows of one client need not have numbers in a row, and their ports are.
        port = first_port + sum(len(group.flows) for group in found)
        found.append(
            Group(len(found), pair, sender, receiver, tuple(flows), algorithm, start, port, remedy=remedy)
        )
    for pair in range(experiment.pairs if experiment.flows.udp_streams else 0):
        sender, receiver = network.senders[pair], network.receivers[pair]
        streams = experiment.flows.udp_streams
        port = first_port + experiment.total_streams + pair * streams
        found.append(Group(len(found), pair, sender, receiver, (), "", 0.0, port, streams, remedy))
    return found


def connect_seconds(experiment: Experiment) -> float:
    """How long the clients may take until all their flows are connected, on a path that loses nothing, s.

    iperf3 connects one flow after the other, a round trip each, and begins to send when it has them all: a client with
    fewer flows begins before the others, whose round trips then go through its queue.
    """
    path, flows = experiment.path, experiment.flows
    trip = max(map(experiment.pair_delay, range(experiment.pairs)))
    if path.rate is not None and experiment.pairs * (flows.streams + flows.udp_streams) > 1:
        trip += 8 * path.queue / path.rate
    return (10 + flows.streams + flows.udp_streams) * trip


def waits(experiment: Experiment, clients: Sequence[Group]) -> list[float]:
    """How long each of `clients` waits before it connects, s, so that UDP's handshakes meet an empty queue.

    iperf3 sends a UDP flow's one datagram of a handshake once: where a queue drops it the flow never begins. So TCP's
    clients wait until they have all their flows when those of UDP have theirs, and neither sends before. Without
    both kinds nobody waits.
    """
    needs = [
        (_SETTING_UP + len(group.flows) + group.udp_streams) * experiment.pair_delay(group.pair)
        for group in clients
    ]
    if not any(group.flows for group in clients) or not any(group.udp_streams for group in clients):
        return [0.0] * len(clients)
    return [max(needs) - need for need in needs]


def client_command(experiment: Experiment, group: Group) -> list[str]:
    """The iperf3 client's command line. Its data connections take the ports from `first_port` on, in order."""
    flows = experiment.flows
    command = ["iperf3", "-c", group.receiver.address, "-p", str(group.port), "-J"]
    command += ["--cport", str(group.first_port), "-P", str(group.udp_streams or len(group.flows))]
    if flows.bytes is not None and group.flows:
        command += ["-n", str(flows.bytes)]
    else:
        # Whole seconds, rounded up: what is measured is cut from the samples, this only has to last long enough.
        early = 0.0 if group.udp_streams else connect_seconds(experiment)
        command += ["-t", str(math.ceil(experiment.seconds - group.start + early))]
    length = flows.length if group.udp_streams else experiment.write
    if length is not None:
        command += ["-l", str(length)]
    if flows.buffer is not None:
        command += ["-w", str(flows.buffer)]
    if group.udp_streams:
        return [*command, "-u", "-b", str(round(flows.udp_rate))]
    command += ["-C", group.algorithm]
    if experiment.hosts.mss is not None:
        command += ["-M", str(experiment.hosts.mss)]
    if flows.pacing is not None:
        command += ["--fq-rate", str(round(flows.pacing))]
    return command


def start_server(network: Network, group: Group, options: Sequence[str] = ()) -> None:
    """An iperf3 server for one test, with further `options`."""
    # A pipe would fill up while nobody reads: sixteen streams write more than it holds.
    group.server = network.popen(
        group.receiver,
        "iperf3",
        "-s",
        "-1",
        "-B",
        group.receiver.address,
        "-p",
        str(group.port),
        *options,
        stdout=group.server_output,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    )


def listening(group: Group) -> bool:
    """Whether the server takes connections yet. Raises LabError when it has ended instead."""
    assert group.server is not None
    if group.server.poll() is not None:
        group.server_output.seek(0)
        said = group.server_output.read().decode(errors="replace").strip().splitlines()
        raise LabError(
            f"iperf3 does not start on {group.receiver.name}: {said[-1] if said else 'no reason given'}"
        )
    table = Path(f"/proc/{group.receiver.pid}/net/tcp").read_text()
    return any(f":{group.port:04X} " in row and " 0A " in row for row in table.splitlines())


def sending_udp(group: Group) -> bool:
    """Whether all UDP sockets of the group are connected."""
    table = Path(f"/proc/{group.sender.pid}/net/udp").read_text()
    return sum(f":{group.port:04X} " in row for row in table.splitlines()) >= group.udp_streams


def start_client(network: Network, group: Group, experiment: Experiment) -> None:
    """Begin to send."""
    group.client = network.popen(
        group.sender,
        *client_command(experiment, group),
        stdout=group.output,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )


def stop(started: list[Group]) -> None:
    """End what still runs; safe to call twice."""
    for group in started:
        for process in (group.client, group.server):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        group.server_output.close()
        group.output.close()
