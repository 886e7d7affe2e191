"""Samples of every flow's TCP state, taken at a steady rate beside the traffic."""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from tcptutor.lab.network import Host
from tcptutor.lab.sockdiag import AT, Address, SockDiag, TcpInfo, request
from tcptutor.lab.traffic import Group
from tcptutor.run import Sample

_US = 1e-6
_NO_RTT = 0xFFFFFFFF
"""min_rtt before the first measurement."""


class Flow(NamedTuple):
    """A data connection: its number in the run, its pair, and its addresses."""

    number: int
    pair: int
    address: Address


_NAMES = """
snd_cwnd snd_ssthresh snd_mss rtt rttvar min_rtt bytes_acked data_segs_out total_retrans delivery_rate pacing_rate
snd_wnd ca_state app_limited busy_time rwnd_limited sndbuf_limited reord_seen dsack_dups rto bytes_retrans delivered
delivered_ce total_rto unacked lost notsent_bytes
""".split()
_pick = itemgetter(*(AT[name] for name in _NAMES))


def sample(flow: int, t: float, info: TcpInfo, received: int) -> Sample:
    """tcp_info in our names and base units. `t` is the time since the traffic began, s."""
    # Taken out by one call and given by position: a hundred times a second for each flow, names cost as much as
    # asking the kernel.
    (
        cwnd, ssthresh, mss, rtt, rttvar, min_rtt, acked, segs_out, retransmits, delivery_rate, pacing_rate,
        snd_wnd, ca_state, app_limited, busy, rwnd_limited, sndbuf_limited, reord_seen, dsack_dups, rto, bytes_retrans,
        delivered, delivered_ce, total_rto, unacked, lost, notsent,
    ) = _pick(info)  # fmt: skip
    return Sample(
        flow, t, cwnd, ssthresh, mss, rtt * _US, rttvar * _US, 0.0 if min_rtt == _NO_RTT else min_rtt * _US, acked,
        segs_out, retransmits, delivery_rate * 8.0, min(pacing_rate * 8.0, 1e15), snd_wnd, ca_state,
        bool(app_limited & 1), busy * _US, rwnd_limited * _US, sndbuf_limited * _US, reord_seen, dsack_dups, rto * _US,
        bytes_retrans, delivered, delivered_ce, total_rto, unacked, lost, notsent, received,
    )  # fmt: skip


class Sampler:
    """Flows, asked one by one at their known addresses. Owns the sock_diag sockets."""

    def __init__(self, groups: list[Group]) -> None:
        self._diags: dict[str, SockDiag] = {}
        self.flows: list[Flow] = []
        """In order of their numbers."""
        self._asked: list[tuple[int, SockDiag, bytes, SockDiag, bytes]] = []
        for group in groups:
            for place, number in enumerate(group.flows):
                address = Address(
                    group.sender.address, group.first_port + place, group.receiver.address, group.port
                )
                self.add(Flow(number, group.pair, address), group.sender, group.receiver)

    def add(self, flow: Flow, sender: Host, receiver: Host) -> None:
        """Ask for this one as well."""
        self.flows.append(flow)
        self._asked.append(
            (
                flow.number,
                self._diag(sender),
                request(flow.address),
                self._diag(receiver),
                request(flow.address.other_end),
            )
        )
        self.flows.sort()
        self._asked.sort(key=lambda asked: asked[0])

    def _diag(self, host: Host) -> SockDiag:
        if host.name not in self._diags:
            self._diags[host.name] = SockDiag(host)
        return self._diags[host.name]

    def close(self) -> None:
        for diag in self._diags.values():
            diag.close()

    def take(self, t: float) -> list[Sample]:
        """One sample of every flow that is there, in order of their numbers."""
        t = round(t, 6)
        rows = []
        for number, sender, asked, receiver, asked_there in self._asked:
            info = sender.ask(asked)
            if info is not None:
                rows.append(sample(number, t, info, receiver.bytes_received(asked_there)))
        return rows
