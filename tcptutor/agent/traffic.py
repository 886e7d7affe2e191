"""The traffic of an experiment: which flows go together, and when they connect."""

from __future__ import annotations

from collections.abc import Sequence

from tcptutor.agent.flow_process import FlowProcess
from tcptutor.agent.group import RUN_AGAIN, Group
from tcptutor.agent.network import Network
from tcptutor.agent.streams import StreamGroup
from tcptutor.agent.udp_flows import UdpGroup
from tcptutor.base import units
from tcptutor.spec import Experiment

_ROUND_TRIPS = 10
"""Round trips below which an iperf3 may fail for want of time."""
_SETTING_UP = 6
"""Round trips of an iperf3 client before its first flow: its control connection, and what both tell each other."""


def groups(network: Network, experiment: Experiment, first_port: int, process: FlowProcess) -> list[Group]:
    """Who sends to whom: TCP flows that differ in nothing are one group, and so are the UDP flows of each pair.

    `process` gets the ends of the TCP flows; whoever made it starts and stops it.
    """
    members: dict[tuple[int, bool, str, float], list[int]] = {}
    for flow in range(experiment.total_streams):
        settings = (experiment.reversed(flow), experiment.algorithm(flow), experiment.start(flow))
        members.setdefault((flow // experiment.flows.streams, *settings), []).append(flow)
    found: list[Group] = []
    for (pair, backward, _, start), flows in members.items():
        hosts = network.senders[pair], network.receivers[pair]
        sender, receiver = reversed(hosts) if backward else hosts
        # Flows of one group need not have numbers in a row, and their ports are.
        port = first_port + sum(len(group.flows) for group in found)
        found.append(
            StreamGroup(
                network, experiment, len(found), pair, sender, receiver, start, port,
                flows=tuple(flows), process=process,
            )
        )  # fmt: skip
    streams, remedy = experiment.flows.udp_streams, RUN_AGAIN
    longest = max(map(experiment.pair_delay, range(experiment.pairs)))
    if experiment.flows.duration < _ROUND_TRIPS * longest:
        # iperf3's own messages before and after the data take several.
        trips = units.seconds(_ROUND_TRIPS * longest)
        remedy = f"take a longer duration, {_ROUND_TRIPS} round trips ({trips}) or more"
    for pair in range(experiment.pairs if streams else 0):
        sender, receiver = network.senders[pair], network.receivers[pair]
        port = first_port + experiment.total_streams + pair * streams
        found.append(
            UdpGroup(
                network, experiment, len(found), pair, sender, receiver, 0.0, port,
                udp_streams=streams, remedy=remedy,
            )
        )  # fmt: skip
    return found


def connect_seconds(experiment: Experiment) -> float:
    """How long it may take until all flows are connected, on a path that loses nothing, s.

    TCP's connect at once; iperf3 connects UDP flows one after the other, a round trip each, and some of the pairs may
    send while others connect, whose round trips then go through their queue.
    """
    path, flows = experiment.path, experiment.flows
    trip = max(map(experiment.pair_delay, range(experiment.pairs)))
    if path.rate is not None and experiment.pairs * (flows.streams + flows.udp_streams) > 1:
        trip += 8 * path.queue / path.rate
    return (10 + flows.udp_streams) * trip


def waits(experiment: Experiment, chosen: Sequence[Group]) -> list[float]:
    """How long each of the groups `chosen` waits before it connects, s, so that all have their flows at one time.

    iperf3 sends a UDP flow's one datagram of a handshake once: where a queue drops it the flow never begins. So
    nobody sends before all of these are through.
    """
    needs = [
        (_SETTING_UP + group.udp_streams if group.udp_streams else 1) * experiment.pair_delay(group.pair)
        for group in chosen
    ]
    if not any(group.flows for group in chosen) or not any(group.udp_streams for group in chosen):
        return [0.0] * len(chosen)
    return [max(needs) - need for need in needs]
