"""UDP traffic of a run: delivery, and the places of its losses by their counters."""

from __future__ import annotations

import msgspec

from tcptutor.analysis.observed.measured import Measured
from tcptutor.base import units
from tcptutor.base.causes import LimitedBy
from tcptutor.run import sum_or_none

_MOST = 0.9
"""Share of the losses that counts as all of them."""

_QUEUE = "in the queue"
"""Name of the bottleneck's queue."""

_NOTABLE = 0.005
"""Loss share below which losses are given as a count instead of a percentage."""


class UdpLosses(msgspec.Struct, frozen=True, kw_only=True):
    """All UDP flows of a run, with the packet drops of that time, TCP's included."""

    flows: int
    sent_bps: float | None
    """None, as for the next three, if the far end's count is missing."""
    received_bps: float | None
    datagrams: int | None
    lost: int | None
    in_queue: int
    """Drops at the bottleneck's queue."""
    on_path: int
    """Random drops by netem."""
    in_socket: int
    """Drops at the receiving socket's full buffer."""
    at_firewall: int
    """Drops by the receiver's firewall rule."""
    at_sender: int
    """Drops at the sender's own queue."""

    @property
    def loss_rate(self) -> float | None:
        """Lost over sent datagrams, 0 to 1; None if unknown."""
        if self.lost is None or self.datagrams is None:
            return None
        return self.lost / self.datagrams if self.datagrams else 0.0

    @property
    def places(self) -> dict[str, int]:
        """Places with drops, by their text, the most first."""
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
    """Return the UDP flows of both directions or of a single direction; None without any."""
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


def udp_limit(found: UdpLosses) -> LimitedBy:
    """Return the limit of UDP: the bottleneck after notable queue drops, otherwise the sender's rate."""
    where = next(iter(found.places), "")
    if found.loss_rate is None:
        return "unexplained"
    return "bottleneck" if found.loss_rate >= _NOTABLE and where == _QUEUE else "application"


def udp_sentence(measured: Measured) -> str:
    """Return the sentence on a run of UDP only, with both directions if used."""
    ways = {reverse: udp_losses(measured, reverse) for reverse in (False, True)}
    found = {reverse: losses for reverse, losses in ways.items() if losses is not None}
    if len(found) < 2:
        return next((direction_sentence(losses) for losses in found.values()), "")
    return "; ".join(
        f"{'reverse' if reverse else 'forward'}, {direction_sentence(losses)}"
        for reverse, losses in found.items()
    )


def direction_sentence(found: UdpLosses) -> str:
    """Return the sentence on the flows of a direction."""
    subject = "UDP" if found.flows == 1 else f"{found.flows} UDP flows"
    sent = "" if found.sent_bps is None else f"sent {units.rate(found.sent_bps)}"
    if found.received_bps is None:
        return f"{subject} {sent or 'was sent'}: what arrived is not known"
    arrived = f"{units.rate(found.received_bps)} arrived"
    text = f"{subject} {sent}, {arrived}" if sent else f"{subject}: {arrived}"
    if found.loss_rate is None:
        return f"{text}: how much was lost is not known"
    if not found.lost:
        return f"{subject} {sent} and all of it arrived" if sent else f"{text}, nothing was lost"
    return f"{text}: {_share(found)} lost {_where(found)}".rstrip()


def udp_clause(found: UdpLosses) -> str:
    """Return the clause on UDP losses to append to a sentence on TCP; empty without losses."""
    if not found.lost:
        return ""
    only = next(iter(found.places)) if len(found.places) == 1 else ""
    return f"; UDP lost {_share(found)} {only}".rstrip()


def _share(found: UdpLosses) -> str:
    share = found.loss_rate or 0.0
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
