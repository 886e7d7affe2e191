"""How much memory an experiment takes, from what it asks for alone: nothing is looked at here.

A kernel that comes to the end of what TCP may have (net.ipv4.tcp_mem) lets its receivers advertise next to nothing,
and nothing of a run is true from then on. So there must be enough before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.spec import Experiment, Path, bdp

BUFFER_MIN = 6 << 20
"""The kernel's own bound of a receive buffer, bytes; that of short paths here."""
BUFFER_MAX = (1 << 31) - 1
"""Bytes: the kernel keeps the size of a buffer in 32 bits, one of them the sign."""
_FASTEST = 2e10
"""What a guest's one processor may carry, bit/s: with offloads an emulated one came to 8.6 Gbit/s. What is faster never
fills its path."""
_SENT = 6
"""Bytes that a sender's buffer grows to for each byte of the window: two windows of segments (tcp_sndbuf_expand), each
taken for three times its payload, and an application writes until it is full."""
_ARRIVED = 1.5
"""Bytes that a receiver holds for each byte of the window while it waits for one that was lost."""
_FLOW = 256 << 10
"""Of every flow, however small its window, bytes."""
_DATAGRAMS = 2 * 212_992
"""Of one UDP socket, bytes, sent or received: net.core.rmem_max of the stock kernel, which iperf3's -w may double."""
SHARE = 0.5
"""The part of a guest's free memory that TCP may have before its kernel holds it back (Linux: a sixteenth of all).
The other half is for what the kernel does not count there: heads of segments on the way, clones in the disciplines."""


def largest_buffer(experiment: Experiment) -> int:
    """Upper bound of the buffers at both ends, bytes, unless sysctls set another: none is ever the limit."""
    wanted = max(
        8 * round(bdp(path.rate, path.delay) or 0) + 4 * path.queue for path in _paths(experiment.path)
    )
    return min(BUFFER_MAX, max(BUFFER_MIN, wanted))


def _paths(path: Path) -> Iterator[Path]:
    """The path as it is, and as each change leaves it."""
    yield path
    for change in path.changes:
        path = path.after(change)
        yield path


def in_flight(experiment: Experiment) -> int:
    """The most that all flows together can have on the way at once, bytes of frames."""
    longest = max(map(experiment.pair_delay, range(experiment.pairs)))
    found = 0.0
    for path in _paths(experiment.path):
        rate = path.rate or _FASTEST
        seconds = path.delay + path.jitter + max(0.0, longest - experiment.path.delay)
        held = min(rate, _FASTEST) * seconds / 8 + (path.queue if rate < _FASTEST else 0)
        # No window is larger than what has arrived before.
        found = max(found, min(held, min(rate, _FASTEST) * experiment.seconds / 8))
    if experiment.hosts.window is not None:
        found = min(found, experiment.total_streams * experiment.hosts.window)
    return round(found)


def tcp_bytes(experiment: Experiment) -> int:
    """What TCP's buffers may take at both ends together, as the kernel counts it."""
    flows = experiment.total_streams
    most = flows * _send_buffer(experiment)
    window = min(in_flight(experiment), most)
    sent = min(most, _SENT * window + flows * _FLOW)
    return sent + round(_ARRIVED * window)


def udp_bytes(experiment: Experiment) -> int:
    """What the buffers of UDP's sockets may take at both ends together, as the kernel counts it."""
    return 2 * _DATAGRAMS * experiment.pairs * experiment.flows.udp_streams


def capture_bytes(experiment: Experiment) -> int:
    """What is taken for packets that are kept, whether they come or not."""
    return experiment.flows.capture_size if experiment.flows.capture else 0


def _send_buffer(experiment: Experiment) -> int:
    """Upper bound of one sender's buffer, bytes."""
    given = experiment.hosts.sysctls.get("tcp_wmem", "").split()
    if experiment.flows.buffer is not None:
        return 2 * experiment.flows.buffer
    if len(given) == 3 and given[2].isdigit():
        return int(given[2])
    return experiment.hosts.send_buffer or largest_buffer(experiment)
