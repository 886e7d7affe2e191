"""The bottleneck: its buffer under each queue discipline, and the rates of UDP and short flows."""

from __future__ import annotations

from tcptutor.spec import Experiment
from tcptutor.spec.frame_sizes import ETHERNET_HEADER
from tcptutor.spec.short_flows import arrivals

_UDP_OVERHEAD = 28 + ETHERNET_HEADER
"""IPv4, UDP and Ethernet headers of a datagram as the shaper counts them, bytes."""

LEAST_ROOM = 0.01
"""Least share of the link left to TCP next to UDP that could fill it."""

FAIR = frozenset({"fq", "fq_codel", "cake"})
"""Queue disciplines that serve flows in turn."""

CODEL = frozenset({"codel", "fq_codel", "cake"})

CODEL_TARGET, _CODEL_INTERVAL = 0.005, 0.1
"""CoDel's target queueing delay and interval, s (RFC 8289, sections 4.2 and 4.3)."""

_RED_SHARE = 1 / 3
"""Mean queue under RED over the queue size: its thresholds are at a sixth and a half."""

_FQ_PACKETS = 100
"""Packets that fq queues per flow (flow_limit)."""


def usable_buffer(
    qdisc: str, rate: float, size: float, rtt: float, frame: int, flow_count: int, mss: int
) -> float:
    """Return the queue length at which a queue drops or marks, bytes of frames.

    Args:
        qdisc: Queue discipline.
        rate: Link rate, bit/s of frames.
        size: Configured queue size, bytes of frames.
        rtt: RTT without queueing, s.
        frame: Size of a full frame, bytes.
        flow_count: Number of TCP flows.
        mss: Segment size, bytes.
    """
    if qdisc in CODEL:
        # Until CoDel's interval ends, each flow adds a segment per RTT.
        grown = flow_count * mss * _CODEL_INTERVAL / rtt
        return min(size, rate * CODEL_TARGET / 8 + grown)
    if qdisc == "red":
        return _RED_SHARE * size
    if qdisc == "fq":
        return min(size, flow_count * _FQ_PACKETS * frame)
    return size


def rate_of_udp(experiment: Experiment, mss: int) -> float:
    """Return the rate of all UDP flows at the link, bit/s of frames; datagrams hold `mss` bytes by default."""
    flows = experiment.flows
    if not flows.udp_streams:
        return 0.0
    datagram = min(flows.length or mss, 65507)
    packets = -(-datagram // (experiment.hosts.mtu - 28))
    return (
        experiment.pairs
        * flows.udp_streams
        * flows.udp_rate
        * (datagram + packets * _UDP_OVERHEAD)
        / datagram
    )


def rate_of_short_flows(experiment: Experiment, ratio: float) -> float:
    """Return the mean rate of the short flows' data, bit/s of frames: a large one lasts beyond the warm-up.

    Args:
        experiment: The experiment.
        ratio: Payload's share of a full frame.
    """
    if not experiment.has_short_flows:
        return 0.0
    return 8 * sum(each.bytes for each in arrivals(experiment)) / experiment.seconds / ratio


def rate_left_by_udp(
    experiment: Experiment, rate: float, udp_rate: float, flows_in_turn: int
) -> float | None:
    """Return the part of the link's `rate` that UDP leaves to TCP, bit/s of frames; None without UDP.

    Args:
        experiment: The experiment.
        rate: Link rate, bit/s of frames.
        udp_rate: Rate of all UDP flows, bit/s of frames.
        flows_in_turn: Number of TCP flows if the queue serves flows in turn, otherwise 0.
    """
    if not udp_rate:
        return None
    left = max(LEAST_ROOM * rate, rate - udp_rate)
    if flows_in_turn:
        others = experiment.pairs * experiment.flows.udp_streams
        left = max(left, rate * flows_in_turn / (flows_in_turn + others))
    return left
