"""Samples of every flow's TCP state, taken at a steady rate beside the traffic."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.lab.network import Network
from tcptutor.lab.sockdiag import AT, Address, SockDiag, TcpInfo
from tcptutor.lab.traffic import PORT
from tcptutor.run import Sample

_US = 1e-6
_CA_CWR = 2
"""Congestion-avoidance states from this one on have reduced the window and not yet recovered."""


class Flow(NamedTuple):
    """A data connection: its number in the run, its pair, and its addresses."""

    number: int
    pair: int
    address: Address


def sample(flow: int, t: float, info: TcpInfo) -> Sample:
    """tcp_info in our names and base units. `t` is the time since the traffic began, s."""
    at = AT
    return Sample(
        flow=flow,
        t=round(t, 6),
        cwnd=info[at["snd_cwnd"]],
        ssthresh=info[at["snd_ssthresh"]],
        mss=info[at["snd_mss"]],
        rtt=info[at["rtt"]] * _US,
        rttvar=info[at["rttvar"]] * _US,
        min_rtt=info[at["min_rtt"]] * _US,
        bytes_acked=info[at["bytes_acked"]],
        segs_out=info[at["data_segs_out"]],
        retransmits=info[at["total_retrans"]],
        delivery_rate=info[at["delivery_rate"]] * 8,
        pacing_rate=min(info[at["pacing_rate"]] * 8.0, 1e15),
        snd_wnd=info[at["snd_wnd"]],
        ca_state=info[at["ca_state"]],
        app_limited=bool(info[at["app_limited"]] & 1),
        busy=info[at["busy_time"]] * _US,
        rwnd_limited=info[at["rwnd_limited"]] * _US,
        sndbuf_limited=info[at["sndbuf_limited"]] * _US,
        reord_seen=info[at["reord_seen"]],
        dsack_dups=info[at["dsack_dups"]],
        rto=info[at["rto"]] * _US,
    )


class LossCounter:
    """Counts a flow's loss events, however many segments each retransmits.

    An event lowers ssthresh, or, where it lowers it to the same value again, begins to retransmit outside of a
    recovery. A sample shows only what is there when it is taken: two events between two samples count as one.
    """

    def __init__(self, start: float = 0.0) -> None:
        self.events = 0
        self._start = start
        self._before: Sample | None = None

    def add(self, now: Sample) -> None:
        """Events before `start` are not counted."""
        before, self._before = self._before, now
        if before is None or now.t < self._start:
            return
        began = now.retransmits > before.retransmits and before.ca_state < _CA_CWR
        self.events += now.ssthresh != before.ssthresh or began


class Sampler:
    """The flows of all pairs, asked one by one at their known addresses. Owns the sock_diag sockets."""

    def __init__(self, network: Network, streams: int, first_port: int) -> None:
        self._diags = [SockDiag(sender) for sender in network.senders]
        self.flows: list[Flow] = []
        for pair, (sender, receiver) in enumerate(zip(network.senders, network.receivers, strict=True)):
            for stream in range(streams):
                address = Address(sender.address, first_port + stream, receiver.address, PORT)
                self.flows.append(Flow(len(self.flows), pair, address))

    def close(self) -> None:
        for diag in self._diags:
            diag.close()

    def take(self, t: float) -> list[Sample]:
        """One sample of every flow that is there."""
        rows = []
        for flow in self.flows:
            info = self._diags[flow.pair].info(flow.address)
            if info is not None:
                rows.append(sample(flow.number, t, info))
        return rows
