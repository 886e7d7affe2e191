"""Throughput of each flow: its own limit, or its share of a full link; transfer times; and what UDP gets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from tcptutor import theory
from tcptutor.analysis.bottleneck import LEAST_ROOM
from tcptutor.analysis.case import MIN_RTO, Case, FlowCase, case_of
from tcptutor.analysis.expected.loss import RENO_SPREAD
from tcptutor.analysis.expected.prediction import LEAST_RATE, Candidate, Stretch
from tcptutor.base import sizes, units
from tcptutor.base.causes import LimitedBy
from tcptutor.spec import Experiment
from tcptutor.theory.models import ThroughputModel
from tcptutor.theory.transfers import Transfer, TransferTime, transfer_time

COMPLETION_ERROR = 0.15
"""Error from the handshake, the last delayed ACK, and slow start at the queue."""

LOSSY_ERROR = 0.3
"""Error of Reno's mean for a single transfer with few losses."""

OVERFLOW_ERROR = 0.3
"""Error from the overshoot of slow start, which takes some round trips to repair."""

_OFTEN = 0.04
"""Least probability of losing the last segment that widens the tolerance."""

_SYNCHRONY = 1.5
"""Exponent between 1, independent losses, and 2, synchronized losses (Lakshman, Madhow 1997)."""

_LOSS_BASED = frozenset({"reno", "cubic"})
"""Algorithms that Ware et al. compared with BBR."""

_BY_CHANCE = 1.0
"""Exponent under RED: random drops give all flows the same loss rate."""

_UDP_ALONE_ERROR = 0.02
"""Error from the flows' start and the shaper's bursts."""

_UDP_BESIDE_ERROR = 0.05
"""Error from TCP's bursts at a shared queue, which no formula covers."""

_UNSTEADY = frozenset({"rate", "loss", "link"})
"""Changes of the path after which no single rate of UDP is expected."""

_JITTERS = {"uniform": 2 / 3, "normal": 2 / math.sqrt(math.pi)}
"""Mean difference of two independent delays over `jitter`; heavy-tailed shapes have no short formula."""


def own_limits(case: Case, believed: Sequence[Candidate]) -> tuple[float, ...]:
    """Return the least of each flow's own limits, bit/s; infinite for a flow with none."""
    each = [one.per_flow for one in believed if one.per_flow]
    return tuple(
        min((limits[place] for limits in each), default=math.inf) for place in range(case.flow_count)
    )


def amount_candidate(case: Case, believed: Sequence[Candidate]) -> tuple[Candidate | None, float | None]:
    """Return the mean rate until the last flow has sent everything, and the slowest transfer time, s.

    The candidate is the best only if all flows finish before the run ends.
    """
    size = case.experiment.flows.bytes
    if size is None or not case.flows:
        return None, None
    durations = _durations(case, size, believed)
    times = [seconds for seconds, _ in durations]
    starts = [flow.start for flow in case.flows]
    end = max(start + duration for start, duration in zip(starts, times, strict=True))
    span = end - min(starts)
    total = 8 * size * case.flow_count / span
    simulated = [one for _, one in durations if one is not None]
    error = COMPLETION_ERROR
    if len(simulated) < case.flow_count:
        if case.loss_rate > 0:
            error = math.hypot(error, LOSSY_ERROR)
        error = math.hypot(error, _overflow(case, size))
    if case.experiment.flows.warmup > 0:
        error += 0.2  # the warm-up excludes the slow part
    errors = {"model": error}
    if not simulated and _may_lose_last(case, size):
        errors["last segment"] = MIN_RTO / span
    if len(simulated) == case.flow_count:
        errors["losses"] = max(one.spread for one in simulated)
    elif case.loss_rate > 0:
        lost = size / case.mss * case.loss_rate * case.flow_count
        errors["losses"] = 2 * RENO_SPREAD / math.sqrt(max(lost, 1e-9))
    steady = min(believed, key=lambda one: one.throughput)
    candidate = Candidate(
        model=ThroughputModel.COMPLETION,
        label=f"{case.count_prefix}{sizes.decimal(size)}",
        throughput=total,
        formula=f"{case.count_prefix}{sizes.decimal(size)} / {units.seconds(span)}",
        errors=errors,
        # A short transfer consists mostly of slow start.
        limited_by=steady.limited_by if total > steady.throughput / 2 else "growing",
        is_expected=end <= case.experiment.seconds and case.experiment.flows.warmup < end,
        per_flow=tuple(8 * size / duration for duration in times),
    )
    return candidate, max(times)


def _durations(
    case: Case, size: int, believed: Sequence[Candidate]
) -> list[tuple[float, TransferTime | None]]:
    """Return the time in which each flow transfers `size` bytes, s, with the simulated transfer if there is one.

    Without losses this is slow start followed by the least of the flow's limits. With losses, sample transfers are
    simulated if the sender's law is known. The link is shared as if all flows lasted to the end, which underestimates
    the flow that starts last.
    """
    limits = _lossless_limits(case, believed)
    link = math.inf if case.tcp_capacity is None else case.tcp_capacity / case.flow_count
    known: dict[tuple[str, float, float, float], tuple[float, TransferTime | None]] = {}
    durations = []
    for flow, limit in zip(case.flows, limits, strict=True):
        loss = 0.0 if flow.algorithm == "bbr" else case.loss_rate
        key = (flow.algorithm, flow.rtt, min(limit, link), loss)
        if key not in known:
            _, rtt, rate, _ = key
            rate_limit = rate if math.isfinite(rate) else None
            timeout, initial = case.measured_rto or None, case.initial_window
            if (transfer := _transfer(case, flow, size, limit)) is not None:
                simulated = transfer_time(transfer)
                lossless = theory.completion_time(size, case.mss, rtt, rate_limit, initial)
                known[key] = (max(simulated.seconds, lossless), simulated)
            else:
                seconds = theory.completion_time(size, case.mss, rtt, rate_limit, initial, loss, timeout)
                known[key] = (seconds, None)
        durations.append(known[key])
    return durations


def _lossless_limits(case: Case, believed: Sequence[Candidate]) -> tuple[float, ...]:
    """Return each flow's limits without losses, bit/s; the transfer time already includes losses."""
    met = ThroughputModel.MEETING if case.loss_rate > 0 else None
    return own_limits(case, [one for one in believed if not one.is_lossy and one.model is not met])


def _transfer(case: Case, flow: FlowCase, size: int, limit: float) -> Transfer | None:
    """Return the transfer of `size` bytes by `flow`, which its own limits keep to `limit` bit/s.

    None if no sample transfers are simulated: without losses, without a law for the sender, or for long transfers.
    """
    if not 0 < case.loss_rate < 1 or flow.algorithm not in theory.LIMITED:
        return None
    bits = 8 * case.mss
    share = 1 / case.flow_count
    transfer = Transfer(
        algorithm=flow.algorithm,
        segments=max(1, math.ceil(size / case.mss)),
        rtt=flow.rtt,
        loss=case.loss_rate,
        rto=flow.rtt + MIN_RTO,
        initial=case.initial_window,
        rate=math.inf if case.tcp_capacity is None else share * case.tcp_capacity / bits,
        queue=math.inf if case.tcp_capacity is None else share * case.buffer / case.frame,
        window=max(1.0, limit * flow.rtt / bits),
    )
    return transfer if transfer.is_short else None


def _overflow(case: Case, size: int) -> float:
    """Return the error that the overflow at the end of slow start adds to a transfer of `size` bytes."""
    if case.tcp_capacity is None or case.algorithm == "bbr":
        return 0.0
    held = (case.tcp_capacity * case.rtt / 8 + case.buffer * case.payload_ratio) / case.flow_count
    return OVERFLOW_ERROR * min(1.0, 4 * held / size) if size > held else 0.0


def _may_lose_last(case: Case, size: int) -> bool:
    """Return whether the queue may well drop the last segment of a transfer.

    No later segment reveals that loss, so the sender waits for a probe or a timeout. A sawtooth with peak w has a drop
    every 3/8 w² segments (Mathis et al. 1997).
    """
    if case.tcp_capacity is None or case.algorithm == "bbr" or case.qdisc != "fifo":
        return False
    peak = (case.tcp_capacity * case.rtt / 8 + case.buffer * case.payload_ratio) / case.mss / case.flow_count
    return size / case.mss > peak and 3 / 8 * peak * peak * _OFTEN < 1


def mean_rates(stretches: Sequence[Stretch], binding: Candidate) -> tuple[float, ...]:
    """Return each flow's mean over its lifetime, bit/s."""
    if binding.model is ThroughputModel.COMPLETION:
        return binding.per_flow
    bits: dict[int, float] = {}
    seconds: dict[int, float] = {}
    for one in stretches:
        case, rates = one.case, (LEAST_RATE,) * one.case.flow_count
        if not case.is_cut:
            rates = shares(
                case, [each for each in one.candidates if each.is_expected], one.binding.throughput
            )
        if not rates:
            return ()
        for flow, rate in zip(case.flows, rates, strict=True):
            bits[flow.number] = bits.get(flow.number, 0.0) + rate * case.seconds
            seconds[flow.number] = seconds.get(flow.number, 0.0) + case.seconds
    return tuple(bits[flow] / seconds[flow] for flow in sorted(seconds) if seconds[flow])


def shares(case: Case, believed: Sequence[Candidate], total: float) -> tuple[float, ...]:
    """Return each flow's part of `total`, bit/s; empty if no closed form covers these flows.

    Flows below their share of the link keep their own limit. The rest of the link is divided equally if the flows are
    alike or the queue serves them in turn. Reno flows with different RTTs share it as 1/RTT^1.5, under RED as 1/RTT.
    Reno or CUBIC flows competing with BBR get the remainder of Ware's model.
    """
    limits = own_limits(case, believed)
    if math.fsum(limits) <= total * (1 + 1e-9):
        return limits
    weights = _weights(case)
    rates, remaining, open_ = [0.0] * case.flow_count, total, set(range(case.flow_count))
    while open_:
        total_weight = math.fsum(weights[place] for place in open_)
        small = {place for place in open_ if limits[place] <= remaining * weights[place] / total_weight}
        if not small and _fights({case.flows[place] for place in open_}, case):
            return _beside_bbr(case, total) if len(open_) == case.flow_count else ()
        for place in small or open_:
            rates[place] = limits[place] if small else remaining * weights[place] / total_weight
        if not small:
            break
        remaining -= math.fsum(limits[place] for place in small)
        open_ -= small
    return tuple(rates)


def _weights(case: Case) -> tuple[float, ...]:
    if len(case.kinds) == 1 or case.is_fair or case.algorithm != "reno":
        return (1.0,) * case.flow_count
    queued = 8 * case.buffer / case.rate / 2 if case.rate else 0.0
    power = _BY_CHANCE if case.qdisc == "red" else _SYNCHRONY
    return theory.rtt_shares((flow.rtt + queued for flow in case.flows), power=power)


def _fights(flows: set[FlowCase], case: Case) -> bool:
    """Return whether the sharing among `flows` depends on their algorithms."""
    kinds = {(flow.algorithm, flow.rtt) for flow in flows}
    return len(kinds) > 1 and not case.is_fair and {flow.algorithm for flow in flows} != {"reno"}


def bbr_fraction(case: Case) -> float | None:
    """Return the link share of all BBR flows (Ware et al. 2019); None if the model does not apply.

    The model covers BBR against Reno or CUBIC at a tail-drop queue, with equal RTTs and no further limits.
    """
    bbr = sum(flow.algorithm == "bbr" for flow in case.flows)
    others = case.algorithms - {"bbr"}
    has_equal_rtts = len({flow.rtt for flow in case.flows}) == 1
    if not bbr or not others or not others <= _LOSS_BASED or not has_equal_rtts or case.rate is None:
        return None
    if case.qdisc != "fifo" or case.loss > 0 or case.udp_rate or case.is_cut or not case.queue:
        return None
    return theory.bbr_fraction(case.rate, case.rtt, case.queue, case.frame, bbr)


def _beside_bbr(case: Case, total: float) -> tuple[float, ...]:
    """Return each flow's part of `total`, bit/s, by `bbr_fraction`; empty if it does not apply."""
    fraction = bbr_fraction(case)
    if fraction is None:
        return ()
    bbr = sum(flow.algorithm == "bbr" for flow in case.flows)
    each = {True: total * fraction / bbr, False: total * (1 - fraction) / (case.flow_count - bbr)}
    return tuple(each[flow.algorithm == "bbr"] for flow in case.flows)


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
        return "bottleneck" if self.queue_loss > _UDP_ALONE_ERROR else "application"


def expect_udp(experiment: Experiment) -> UdpExpectation | None:
    """Return the expectation; None without UDP, or if rate or loss change while it sends."""
    case, flows, path = case_of(experiment), experiment.flows, experiment.path
    number = experiment.pairs * flows.udp_streams
    if not number or flows.udp_rate <= 0 or _UNSTEADY & {change.name for change in path.all_changes}:
        return None
    headers = case.udp_rate / (number * flows.udp_rate)
    each, maxrate = flows.udp_rate, experiment.hosts.maxrate
    if maxrate is not None:
        each = min(each, maxrate / headers)
    on_path = path.loss if path.loss_by == "netem" else 0.0
    at_host = path.loss if path.loss_by == "firewall" else 0.0
    sent = number * each
    offered = sent * headers * (1 - on_path)
    room = _room_for_udp(case, number)
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
        tolerance=_udp_tolerance(experiment, sent),
        formula=formula,
    )


def _room_for_udp(case: Case, number: int) -> float:
    """Return the link capacity for the UDP flows, bit/s of frames."""
    if case.rate is None:
        return math.inf
    if not case.flows:
        return case.rate
    if case.is_fair:
        return case.rate * number / (case.flow_count + number)
    return (1 - LEAST_ROOM) * case.rate


def _udp_tolerance(experiment: Experiment, sent: float) -> float:
    path = experiment.path
    known = _UDP_BESIDE_ERROR if experiment.total_streams else _UDP_ALONE_ERROR
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
