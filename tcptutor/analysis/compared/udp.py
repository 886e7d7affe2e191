"""What became of a run's UDP: how much arrived, and where the rest was lost, from what was counted at each place."""

from __future__ import annotations

import msgspec

from tcptutor.analysis.observed.measured import Measured
from tcptutor.base import units
from tcptutor.run import sum_or_none
from tcptutor.theory.models import LimitedBy

_MOST = 0.9
"""Share of the losses that is said as all of them."""

_QUEUE = "in the queue"
"""The bottleneck's."""

_NOTABLE = 0.005
"""Share of the datagrams below which a loss is told in numbers, not in percent."""


class UdpLosses(msgspec.Struct, frozen=True, kw_only=True):
    """All UDP flows of a run together, and who dropped packets while they went. Of TCP's beside it as well."""

    flows: int
    sent_bps: float | None
    """None, as are the next three, where the file of one end does not tell of the other."""
    received_bps: float | None
    datagrams: int | None
    lost: int | None
    in_queue: int
    """Packets that the bottleneck's queue dropped."""
    on_path: int
    """Packets that netem dropped at random."""
    in_socket: int
    """Datagrams that found the receiving socket's buffer full."""
    at_firewall: int
    """Packets that the receiver's rule dropped."""
    at_sender: int
    """Packets that the sender's own queue dropped."""

    @property
    def share(self) -> float | None:
        """Lost of sent, 0 to 1; None where either is unknown."""
        if self.lost is None or self.datagrams is None:
            return None
        return self.lost / self.datagrams if self.datagrams else 0.0

    @property
    def places(self) -> dict[str, int]:
        """By where, those that dropped any; the most first."""
        counted = {
            _QUEUE: self.in_queue,
            "on the path": self.on_path,
            "at the firewall": self.at_firewall,
            "in the receiver's full buffer": self.in_socket,
            "in the sender's own queue": self.at_sender,
        }
        return dict(
            sorted(((where, count) for where, count in counted.items() if count), key=lambda one: -one[1])
        )


def udp_losses(measured: Measured, reverse: bool | None = None) -> UdpLosses | None:
    """Return all UDP flows together, or those of one direction; None without any."""
    run = measured.run
    flows = [flow for flow in measured.udp if reverse in (None, flow.reverse)]
    if not flows:
        return None
    drops, fidelity = run.queue.column("drops"), run.fidelity
    latest = {row.host: row.drops for row in run.senders}
    return UdpLosses(
        flows=sum(each.flows for each in flows),
        sent_bps=sum_or_none(each.sent_bps for each in flows),
        received_bps=sum_or_none(each.received_bps for each in flows),
        datagrams=sum_or_none(each.datagrams for each in flows),
        lost=sum_or_none(each.lost for each in flows),
        in_queue=drops[-1] - drops[0] if drops else 0,
        on_path=max(0, int(fidelity.number("random drops"))),
        at_firewall=int(fidelity.number("firewall drops")),
        in_socket=sum(each.overruns or 0 for each in flows),
        at_sender=sum(latest.values()),
    )


def limited_by(found: UdpLosses) -> LimitedBy:
    """What UDP was no faster for: the link where its queue dropped a notable share, else its sender's own rate."""
    where = next(iter(found.places), "")
    if found.share is None:
        return "unexplained"
    return "bottleneck" if found.share >= _NOTABLE and where == _QUEUE else "application"


def sentence(measured: Measured) -> str:
    """Return the sentence for a run of nothing but UDP: of each direction where it runs both ways."""
    ways = {reverse: udp_losses(measured, reverse) for reverse in (False, True)}
    found = {reverse: losses for reverse, losses in ways.items() if losses is not None}
    if len(found) < 2:
        return next((alone(losses) for losses in found.values()), "")
    return "; ".join(
        f"{'reverse' if reverse else 'forward'}, {alone(losses)}" for reverse, losses in found.items()
    )


def alone(found: UdpLosses) -> str:
    """Return the sentence for flows of one direction."""
    who = "UDP" if found.flows == 1 else f"{found.flows} UDP flows"
    sent = "" if found.sent_bps is None else f"sent {units.rate(found.sent_bps)}"
    if found.received_bps is None:
        return f"{who} {sent or 'was sent'}: what arrived is not known"
    arrived = f"{units.rate(found.received_bps)} arrived"
    said = f"{who} {sent}, {arrived}" if sent else f"{who}: {arrived}"
    if found.share is None:
        return f"{said}: how much was lost is not known"
    if not found.lost:
        return f"{who} {sent} and all of it arrived" if sent else f"{said}, nothing was lost"
    return f"{said}: {_share(found)} lost {_where(found)}".rstrip()


def beside(found: UdpLosses) -> str:
    """What is added to the sentence on TCP: what UDP lost; empty where it lost nothing."""
    if not found.lost:
        return ""
    only = next(iter(found.places)) if len(found.places) == 1 else ""
    return f"; UDP lost {_share(found)} {only}".rstrip()


def _share(found: UdpLosses) -> str:
    share = found.share or 0.0
    return units.percent(share) if share >= _NOTABLE else f"{found.lost} of {found.datagrams}"


def _where(found: UdpLosses) -> str:
    places, total = found.places, sum(found.places.values())
    if not places:
        return ""
    first, count = next(iter(places.items()))
    if count >= _MOST * total or len(places) == 1:
        return first
    second = list(places)[1]
    return f"{first} and {second}"
