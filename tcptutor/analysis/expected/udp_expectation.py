"""Expectation for UDP: flows send at their own rate, and the link delivers up to its capacity."""

from __future__ import annotations

import math

import msgspec

from tcptutor.analysis.case import Case, case_of
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.base.causes import LimitedBy
from tcptutor.spec import Experiment
from tcptutor.theory.models import ThroughputModel

_ALONE_ERROR = 0.02
"""Error from the flows' start and the shaper's bursts."""

_BESIDE_ERROR = 0.05
"""Error from TCP's bursts at a shared queue, which no formula covers."""

_TCP_KEEPS = 0.01
"""Least share of the link that TCP gets next to UDP that could fill it."""

_CHANGING = frozenset({"rate", "loss", "link"})
_JITTERS = {"uniform": 2 / 3, "normal": 2 / math.sqrt(math.pi)}
"""Mean difference of two independent delays over `jitter`; heavy-tailed shapes have no short formula."""


class UdpExpectation(msgspec.Struct, frozen=True, kw_only=True):
    """Sum of an experiment's UDP flows; rates are of payload."""

    sent_bps: float
    received_bps: float
    queue_loss: float
    """Share of the datagrams at the bottleneck that its queue drops, 0 to 1."""
    path_loss: float
    """Share of the datagrams that the path or the firewall drops, 0 to 1."""
    jitter_s: float | None
    """Jitter as iperf3 reports it, s; None if it depends on the queue."""
    tolerance: float
    """Relative error of `received_bps`."""
    formula: str

    @property
    def loss(self) -> float:
        """Share of the sent datagrams that do not arrive, 0 to 1."""
        return 1 - self.received_bps / self.sent_bps

    @property
    def limited_by(self) -> LimitedBy:
        return "bottleneck" if self.queue_loss > _ALONE_ERROR else "application"


def expect_udp(experiment: Experiment) -> UdpExpectation | None:
    """Return the expectation; None without UDP, or if rate or loss change while it sends."""
    case, flows, path = case_of(experiment), experiment.flows, experiment.path
    number = experiment.pairs * flows.udp_streams
    if not number or flows.udp_rate <= 0 or _CHANGING & {change.name for change in path.changes}:
        return None
    headers = case.udp_rate / (number * flows.udp_rate)
    each, maxrate = flows.udp_rate, experiment.hosts.maxrate
    if maxrate is not None:
        each = min(each, maxrate / headers)
    on_path = path.loss if path.loss_by == "netem" else 0.0
    at_host = path.loss if path.loss_by == "firewall" else 0.0
    sent = number * each
    offered = sent * headers * (1 - on_path)
    room = _room(case, number)
    carried = min(offered, room)
    received = carried / headers * (1 - at_host)
    formula = f"{number} × {units.rate(each)}" if number > 1 else units.rate(each)
    if path.loss:
        formula += f" × (1 − {units.percent(path.loss)})"
    if carried < offered:
        formula += f", the link carries {units.rate(room / headers)}"
    jitter = None
    if carried == offered and not experiment.total_streams and path.jitter:
        jitter = _JITTERS[path.jitter_shape] * path.jitter if path.jitter_shape in _JITTERS else None
    return UdpExpectation(
        sent_bps=sent,
        received_bps=received,
        queue_loss=1 - carried / offered if offered else 0.0,
        path_loss=path.loss,
        jitter_s=jitter,
        tolerance=_tolerance(experiment, sent),
        formula=formula,
    )


def _room(case: Case, number: int) -> float:
    """Return the link capacity for the UDP flows, bit/s of frames."""
    if case.rate is None:
        return math.inf
    if not case.flows:
        return case.rate
    if case.is_fair:
        return case.rate * number / (case.flow_count + number)
    return (1 - _TCP_KEEPS) * case.rate


def _tolerance(experiment: Experiment, sent: float) -> float:
    path = experiment.path
    known = _BESIDE_ERROR if experiment.total_streams else _ALONE_ERROR
    datagrams = max(1.0, sent * experiment.flows.duration / 8 / (experiment.flows.length or 1448))
    # Losses in bursts vary more than independent ones.
    spread = math.sqrt(path.loss * (2 * path.loss_burst - 1) / datagrams / max(1e-3, 1 - path.loss))
    # Packets that netem sends early bypass the shaper below it.
    return math.hypot(known, 2 * spread) + path.reorder


def udp_candidate(experiment: Experiment) -> Candidate | None:
    """Return the expectation as a throughput candidate; None unless the experiment has only UDP."""
    found = expect_udp(experiment)
    if found is None or experiment.total_streams:
        return None
    return Candidate(
        ThroughputModel.UDP,
        "UDP",
        found.received_bps,
        found.formula,
        {"model": found.tolerance},
        found.limited_by,
    )
