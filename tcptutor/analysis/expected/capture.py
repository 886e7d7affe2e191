"""Expected number of captured packets and size of the capture file."""

from __future__ import annotations

import math

import msgspec

from tcptutor.analysis.expected.expect import expect
from tcptutor.base import units
from tcptutor.base.headers import ETHERNET_HEADER
from tcptutor.run import frames
from tcptutor.spec import Experiment
from tcptutor.theory import ACK_EVERY

_BLOCK = 32
"""Bytes of pcapng overhead per packet."""
_ACK = 66
"""Bytes of an ACK with its Ethernet header."""
_DATAGRAM = 1448
"""Bytes that iperf3 puts into a datagram."""


class CaptureSize(msgspec.Struct, frozen=True, kw_only=True):
    """Estimate of an experiment's capture."""

    interfaces: int
    packets: int
    """Captured packets at all interfaces, within the available memory."""
    bytes: int
    """Size of the capture file."""
    left_out: int
    """Packets that exceed the available memory."""

    @property
    def sentence(self) -> str:
        """Estimate such as "about 36000 packets will be kept, in 4.3 MB"."""
        text = f"about {_rough(self.packets)} packets will be kept, in {units.size(_rough(self.bytes))}"
        if self.left_out:
            text += f"; for the last {_rough(self.left_out)} there is no room: take a larger capture_size"
        return text


def capture_size(experiment: Experiment) -> CaptureSize | None:
    """Return the estimate for `experiment`; None if it captures no packets."""
    names = experiment.captured_interfaces
    if not names:
        return None
    blocks, in_block = frames.ring_shape(
        experiment.flows.capture_size // len(names), experiment.flows.snaplen
    )
    data, acks = _packets(experiment)
    packets = size = left_out = 0
    for name in names:
        # A host sees its own pair's packets; switches see all packets, except on ports that face a host.
        share = 1 / experiment.pairs if _of_one_pair(name, experiment.pairs) else 1.0
        total = share * (data + acks)
        fitting = min(total, blocks * in_block)
        packets += round(fitting)
        left_out += round(total - fitting)
        size += round(
            fitting
            / max(total, 1.0)
            * share
            * (data * _kept(experiment, None) + acks * _kept(experiment, _ACK))
        )
    return CaptureSize(interfaces=len(names), packets=packets, bytes=size, left_out=left_out)


def _rough(number: int) -> int:
    """Return `number` rounded to two significant digits."""
    return round(number, 2 - len(str(number)))


def _packets(experiment: Experiment) -> tuple[float, float]:
    """Return the numbers of data packets and of ACKs over all pairs."""
    flows, seconds = experiment.flows, experiment.seconds
    rate = expect(experiment).binding.throughput_bps if experiment.total_streams else 0.0
    sent = rate * seconds / 8
    if flows.bytes is not None:
        sent = min(sent, float(flows.bytes * experiment.total_streams))
    datagrams = (
        experiment.pairs * flows.udp_streams * flows.udp_rate * seconds / 8 / (flows.length or _DATAGRAM)
    )
    data = sent / experiment.segment
    return data + datagrams, data / ACK_EVERY


def _kept(experiment: Experiment, length: int | None) -> int:
    """Return the stored bytes of a packet of `length`, by default of a full packet."""
    frame = experiment.hosts.mtu + ETHERNET_HEADER if length is None else length
    return _BLOCK + math.ceil(min(frame, experiment.flows.snaplen) / 4) * 4


def _of_one_pair(name: str, pairs: int) -> bool:
    return pairs > 1 and not name.endswith("-eth1")
