"""Memory that an experiment takes, estimated from its settings.

When TCP reaches its memory limit (net.ipv4.tcp_mem), the kernel shrinks the advertised windows to a few bytes and
the rest of the run is meaningless. The memory therefore has to be sufficient before the run begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.spec import Experiment, Path, bdp

BUFFER_MIN = 6 << 20
"""Largest receive buffer that the kernel's default allows, bytes; lower bound of the lab's largest buffer."""
BUFFER_MAX = (1 << 31) - 1
"""Largest buffer, bytes: the kernel stores the size as a signed 32-bit number."""
_FASTEST = 2e10
"""Highest rate that a guest's single processor can carry, bit/s; a path above it never fills. An emulated processor
reached 8.6 Gbit/s with offloads."""
_SEND_BUFFER_PER_WINDOW = 6
"""Bytes of send buffer per byte of window, since an application writes until the buffer is full. The buffer holds two
windows of segments (tcp_sndbuf_expand), each charged at three times its payload."""
_RECEIVE_BUFFER_PER_WINDOW = 1.5
"""Bytes that a receiver holds per byte of window while it waits for a lost segment."""
_PER_FLOW = 256 << 10
"""Bytes that each flow takes however small its window."""
_UDP_SOCKET = 2 * 212_992
"""Bytes of a UDP socket, sending or receiving: the default net.core.rmem_max, which iperf3's -w can double."""
SHARE = 0.5
"""Share of a guest's free memory for TCP before the kernel limits it (Linux: 1/16 of all memory).

The rest holds memory that tcp_mem does not count: headers of segments in flight and clones in queue disciplines."""


def largest_buffer(experiment: Experiment) -> int:
    """Return the upper bound of the buffers at both ends, bytes; large enough to never limit a flow by itself."""
    second = experiment.path.second_queue if experiment.path.second_rate is not None else 0
    largest = max(
        8 * round(bdp(path.rate, path.delay + path.second_delay) or 0) + 4 * (path.queue + second)
        for path in _paths(experiment.path)
    )
    return min(BUFFER_MAX, max(BUFFER_MIN, largest))


def _paths(path: Path) -> Iterator[Path]:
    yield path
    for change in path.all_changes:
        path = path.after(change)
        yield path


def in_flight(experiment: Experiment) -> int:
    """Return the most bytes of frames that all flows can have in flight in total."""
    longest = max(map(experiment.pair_delay, range(experiment.pairs)))
    most = 0.0
    for path in _paths(experiment.path):
        rate = path.rate or _FASTEST
        seconds = path.delay + path.jitter + max(0.0, longest - experiment.path.delay)
        capacity = min(rate, _FASTEST) * seconds / 8 + (path.queue if rate < _FASTEST else 0)
        if path.second_rate is not None:
            rate = max(rate, path.second_rate)
            capacity = 2 * min(rate, _FASTEST) * seconds / 8 + path.queue + path.second_queue
        # A window is never larger than the data that has arrived.
        most = max(most, min(capacity, min(rate, _FASTEST) * experiment.seconds / 8))
    if experiment.hosts.window is not None:
        most = min(most, experiment.total_streams * experiment.hosts.window)
    return round(most)


def tcp_bytes(experiment: Experiment) -> int:
    """Return the bytes of TCP's buffers at both ends, as the kernel counts them."""
    flows = experiment.total_streams
    most = flows * _send_buffer(experiment)
    window = min(in_flight(experiment), most)
    sent = min(most, _SEND_BUFFER_PER_WINDOW * window + flows * _PER_FLOW)
    return sent + round(_RECEIVE_BUFFER_PER_WINDOW * window)


def udp_bytes(experiment: Experiment) -> int:
    """Return the bytes of UDP's socket buffers at both ends, as the kernel counts them."""
    return 2 * _UDP_SOCKET * experiment.pairs * experiment.flows.udp_streams


def capture_bytes(experiment: Experiment) -> int:
    """Return the bytes reserved for captured packets."""
    return experiment.flows.capture_size if experiment.flows.capture else 0


def _send_buffer(experiment: Experiment) -> int:
    tcp_wmem = experiment.hosts.sysctls.get("tcp_wmem", "").split()
    if experiment.flows.buffer is not None:
        return 2 * experiment.flows.buffer
    if len(tcp_wmem) == 3 and tcp_wmem[2].isdigit():
        return int(tcp_wmem[2])
    return experiment.hosts.send_buffer or largest_buffer(experiment)
