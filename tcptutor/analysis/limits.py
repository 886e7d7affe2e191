"""Predictions that need no loss: the link, windows and buffers at either end, pacing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from tcptutor import units
from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case
from tcptutor.analysis.model import LimitedBy
from tcptutor.analysis.queues import queue_candidates
from tcptutor.theory import window_limited

WINDOW_ERROR = 0.05
"""The queue and the hosts lengthen the RTT a little."""

PACING_ERROR = 0.05
"""The kernel paces payload by its own timer, and keeps credit for late packets."""

BUFFER_ERROR = 0.3
"""How much payload a socket buffer holds depends on the memory that each segment takes."""

KERNEL_BUFFER_ERROR = 0.5

SEND_SHARE = 0.92
"""Payload under way over the send buffer, where the application writes whole segments.

Measured on Linux 6.12 with writes of a quarter of the buffer: 0.88 to 0.97 for 16 to 256 KiB over 20 to 150 ms.
"""

SEND_ERROR = 0.1
"""The buffer's share differs with the pieces that the kernel cuts."""

SEND_CHUNK = 65536
"""Bytes that the kernel takes at least where writes are no whole segments, however small the buffer."""

UNCHECKED_ERROR = 1.0
"""How much more it may take: what is left of a write is added to without a look at the buffer."""

SOCKET_SHARE = 1.15
"""Window over the socket buffer that an application asks for: the kernel doubles it, and 0.58 of that is payload.

Measured on Linux 6.12 with segments of 1448 bytes: 20 kB make a window of 23.1 kB.
"""

UNSCALED_WINDOW = 65535
"""The largest window without window scaling, bytes."""

_AUTOTUNED = 6 << 20
"""The largest buffer of the lab's hosts unless the BDP asks for more, bytes; half of it is bookkeeping."""


def limit_candidates(case: Case) -> Iterator[Candidate]:
    """Every limit of `case` that is there whatever is lost."""
    yield from queue_candidates(case)
    yield from _windows(case)
    yield from _pacing(case)


def receive_window(case: Case) -> int | None:
    """What the receiver advertises at most, bytes, if the experiment fixes it."""
    window = case.experiment.hosts.window
    if case.experiment.hosts.sysctls.get("tcp_window_scaling") == "0":
        return min(window or UNSCALED_WINDOW, UNSCALED_WINDOW)
    return window


def in_flight(case: Case) -> float | None:
    """What a flow may have in flight by the windows and buffers that the experiment fixes, bytes; None for none."""
    given = [receive_window(case), _sent_at_once(case), _socket_window(case)]
    fixed = [float(size) for size in given if size is not None]
    return min(fixed) if fixed else None


def paced(case: Case) -> float | None:
    """The largest rate of each flow, by the application or by fq, bit/s of payload; None when nothing paces."""
    pacing, maxrate = case.experiment.flows.pacing, case.experiment.hosts.maxrate
    rates = [
        *([pacing] if pacing is not None else []),
        *([maxrate * case.ratio] if maxrate is not None else []),
    ]
    return min(rates, default=None)


def _windows(case: Case) -> Iterator[Candidate]:
    window, buffer, largest = receive_window(case), _socket_window(case), kernel_buffer(case)
    if window is not None:
        # Only full segments are sent, so up to one may find no room.
        error = WINDOW_ERROR + min(0.5, case.mss / window)
        yield _by_window(case, "window", "receiver's window", window, error, "receive-window")
    size, sent = case.experiment.hosts.send_buffer, _sent_at_once(case)
    if size is not None and sent is not None:
        yield _send_buffer(case, size, sent)
    if buffer is not None:
        yield _by_window(case, "socket-buffer", "socket buffers", buffer, BUFFER_ERROR, "receive-window")
    told = {"tcp_rmem", "tcp_wmem"} & set(case.experiment.hosts.sysctls)
    if (case.rate is None and window is None and buffer is None) or told:
        error = BUFFER_ERROR if told else KERNEL_BUFFER_ERROR
        yield _by_window(case, "buffer", "kernel's buffer", largest, error, "receive-window")


def kernel_buffer(case: Case) -> int:
    """Payload that the largest buffers of the hosts hold, bytes: half, the rest is the kernel's bookkeeping."""
    experiment = case.experiment
    largest = max(_AUTOTUNED, 8 * round(experiment.bdp or 0) + 4 * experiment.path.queue)
    sizes = [largest if experiment.path.rate else _AUTOTUNED]
    for name in ("tcp_rmem", "tcp_wmem"):
        words = experiment.hosts.sysctls.get(name, "").split()
        if len(words) == 3 and words[2].isdigit() and int(words[2]) > 0:
            sizes.append(int(words[2]))
    return max(1, (min(sizes[1:]) if sizes[1:] else sizes[0]) // 2)


def _sent_at_once(case: Case) -> float | None:
    """What a fixed send buffer lets a flow have under way, bytes."""
    size = case.experiment.hosts.send_buffer
    if size is None:
        return None
    return max(SEND_SHARE * size, case.full) if whole_write(case) else max(SEND_CHUNK, size)


def whole_write(case: Case) -> int | None:
    """What the application writes at once, bytes; None where that is no whole segments."""
    write = case.experiment.write
    return write if write is not None and write % case.full == 0 else None


def _socket_window(case: Case) -> int | None:
    """The window that goes with socket buffers which the application asks for, bytes."""
    size = case.experiment.flows.buffer
    return None if size is None else round(SOCKET_SHARE * size)


def _send_buffer(case: Case, size: int, sent: float) -> Candidate:
    """What is written at once leaves as one burst, of which a segment waits for half at the bottleneck, on average."""
    burst = whole_write(case)
    # Only full segments are sent, so up to one may find no room.
    error = SEND_ERROR + min(0.5, case.mss / size) if burst else UNCHECKED_ERROR
    wait = 4 * (burst or sent) / case.room if case.room else 0.0
    what = f"{SEND_SHARE} × {units.size(size)}" if sent == SEND_SHARE * size else units.size(sent)
    told = wait > 0.01 * case.rtt

    def one(rtt: float) -> float:
        return window_limited(sent, rtt + wait)

    start = f"{what} / ({units.seconds(wait)} + " if told else f"{what} / "
    made = _summed(case, "send-buffer", "send buffer", one, start, error, "send-buffer")
    return replace(made, formula=f"{made.formula})") if told else made


def _by_window(
    case: Case, model: str, label: str, window: int, error: float, limited_by: LimitedBy
) -> Candidate:
    def one(rtt: float) -> float:
        return window_limited(window, rtt)

    return _summed(case, model, label, one, f"{units.size(window)} / ", error, limited_by)


def _summed(
    case: Case,
    model: str,
    label: str,
    one: Callable[[float], float],
    start: str,
    error: float,
    limited_by: LimitedBy,
) -> Candidate:
    """So many times one flow's, or the sum over the flows' round trips."""
    each = tuple(one(flow.rtt) for flow in case.flows)
    rtts = list(dict.fromkeys(flow.rtt for flow in case.flows))
    if len(rtts) == 1:
        formula = f"{case.times}{start}{case.rtt_text()}"
    else:
        formula = f"{start}RTT, over RTTs of {case.rtt_text(min(rtts))} to {case.rtt_text(max(rtts))}"
    return Candidate(
        model, f"{case.times}{label}", math.fsum(each), formula, {"model": error}, limited_by, each=each
    )


def _pacing(case: Case) -> Iterator[Candidate]:
    pacing, maxrate = case.experiment.flows.pacing, case.experiment.hosts.maxrate
    sure = {"model": PACING_ERROR}
    if pacing is not None:
        formula = f"{case.times}{units.rate(pacing)}"
        each = (pacing,) * case.number
        yield Candidate("pacing", f"{case.times}pacing", sum(each), formula, sure, "pacing", each=each)
    if maxrate is not None:
        # fq counts whole frames, as tbf does.
        each = (maxrate * case.ratio,) * case.number
        formula = f"{case.times}{units.rate(maxrate)} × {case.share_text}"
        yield Candidate("fq", f"{case.times}fq maxrate", math.fsum(each), formula, sure, "pacing", each=each)
