"""The bottleneck and its queue: the link, and what a short buffer or an AQM leaves of it."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor import units
from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case
from tcptutor.spec import ETHERNET_HEADER
from tcptutor.theory import BBR_LOSS_LIMIT, bbr_throughput, sawtooth_utilisation, shared_utilisation

LINK_ERROR = 0.02
"""ARP, ACKs, and the bursts of the shaper."""

BOTH_WAYS_ERROR = 0.05
"""Acknowledgements of the flows the other way: 66 bytes for every second segment, and bursts behind queues."""

UDP_ERROR = 0.05
"""What UDP loses at a full queue is TCP's, which no formula has."""

BBR_ERROR = 0.05
"""BBR empties the pipe every ten seconds and probes below its estimate."""

BURST_FRAMES = 10
"""Queue in full frames below which TCP's own bursts overflow it and no model of the sawtooth holds."""

BURST_ERROR = 0.5

SAWTOOTH_ERROR = 0.05
"""A drop at the tail often costs more than one segment."""

AQM_ERROR = 0.1
"""Where a queue discipline drops is drawn or timed: its buffer is not a number but an order of magnitude."""

_CODEL = frozenset({"codel", "fq_codel", "cake"})
_CODEL_TARGET, _CODEL_INTERVAL = 0.005, 0.1
"""Seconds of queue that CoDel allows, and how long it looks before it drops (RFC 8289, section 4.2 and 4.3)."""

_RED_SHARE = 1 / 3
"""Between RED's thresholds, at a sixth and a half of the queue."""

_FQ_PACKETS = 100
"""What fq keeps of one flow (its flow_limit)."""


def queue_candidates(case: Case) -> Iterator[Candidate]:
    """The link, and below it what its buffer leaves when nothing but that buffer loses or marks segments."""
    room, rate = case.room, case.rate
    if room is None or rate is None:
        return
    sure = {"model": BBR_ERROR if case.algorithm == "bbr" else LINK_ERROR}
    if bursts_overflow(case):
        sure["bursts"] = BURST_ERROR
    if case.udp:
        sure["UDP"] = UDP_ERROR
    if _both_ways(case):
        sure["both ways"] = BOTH_WAYS_ERROR
    x = buffer_ratio(case)
    if x is not None and x < 1 and case.loss_rate == 0 and "bbr" not in case.algorithms:
        used = utilisation(case, x)
        yield _short(case, room, x, used, sure)
        sure = {**sure, "model": sure["model"] + 1 - used}
    if case.algorithm == "bbr" and case.loss > 0:
        yield from _bbr(case, room)
        if case.loss > BBR_LOSS_LIMIT:
            sure = {**sure, "model": 1.0}
    formula = f"{units.rate(rate)} × {case.share_text}"
    if case.udp:
        formula = f"({units.rate(rate)} − {units.rate(case.udp)} UDP) × {case.share_text}"
        if room > 1.001 * max(0.0, (rate - case.udp) * case.ratio):
            formula = f"{units.rate(room)}, what {'taking turns' if case.fair else 'UDP'} leaves"
    yield Candidate("link", "link", room, formula, sure, "bottleneck")


def bursts_overflow(case: Case) -> bool:
    """Whether the bottleneck's queue is too short for a few segments at once."""
    frame = case.experiment.hosts.mtu + ETHERNET_HEADER
    return case.rate is not None and case.queue < BURST_FRAMES * frame


def buffer(case: Case) -> float:
    """Bytes of frames that wait before segments are dropped or marked: the queue, or what its discipline allows."""
    rate, size = case.rate or 0.0, float(case.queue)
    if case.qdisc in _CODEL:
        # While CoDel looks, each flow adds a segment a round trip.
        grown = case.number * case.mss * _CODEL_INTERVAL / case.rtt
        return min(size, rate * _CODEL_TARGET / 8 + grown)
    if case.qdisc == "red":
        return _RED_SHARE * size
    if case.qdisc == "fq":
        return min(size, case.number * _FQ_PACKETS * (case.experiment.hosts.mtu + ETHERNET_HEADER))
    return size


def buffer_ratio(case: Case) -> float | None:
    """The bottleneck's buffer over the BDP; None without a rate or a delay."""
    return buffer(case) / case.bdp if case.bdp else None


def utilisation(case: Case, x: float) -> float:
    """Share of the link that Reno uses with a buffer of x BDP, x below 1."""
    used = sawtooth_utilisation(x)
    if case.number > 1:
        # Flows that take turns in losing leave less unused; without a buffer it is Altman's formula.
        used = 1 - (1 - used) * (1 - shared_utilisation(case.number, 0.5)) / (1 - sawtooth_utilisation(0))
    return used


def _short(case: Case, room: float, x: float, used: float, sure: dict[str, float]) -> Candidate:
    dropped = case.qdisc == "fifo"
    if dropped:
        name, label = ("sawtooth" if case.number == 1 else "shared"), f"{case.times}Reno, short buffer"
    else:
        name, label = "aqm", f"{case.times}Reno, {case.qdisc}"
    turns = "" if case.number == 1 else f", {case.number} flows in turn"
    formula = f"{units.rate(room)} × ¾ (1+x)²/(1+x+x²), x = {x:.2g}{turns}"
    error = (SAWTOOTH_ERROR if dropped else AQM_ERROR) + sure.get("bursts", 0.0)
    given = {**sure, "model": error}
    given.pop("bursts", None)
    return Candidate(name, label, room * used, formula, given, "bottleneck", best=case.algorithm == "reno")


def _bbr(case: Case, room: float) -> Iterator[Candidate]:
    """BBR under random loss. What netem drops has not used the link, so there the link's rate itself holds."""
    if case.loss > BBR_LOSS_LIMIT:
        return
    before = case.path.loss_by == "netem" or case.backward
    formula = f"{units.rate(room)} × (1 − {units.percent(case.loss)})"
    sure = {"model": BBR_ERROR + case.loss / 2}
    rate = bbr_throughput(room, case.loss)
    yield Candidate("bbr", f"{case.times}BBR", rate, formula, sure, "bottleneck", best=not before)


def _both_ways(case: Case) -> bool:
    experiment = case.experiment
    directions = {experiment.reversed(flow) for flow in range(experiment.total_streams)}
    return len(directions) == 2
