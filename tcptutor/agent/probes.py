"""Measurements over the path before a run: round-trip times, and the window that a receive buffer advertises.

A window is a share of the buffer that depends on the kernel and on the memory per segment (tcp_input.c, scaling_ratio).
It is measured with a short transfer over the unshaped path.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from contextlib import ExitStack

from tcptutor.agent.host_settings import sysctl
from tcptutor.agent.netlink import Address, SockDiag, tcp_request
from tcptutor.agent.network import Host, network_of
from tcptutor.base.errors import LabError
from tcptutor.wire.memory import BUFFER_MAX
from tcptutor.wire.tcp_info import AT

_ECHO = struct.Struct("!BBHHH")
_ECHO_REQUEST, _ECHO_REPLY = 8, 0
_PAYLOAD = 48
PING_FRAME = 14 + 20 + _ECHO.size + _PAYLOAD
"""Bytes of an echo's Ethernet frame."""
_WINDOW_PORT = 5200
_BYTES = 250_000
_BURST, _BURSTS = 10_000, 5
_BUFFER = 262_144
_TIMEOUT = 5.0


def ping(
    source: Host, destination: Host, count: int = 5, interval: float = 0.0, timeout: float = 2.0
) -> list[float]:
    """Return the round-trip times of the answered echoes, s."""
    times: list[float] = []
    identifier = os.getpid() & 0xFFFF
    with network_of(source.pid):
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with sock:
        for sequence in range(1, count + 1):
            header = _ECHO.pack(_ECHO_REQUEST, 0, 0, identifier, sequence)
            payload = b"\0" * _PAYLOAD
            packet = _ECHO.pack(_ECHO_REQUEST, 0, _checksum(header + payload), identifier, sequence) + payload
            sent = time.monotonic()
            sock.sendto(packet, (destination.address, 0))
            if _answered(sock, identifier, sequence, sent + timeout):
                times.append(time.monotonic() - sent)
            if interval:
                time.sleep(interval)
    return times


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def _answered(sock: socket.socket, identifier: int, sequence: int, deadline: float) -> bool:
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([sock], [], [], left)[0]:
            return False
        data = sock.recv(2048)
        start = (data[0] & 0x0F) * 4
        kind, _, _, reply_identifier, reply_sequence = _ECHO.unpack_from(data, start)
        if (kind, reply_identifier, reply_sequence) == (_ECHO_REPLY, identifier, sequence):
            return True
    return False


def limit_window(sender: Host, receiver: Host, window: int, mss: int | None = None) -> None:
    share = advertised_share(sender, receiver, mss)
    # If the largest buffer is too small, `run.plausible` reports the smaller window.
    _fix_buffer(receiver, min(BUFFER_MAX, round(window / share)))


def advertised_share(sender: Host, receiver: Host, mss: int | None = None) -> float:
    """Measure the settled advertised window as a share of the receive buffer, 0 to 1. Raises LabError.

    The share depends on the segments, at most `mss` bytes: the smaller they are, the less of a buffer is payload.
    """
    _fix_buffer(receiver, _BUFFER)
    done, buffers = threading.Event(), list[int]()
    try:
        with ExitStack() as stack:
            with network_of(receiver.pid):
                listener = stack.enter_context(socket.create_server((receiver.address, _WINDOW_PORT)))
            listener.settimeout(_TIMEOUT)
            with network_of(sender.pid):
                client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            client.settimeout(_TIMEOUT)
            # Closed by a reset, to leave no port in TIME_WAIT.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if mss is not None:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
            drain = threading.Thread(target=_drain, args=(listener, done, buffers))
            drain.start()
            try:
                client.connect((receiver.address, _WINDOW_PORT))
                window = _settled_window(sender, client)
            finally:
                done.set()
                client.close()
                drain.join()
    except OSError as error:
        raise LabError(f"the receive window cannot be measured on {receiver.name}: {error}") from error
    return window / buffers[0]


def _drain(listener: socket.socket, done: threading.Event, buffers: list[int]) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(_TIMEOUT)
        buffers.append(connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
        with contextlib.suppress(ConnectionResetError):
            while not done.is_set() and connection.recv(65536):
                pass


def _settled_window(sender: Host, client: socket.socket) -> int:
    """Return the largest advertised window: it grows during a bulk transfer and is fully open between small bursts."""
    request = tcp_request(Address(*client.getsockname(), *client.getpeername()))
    sent = largest = 0
    with SockDiag(sender) as diag:
        for burst in (_BYTES, *[_BURST] * _BURSTS):
            client.sendall(b"\0" * burst)
            sent += burst
            while True:
                info = diag.info(request)
                if info is None:
                    raise LabError("the receive window cannot be measured: the connection closed early")
                largest = max(largest, info[AT["snd_wnd"]])
                # The kernel counts the SYN as one byte.
                if info[AT["bytes_acked"]] > sent:
                    break
                time.sleep(0.001)
    return largest or _BUFFER // 2  # kernels before 5.4 do not report it


def _fix_buffer(receiver: Host, size: int) -> None:
    sysctl(receiver, "net.ipv4.tcp_moderate_rcvbuf", "0")
    sysctl(receiver, "net.ipv4.tcp_rmem", f"4096 {size} {max(size, 6 << 20)}")
