"""Predictions without random loss: the link, short buffers and AQM, windows, and pacing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tcptutor.analysis.case import (
    SEND_CHUNK,
    SEND_SHARE,
    Case,
)
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import sizes, units
from tcptutor.theory import (
    ACK_DELAY,
    ACK_EVERY,
    BBR_LOSS_HELD,
    bbr_throughput,
    queueing_delay,
    window_limited,
)
from tcptutor.theory.limits import write_limited
from tcptutor.theory.models import LOSS_BLIND, ThroughputModel

LINK_ERROR = 0.02
"""Error from ARP, ACKs, and bursts of the shaper."""

BOTH_WAYS_ERROR = 0.05
"""Error from ACKs of the reverse flows, 66 bytes for every second segment, and their bursts."""

UDP_ERROR = 0.05
"""Error from UDP losses at a full queue, which leave TCP more; no formula covers them."""

UNKNOWN = 1.0
"""Error of a prediction that is shown for comparison only."""

BBR_ERROR = 0.05
"""Error from BBR's drain every ten seconds and its probing below the estimate."""

ACKS_ERROR = 0.5
"""Error on a full reverse path: its queue drops ACKs, and each remaining ACK covers more data."""

SAWTOOTH_ERROR = 0.05
"""Error from tail drops, which often cost several segments."""

AQM_ERROR = 0.1
"""Error under AQM: random or timed drops make the effective buffer uncertain."""

AQM_MIX_ERROR = 0.05
"""Error for a mix of flows that respond to drops and flows that do not, which may leave the link unused."""

WINDOW_ERROR = 0.05
"""Error from the queueing and host delays in the RTT."""

WRITES_ERROR = 0.1
"""Error of the write cost: six runs were within 1 % of the fit, but other host settings differ."""

VIRTUAL_CLOCK_WRITE, VIRTUAL_CLOCK_SEGMENT = 5.66e-6, 25e-6
"""Processor time on the guest's virtual clock for a write, and for a segment with its ACK, s.

The virtual clock executes one instruction per nanosecond on every computer, so both are instruction counts. They
were counted with writes of 1 to 28 bytes on links of 30 to 60 Mbit/s that did not limit the flow.
"""

PACING_ERROR = 0.05
"""Error from the kernel's pacing timer and its credit for late packets."""

BUFFER_ERROR = 0.3
"""Error from the memory overhead per segment in a socket buffer."""

KERNEL_BUFFER_ERROR = 0.5
"""Error of the size of an autotuned buffer."""

RECEIVE_SHARE = 157 / 256
"""Window over the receive buffer, tcp_rmem, for segments of 1448 bytes.

Since Linux 6.6 the kernel measures payload over memory, in 256ths (`scaling_ratio`: tcp_measure_rcv_mss and
tcp_win_from_space in net/ipv4). A segment of 1448 bytes takes about 2,360 bytes, so a buffer of 256 KiB advertises
157 KiB. Before, tcp_adv_win_scale = 1 made it one half.
"""

RECEIVE_SHARE_ERROR = 0.1
_USUAL_SEGMENTS = range(1400, 1461)
"""Segment sizes for which RECEIVE_SHARE was measured, bytes."""

_SENT_SHARE = 1 / 2
"""Payload in flight over tcp_wmem, which counts each segment with its overhead."""

SEND_ERROR = 0.1
"""Error from the varying sizes of segments in the send buffer."""

FEW_SEGMENTS = 16
"""Window in segments below which the formula counts full segments."""

UNCHECKED_ERROR = 1.0
"""Error for writes of partial segments, whose remainder bypasses the buffer check.

With tcp_wmem of 256 KiB and writes of 128 KiB, 580 kB were in flight.
"""

_AUTOTUNED = 6 << 20
"""Largest buffer of the lab's hosts unless the BDP requires more, bytes; half of it is overhead."""

_FIRST_RECEIVE_BUFFER = 131072
"""Initial receive buffer of the lab's hosts, bytes."""

_BURSTS_ERROR, _BURST = 0.48, 3
"""Error at a queue of `_BURST` frames, which drops part of the retransmission bursts."""

_LOCKED, _LOCKED_SHARE = 4.5, 1 / 10
"""Queue in frames, and as a share of the BDP, below which retransmissions may be lost repeatedly.

Reno on 20 Mbit/s and 40 ms, 66 segments, reached 0.05 of the sawtooth's rate with 2 frames, 0.15 with 3, 0.19 with 4
and 0.81 with 4.6; CUBIC on 10 Mbit/s and 30 ms, 25 segments, reached all of it with 4.
"""

_LONG = 12
"""BDP over queue from which bursts exceed those behind `_BURSTS_ERROR`.

CUBIC on 50 Mbit/s and 60 ms reached 0.73 with 6.6 frames.
"""


def limit_candidates(case: Case) -> Iterator[Candidate]:
    """Yield the limits of `case` that do not depend on random loss."""
    yield from _link(case)
    yield from _way_back(case)
    yield from _windows(case)
    yield from _pacing(case)
    yield from _writes(case)


def _link(case: Case) -> Iterator[Candidate]:
    """Yield the link, and below it the sawtooth or BBR estimate if they apply."""
    room, rate = case.tcp_capacity, case.rate
    if room is None or rate is None:
        return
    errors, is_simulated = _link_errors(case, room), case.can_simulate
    x = case.buffer_ratio
    if x is not None and x < 1 and case.loss_rate == 0 and "bbr" not in case.algorithms:
        used = case.sawtooth_utilization(x)
        yield _short_buffer(case, room, x, used, errors)
        if not is_simulated:
            errors["model"] = errors["model"] + 1 - used
    if case.algorithm == "bbr" and 0 < case.loss <= BBR_LOSS_HELD:
        yield _bbr(case, room)
    formula = f"{units.rate(rate)} × {case.share_text}"
    if case.udp_rate:
        formula = f"({units.rate(rate)} − {units.rate(case.udp_rate)} UDP) × {case.share_text}"
    if case.short_rate:
        formula += f" − {units.rate(case.short_rate * case.payload_ratio)} of short flows"
        if room > 1.001 * max(0.0, (rate - case.udp_rate) * case.payload_ratio):
            formula = f"{units.rate(room)}, what {'taking turns' if case.is_fair else 'UDP'} leaves"
    if case.copies > 1:
        formula += f" / {case.copies:.3g} copies"
    yield Candidate(ThroughputModel.LINK, "link", room, formula, errors, "bottleneck")


def _link_errors(case: Case, room: float) -> dict[str, float]:
    """Return the errors of a full link by source."""
    errors = {"model": BBR_ERROR if case.algorithm == "bbr" else LINK_ERROR}
    if "bbr" in case.algorithms and case.loss > 0:
        errors["model"] = BBR_ERROR + case.loss / 2 if case.loss <= BBR_LOSS_HELD else UNKNOWN
    if (held := _held(case, room)) > LINK_ERROR / 4:
        errors["held"] = held
    if case.bursts_overflow:
        errors["bursts"] = bursts_error(case)
    if case.udp_rate:
        errors["UDP"] = UDP_ERROR
    if case.qdisc != "fifo" and len(case.algorithms) > 1 and not case.is_fair:
        errors["queue"] = AQM_MIX_ERROR
    experiment = case.experiment
    if len({experiment.reversed(flow) for flow in range(experiment.total_streams)}) == 2:
        errors["both ways"] = min(UNKNOWN, BOTH_WAYS_ERROR + _behind_reverse_queue(case, room))
    return errors


def _behind_reverse_queue(case: Case, room: float) -> float:
    """Return the largest share of the link that flows miss because their ACKs queue behind data.

    The full queue of the reverse path lengthens the RTT. Then a larger window is needed to fill the link; it grows by a
    segment per RTT from half of link and queue without that delay, and the link's own queue is small in comparison.
    """
    path = case.path
    rate, queue = (path.rate, path.queue) if case.is_reverse else (path.reverse_rate, path.reverse_queue)
    if rate is None or case.algorithms <= LOSS_BLIND:
        return 0.0
    rtt = case.rtt + queueing_delay(queue, rate)
    held = case.buffer * case.payload_ratio
    needed = room * rtt / 8
    unused = 1 - case.sawtooth_utilization(held / needed) if held < needed else 0.0
    segment = case.mss * case.flow_count
    start, end = (room * case.rtt / 8 + held) / 2 / segment, needed / segment
    left = max(0.0, (end - start) * rtt - case.experiment.flows.warmup)
    growing = min(left, case.seconds) * (1 - start / end) / 2 / max(case.seconds, 1e-9)
    return unused + max(0.0, growing)


def _held(case: Case, room: float) -> float:
    """Return the share of the measured data that may belong to the time before or after: a full queue.

    After a loss nothing is acknowledged until the repair, and then everything that arrived meanwhile.
    """
    return min(
        1.0, 8 * (case.buffer * case.payload_ratio + room * case.rtt / 8) / (room * max(case.seconds, 1e-9))
    )


def bursts_error(case: Case) -> float:
    """Return the relative error from retransmission bursts at a short queue; longer queues drop fewer.

    Random losses keep most windows small enough to avoid such bursts.
    """
    frames, product = case.queue / case.frame, (case.bdp or 0.0) / case.frame
    if frames < _LOCKED and frames < _LOCKED_SHARE * product:
        return 1.0
    error = min(
        1.0, _BURSTS_ERROR * math.pow(_BURST / frames, 1.5) * math.sqrt(max(1.0, product / frames / _LONG))
    )
    return error / 2 if case.loss_rate > 0 else error


def _way_back(case: Case) -> Iterator[Candidate]:
    """Yield the rate at which the reverse path's ACK capacity clocks the data, if it is shaped."""
    acks = case.ack_rate
    if acks is None:
        return
    rate = acks * ACK_EVERY * 8 * case.mss
    formula = f"{ACK_EVERY} × {case.mss} B for each of {units.number(acks)} ACKs a second"
    model = ThroughputModel.WAY_BACK
    yield Candidate(model, model.label, rate, formula, {"model": ACKS_ERROR}, "bottleneck")


def _short_buffer(case: Case, room: float, x: float, used: float, sure: dict[str, float]) -> Candidate:
    is_single, is_tail_drop = case.flow_count == 1, case.qdisc == "fifo"
    model = ThroughputModel.SAWTOOTH if is_single else ThroughputModel.SHARED
    if not is_tail_drop:
        model = ThroughputModel.AQM
    turns = "" if is_single else f", {case.flow_count} flows in turn"
    formula = f"{units.rate(room)} × ¾ (1+x)²/(1+x+x²), x = {x:.2g}{turns}"
    errors = sure | {"model": SAWTOOTH_ERROR if is_tail_drop else AQM_ERROR}
    # At a tail-drop queue several flows may lose at the same time.
    best = case.algorithm == model.algorithm and not (model is ThroughputModel.SHARED and case.can_simulate)
    candidate = Candidate.of(case, model, room * used, formula, errors, best)
    return candidate if is_tail_drop else replace(candidate, label=f"{candidate.label}, {case.qdisc}")


def _bbr(case: Case, room: float) -> Candidate:
    """Return the prediction for BBR under random loss: paced at its estimate, minus the losses.

    Loss before the bottleneck leaves room there, and the shaper saves credit for it. BBR takes the burst that this
    credit allows for the link's rate, so its estimate is too high by bucket over BDP.
    """
    before = case.path.loss_by == "netem" or case.is_reverse
    credit = case.bucket / case.bdp if case.bdp else 0.0
    formula = f"{units.rate(room)} × (1 − {units.percent(case.loss)})"
    estimate = min(1.0, (1 - case.loss) * (1 + credit))
    if before:
        rate, error = room * estimate, BBR_ERROR + case.loss / 2
        formula += f" × (1 + {sizes.decimal(case.bucket)} of credit / BDP)" if credit else ""
    else:
        # The link is full only while BBR probes, and the loss behind it applies once more.
        rate, error = bbr_throughput(room, case.loss) * estimate, BBR_ERROR + case.loss
        formula += "²" if not credit else f"² × (1 + {sizes.decimal(case.bucket)} of credit / BDP)"
    return Candidate.of(case, ThroughputModel.BBR, rate, formula, {"model": error}, is_expected=rate < room)


def _windows(case: Case) -> Iterator[Candidate]:
    window, buffer, size, limit = (
        case.receive_window, case.socket_window, case.experiment.hosts.send_buffer, case.send_buffer_limit,
    )  # fmt: skip
    if window is not None:
        yield _receive_window(case, window)
    if size is not None and limit is not None:
        yield _send_buffer(case, size, limit)
    if buffer is not None:
        yield _by_window(case, ThroughputModel.SOCKET_BUFFER, buffer, BUFFER_ERROR)
    sysctls = case.experiment.hosts.sysctls
    is_configured = {"tcp_rmem", "tcp_wmem"} & set(sysctls) or sysctls.get("tcp_moderate_rcvbuf") == "0"
    if (case.rate is None and window is None and buffer is None) or is_configured:
        error = KERNEL_BUFFER_ERROR
        if is_configured:
            error = RECEIVE_SHARE_ERROR if case.segment in _USUAL_SEGMENTS else BUFFER_ERROR
        if "tcp_wmem" in sysctls:
            error = UNCHECKED_ERROR
        yield _by_window(case, ThroughputModel.KERNEL_BUFFER, _kernel_buffer(case), error)


def _receive_window(case: Case, window: int) -> Candidate:
    """Return the prediction for a receiver's window; small ones count full segments and delayed ACKs."""
    # Up to one segment of the window stays unused; with an odd number, the last ACK is delayed.
    error, segments = max(WINDOW_ERROR + case.mss / window, 2 * case.mss / window), window // case.mss
    error = min(0.5, error)
    if not 1 <= segments < FEW_SEGMENTS:
        return _by_window(case, ThroughputModel.WINDOW, window, error)
    waits = min(1.0, ACK_DELAY / case.rtt) if segments % 2 and segments > 1 else 0.0
    start = f"{segments} × {case.mss} B / "
    if waits:
        start = f"({segments} − {waits:.2g}) × {case.mss} B / "
    return _by_window(case, ThroughputModel.WINDOW, (segments - waits) * case.mss, error, start=start)


def _kernel_buffer(case: Case) -> int:
    """Return the payload that the hosts' largest buffers hold, bytes."""
    experiment = case.experiment
    sysctls = experiment.hosts.sysctls
    payload = []
    for name, share in (("tcp_rmem", RECEIVE_SHARE), ("tcp_wmem", _SENT_SHARE)):
        words = sysctls.get(name, "").split()
        if len(words) == 3 and words[2].isdigit() and int(words[2]) > 0:
            # Large writes keep one piece in the send buffer, however small it is.
            size = max(int(words[2]), 2 * SEND_CHUNK if name == "tcp_wmem" else 0)
            payload.append(share * size)
    if sysctls.get("tcp_moderate_rcvbuf") == "0":
        # Without autotuning the buffer keeps its initial size, the second of the three numbers.
        words = sysctls.get("tcp_rmem", "").split()
        first = int(words[1]) if len(words) == 3 and words[1].isdigit() else _FIRST_RECEIVE_BUFFER
        payload.append(RECEIVE_SHARE * first)
    tuned = max(_AUTOTUNED, 8 * round(experiment.bdp or 0) + 4 * experiment.path.queue)
    largest = tuned if experiment.path.rate else _AUTOTUNED
    return max(1, round(min(payload, default=RECEIVE_SHARE * largest)))


def _send_buffer(case: Case, size: int, sent: float) -> Candidate:
    """Return the prediction for a send buffer; each write leaves as a burst that queues at the bottleneck."""
    burst = case.full_write
    # Up to one segment of the buffer stays unused.
    error = SEND_ERROR + min(0.5, case.mss / size) if burst else UNCHECKED_ERROR
    wait = 4 * (burst or sent) / case.tcp_capacity if case.tcp_capacity else 0.0
    limit = f"{SEND_SHARE} × {sizes.decimal(size)}" if sent == SEND_SHARE * size else sizes.decimal(sent)
    if wait <= 0.01 * case.rtt:
        return _by_window(case, ThroughputModel.SEND_BUFFER, sent, error, wait, f"{limit} / ")
    candidate = _by_window(
        case, ThroughputModel.SEND_BUFFER, sent, error, wait, f"{limit} / ({units.seconds(wait)} + "
    )
    return replace(candidate, formula=f"{candidate.formula})")


def _by_window(
    case: Case, model: ThroughputModel, window: float, error: float, wait: float = 0.0, start: str = ""
) -> Candidate:
    """Return the prediction for a window, summed over the flows, with RTTs longer by `wait` seconds."""
    each = tuple(window_limited(window, flow.rtt + wait) for flow in case.flows)
    start = start or f"{sizes.decimal(window)} / "
    rtts = {flow.rtt for flow in case.flows}
    formula = f"{case.count_prefix}{start}{case.rtt_text()}"
    if len(rtts) > 1:
        formula = f"{start}RTT, over RTTs of {case.rtt_text(min(rtts))} to {case.rtt_text(max(rtts))}"
    return Candidate.of(case, model, math.fsum(each), formula, {"model": error}, per_flow=each)


def _pacing(case: Case) -> Iterator[Candidate]:
    pacing, maxrate, sure = (
        case.experiment.flows.pacing, case.experiment.hosts.maxrate, {"model": PACING_ERROR},
    )  # fmt: skip
    if pacing is not None:
        each, formula = (pacing,) * case.flow_count, f"{case.count_prefix}{units.rate(pacing)}"
        yield Candidate.of(case, ThroughputModel.PACING, math.fsum(each), formula, sure, per_flow=each)
    if maxrate is not None:
        each = (case.fq_rate or 0.0,) * case.flow_count
        formula = f"{case.count_prefix}{units.rate(maxrate)} × {case.share_text}"
        yield Candidate.of(case, ThroughputModel.FQ, math.fsum(each), formula, sure, per_flow=each)


def _writes(case: Case) -> Iterator[Candidate]:
    """Yield the rate of small writes by a single flow on the virtual clock, where the processor's speed is known."""
    length = case.experiment.flows.length
    if length is None or length >= case.segment or case.flow_count != 1 or not case.on_virtual_clock:
        return
    rate = write_limited(length, case.mss, VIRTUAL_CLOCK_WRITE, VIRTUAL_CLOCK_SEGMENT)
    formula = (
        f"1 / ({units.seconds(VIRTUAL_CLOCK_WRITE)} for {length} B + "
        f"{units.seconds(VIRTUAL_CLOCK_SEGMENT)} for {case.mss} B)"
    )
    yield Candidate.of(case, ThroughputModel.WRITES, rate, formula, {"model": WRITES_ERROR})
