"""Predictions that need no random loss: the link, and what a short buffer or an AQM leaves of it; windows; pacing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tcptutor.analysis.case import (
    SEND_CHUNK,
    SEND_SHARE,
    VIRTUAL_CLOCK_SEGMENT,
    VIRTUAL_CLOCK_WRITE,
    Case,
)
from tcptutor.analysis.expected.meeting import bursts_error, is_known
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
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
"""ARP, ACKs, and the bursts of the shaper."""

BOTH_WAYS_ERROR = 0.05
"""Acknowledgements of the flows the other way: 66 bytes for every second segment, and bursts behind queues."""

UDP_ERROR = 0.05
"""What UDP loses at a full queue is TCP's, which no formula has."""

UNKNOWN = 1.0
"""The error of a prediction that is not claimed: it is shown for comparison, and no run is marked against it."""

BBR_ERROR = 0.05
"""BBR empties the pipe every ten seconds and probes below its estimate."""

ACKS_ERROR = 0.5
"""The queue of the way back drops acknowledgements too, and each of those that are left then stands for more."""

SAWTOOTH_ERROR = 0.05
"""A drop at the tail often costs more than one segment."""

AQM_ERROR = 0.1
"""Where a queue discipline drops is drawn or timed: its buffer is not a number but an order of magnitude."""

AQM_MIX_ERROR = 0.05
"""Flows that cut at each drop beside flows that do not: the former may leave a part of the link unused."""

WINDOW_ERROR = 0.05
"""The queue and the hosts lengthen the RTT a little."""

WRITES_ERROR = 0.1
"""Six runs were within 1 % of the fit; other settings of the hosts take other numbers of instructions."""

PACING_ERROR = 0.05
"""The kernel paces payload by its own timer, and keeps credit for late packets."""

BUFFER_ERROR = 0.3
"""How much payload a socket buffer holds depends on the memory that each segment takes."""

KERNEL_BUFFER_ERROR = 0.5
"""How large a buffer becomes that the kernel sizes itself."""

RECEIVE_SHARE = 157 / 256
"""Window over the receive buffer, tcp_rmem, for segments of 1448 bytes.

Since Linux 6.6 the kernel measures it as payload over memory, in 256ths (`scaling_ratio`: tcp_measure_rcv_mss and
tcp_win_from_space in net/ipv4). A segment of 1448 bytes takes some 2,360 bytes, so a buffer of 256 KiB advertises
157 KiB. Before, tcp_adv_win_scale = 1 made it one half.
"""

RECEIVE_SHARE_ERROR = 0.1
_USUAL_SEGMENTS = range(1400, 1461)
"""Payload of segments for which RECEIVE_SHARE is measured, bytes."""

_SENT_SHARE = 1 / 2
"""Payload in flight over tcp_wmem: each segment is counted with the memory around it."""

SEND_ERROR = 0.1
"""The buffer's share differs with the pieces that the kernel cuts."""

FEW_SEGMENTS = 16
"""A window of fewer is counted in whole segments."""

UNCHECKED_ERROR = 1.0
"""How much more it may take: what is left of a write is added to without a look at the buffer.

With tcp_wmem of 256 KiB and writes of 128 KiB 580 kB were in flight.
"""

_AUTOTUNED = 6 << 20
"""The largest buffer of the lab's hosts unless the BDP asks for more, bytes; half of it is bookkeeping."""

_FIRST_RECEIVE_BUFFER = 131072
"""What their receive buffers begin with, bytes."""


def limit_candidates(case: Case) -> Iterator[Candidate]:
    """Every limit of `case` that is there whatever is lost."""
    yield from _link(case)
    yield from _way_back(case)
    yield from _windows(case)
    yield from _pacing(case)
    yield from _writes(case)


def _link(case: Case) -> Iterator[Candidate]:
    """The link, and below it what its buffer leaves when nothing but that buffer loses or marks segments."""
    room, rate = case.room, case.rate
    if room is None or rate is None:
        return
    sure, known = _link_errors(case, room), is_known(case)
    x = case.buffer_ratio
    if x is not None and x < 1 and case.loss_rate == 0 and "bbr" not in case.algorithms:
        used = case.sawtooth_use(x)
        yield _short_buffer(case, room, x, used, sure)
        if not known:
            sure["model"] = sure["model"] + 1 - used
    if case.algorithm == "bbr" and 0 < case.loss <= BBR_LOSS_HELD:
        yield _bbr(case, room)
    formula = f"{units.rate(rate)} × {case.share_text}"
    if case.udp:
        formula = f"({units.rate(rate)} − {units.rate(case.udp)} UDP) × {case.share_text}"
        if room > 1.001 * max(0.0, (rate - case.udp) * case.ratio):
            formula = f"{units.rate(room)}, what {'taking turns' if case.fair else 'UDP'} leaves"
    if case.copies > 1:
        formula += f" / {case.copies:.3g} copies"
    yield Candidate(ThroughputModel.LINK, "link", room, formula, sure, "bottleneck")


def _link_errors(case: Case, room: float) -> dict[str, float]:
    """How far off a full link may be, by what makes it so."""
    sure = {"model": BBR_ERROR if case.algorithm == "bbr" else LINK_ERROR}
    if "bbr" in case.algorithms and case.loss > 0:
        sure["model"] = BBR_ERROR + case.loss / 2 if case.loss <= BBR_LOSS_HELD else UNKNOWN
    if (held := _held(case, room)) > LINK_ERROR / 4:
        sure["held"] = held
    if case.bursts_overflow:
        sure["bursts"] = bursts_error(case)
    if case.udp:
        sure["UDP"] = UDP_ERROR
    if case.qdisc != "fifo" and len(case.algorithms) > 1 and not case.fair:
        sure["queue"] = AQM_MIX_ERROR
    experiment = case.experiment
    if len({experiment.reversed(flow) for flow in range(experiment.total_streams)}) == 2:
        sure["both ways"] = min(UNKNOWN, BOTH_WAYS_ERROR + _behind_reverse_queue(case, room))
    return sure


def _behind_reverse_queue(case: Case, room: float) -> float:
    """Return the share of the link that flows miss since their acknowledgements wait behind data, at most.

    The reverse path's full queue lengthens the round trip: the window that fills the link is larger, it is reached by a
    segment a round trip from half of what link and queue hold without that wait, and the link's own queue is a
    smaller part of it.
    """
    path = case.path
    rate, queue = (path.rate, path.queue) if case.backward else (path.reverse_rate, path.reverse_queue)
    if rate is None or case.algorithms <= LOSS_BLIND:
        return 0.0
    rtt = case.rtt + queueing_delay(queue, rate)
    held = case.buffer * case.ratio
    needed = room * rtt / 8
    unused = 1 - case.sawtooth_use(held / needed) if held < needed else 0.0
    segment = case.mss * case.number
    start, end = (room * case.rtt / 8 + held) / 2 / segment, needed / segment
    left = max(0.0, (end - start) * rtt - case.experiment.flows.warmup)
    growing = min(left, case.seconds) * (1 - start / end) / 2 / max(case.seconds, 1e-9)
    return unused + max(0.0, growing)


def _held(case: Case, room: float) -> float:
    """Share of what is measured that may have been sent before, or be acknowledged after: a queue of data.

    After a loss nothing is acknowledged until it is repaired, and then all that has arrived meanwhile at once.
    """
    return min(1.0, 8 * (case.buffer * case.ratio + room * case.rtt / 8) / (room * max(case.seconds, 1e-9)))


def _way_back(case: Case) -> Iterator[Candidate]:
    """Where the way back carries fewer acknowledgements than the data needs, they are the clock of the data."""
    acks = case.acks_a_second
    if acks is None:
        return
    rate = acks * ACK_EVERY * 8 * case.mss
    formula = f"{ACK_EVERY} × {case.mss} B for each of {units.number(acks)} ACKs a second"
    model = ThroughputModel.WAY_BACK
    yield Candidate(model, model.label, rate, formula, {"model": ACKS_ERROR}, "bottleneck")


def _short_buffer(case: Case, room: float, x: float, used: float, sure: dict[str, float]) -> Candidate:
    alone, dropped = case.number == 1, case.qdisc == "fifo"
    model = ThroughputModel.SAWTOOTH if alone else ThroughputModel.SHARED
    if not dropped:
        model = ThroughputModel.AQM
    turns = "" if alone else f", {case.number} flows in turn"
    formula = f"{units.rate(room)} × ¾ (1+x)²/(1+x+x²), x = {x:.2g}{turns}"
    given = sure | {"model": SAWTOOTH_ERROR if dropped else AQM_ERROR}
    # Of several flows at a plain queue, more lose at a time than one.
    best = case.algorithm == model.algorithm and not (model is ThroughputModel.SHARED and is_known(case))
    made = Candidate.of(case, model, room * used, formula, given, best)
    return made if dropped else replace(made, label=f"{made.label}, {case.qdisc}")


def _bbr(case: Case, room: float) -> Candidate:
    """BBR under random loss: it paces at its estimate of the rate, and the path takes its share of that.

    Loss before the bottleneck leaves room there, for which the shaper saves credit. BBR takes what that credit lets
    through at once for the link's rate, so its estimate is too high by the bucket over the BDP.
    """
    before = case.path.loss_by == "netem" or case.backward
    credit = case.bucket / case.bdp if case.bdp else 0.0
    formula = f"{units.rate(room)} × (1 − {units.percent(case.loss)})"
    estimate = min(1.0, (1 - case.loss) * (1 + credit))
    if before:
        rate, error = room * estimate, BBR_ERROR + case.loss / 2
        formula += f" × (1 + {units.size(case.bucket)} of credit / BDP)" if credit else ""
    else:
        # The link is full only while BBR probes, and the path takes its share behind it once more.
        rate, error = bbr_throughput(room, case.loss) * estimate, BBR_ERROR + case.loss
        formula += "²" if not credit else f"² × (1 + {units.size(case.bucket)} of credit / BDP)"
    return Candidate.of(case, ThroughputModel.BBR, rate, formula, {"model": error}, best=rate < room)


def _windows(case: Case) -> Iterator[Candidate]:
    window, buffer, size, sent = (
        case.receive_window, case.socket_window, case.experiment.hosts.send_buffer, case.sent_at_once,
    )  # fmt: skip
    if window is not None:
        yield _receive_window(case, window)
    if size is not None and sent is not None:
        yield _send_buffer(case, size, sent)
    if buffer is not None:
        yield _by_window(case, ThroughputModel.SOCKET_BUFFER, buffer, BUFFER_ERROR)
    sysctls = case.experiment.hosts.sysctls
    told = {"tcp_rmem", "tcp_wmem"} & set(sysctls) or sysctls.get("tcp_moderate_rcvbuf") == "0"
    if (case.rate is None and window is None and buffer is None) or told:
        error = KERNEL_BUFFER_ERROR
        if told:
            error = RECEIVE_SHARE_ERROR if case.full in _USUAL_SEGMENTS else BUFFER_ERROR
        if "tcp_wmem" in sysctls:
            error = UNCHECKED_ERROR
        yield _by_window(case, ThroughputModel.KERNEL_BUFFER, _kernel_buffer(case), error)


def _receive_window(case: Case, window: int) -> Candidate:
    """A window of few segments is used in whole ones, and of an odd number the last waits for another or ACK_DELAY."""
    # Only full segments are sent, so up to one finds no room; and where an odd number does, the last one waits.
    error, whole = max(WINDOW_ERROR + case.mss / window, 2 * case.mss / window), window // case.mss
    error = min(0.5, error)
    if not 1 <= whole < FEW_SEGMENTS:
        return _by_window(case, ThroughputModel.WINDOW, window, error)
    waits = min(1.0, ACK_DELAY / case.rtt) if whole % 2 and whole > 1 else 0.0
    start = f"{whole} × {case.mss} B / "
    if waits:
        start = f"({whole} − {waits:.2g}) × {case.mss} B / "
    return _by_window(case, ThroughputModel.WINDOW, (whole - waits) * case.mss, error, start=start)


def _kernel_buffer(case: Case) -> int:
    """Payload that the largest buffers of the hosts hold, bytes: the rest is the kernel's bookkeeping."""
    experiment = case.experiment
    sysctls = experiment.hosts.sysctls
    payload = []
    for name, share in (("tcp_rmem", RECEIVE_SHARE), ("tcp_wmem", _SENT_SHARE)):
        words = sysctls.get(name, "").split()
        if len(words) == 3 and words[2].isdigit() and int(words[2]) > 0:
            # However small the send buffer, what is written in large pieces has one of them in it.
            size = max(int(words[2]), 2 * SEND_CHUNK if name == "tcp_wmem" else 0)
            payload.append(share * size)
    if sysctls.get("tcp_moderate_rcvbuf") == "0":
        # It stays what it is at first: the second of the three numbers.
        words = sysctls.get("tcp_rmem", "").split()
        first = int(words[1]) if len(words) == 3 and words[1].isdigit() else _FIRST_RECEIVE_BUFFER
        payload.append(RECEIVE_SHARE * first)
    tuned = max(_AUTOTUNED, 8 * round(experiment.bdp or 0) + 4 * experiment.path.queue)
    largest = tuned if experiment.path.rate else _AUTOTUNED
    return max(1, round(min(payload, default=RECEIVE_SHARE * largest)))


def _send_buffer(case: Case, size: int, sent: float) -> Candidate:
    """What is written at once leaves as one burst, of which a segment waits for half at the bottleneck, on average."""
    burst = case.whole_write
    # Only full segments are sent, so up to one may find no room.
    error = SEND_ERROR + min(0.5, case.mss / size) if burst else UNCHECKED_ERROR
    wait = 4 * (burst or sent) / case.room if case.room else 0.0
    what = f"{SEND_SHARE} × {units.size(size)}" if sent == SEND_SHARE * size else units.size(sent)
    if wait <= 0.01 * case.rtt:
        return _by_window(case, ThroughputModel.SEND_BUFFER, sent, error, wait, f"{what} / ")
    made = _by_window(
        case, ThroughputModel.SEND_BUFFER, sent, error, wait, f"{what} / ({units.seconds(wait)} + "
    )
    return replace(made, formula=f"{made.formula})")


def _by_window(
    case: Case, model: ThroughputModel, window: float, error: float, wait: float = 0.0, start: str = ""
) -> Candidate:
    """So many times one flow's, or the sum over the flows' round trips, each `wait` seconds longer."""
    each = tuple(window_limited(window, flow.rtt + wait) for flow in case.flows)
    start = start or f"{units.size(window)} / "
    rtts = {flow.rtt for flow in case.flows}
    formula = f"{case.times}{start}{case.rtt_text()}"
    if len(rtts) > 1:
        formula = f"{start}RTT, over RTTs of {case.rtt_text(min(rtts))} to {case.rtt_text(max(rtts))}"
    return Candidate.of(case, model, math.fsum(each), formula, {"model": error}, each=each)


def _pacing(case: Case) -> Iterator[Candidate]:
    pacing, maxrate, sure = (
        case.experiment.flows.pacing, case.experiment.hosts.maxrate, {"model": PACING_ERROR},
    )  # fmt: skip
    if pacing is not None:
        each, formula = (pacing,) * case.number, f"{case.times}{units.rate(pacing)}"
        yield Candidate.of(case, ThroughputModel.PACING, math.fsum(each), formula, sure, each=each)
    if maxrate is not None:
        each = (case.fq_rate or 0.0,) * case.number
        formula = f"{case.times}{units.rate(maxrate)} × {case.share_text}"
        yield Candidate.of(case, ThroughputModel.FQ, math.fsum(each), formula, sure, each=each)


def _writes(case: Case) -> Iterator[Candidate]:
    """Yield what small writes leave one flow, where the processor that carries them out is known."""
    length = case.experiment.flows.length
    if length is None or length >= case.full or case.number != 1 or not case.on_virtual_clock:
        return
    rate = write_limited(length, case.mss, VIRTUAL_CLOCK_WRITE, VIRTUAL_CLOCK_SEGMENT)
    formula = (
        f"1 / ({units.seconds(VIRTUAL_CLOCK_WRITE)} for {length} B + "
        f"{units.seconds(VIRTUAL_CLOCK_SEGMENT)} for {case.mss} B)"
    )
    yield Candidate.of(case, ThroughputModel.WRITES, rate, formula, {"model": WRITES_ERROR})
