"""Receive window: find the buffer with which the kernel advertises a wanted number of bytes.

A window is a share of the buffer that depends on the kernel and on the memory per segment (tcp_input.c, scaling_ratio).
It is measured with a short transfer over the unshaped path.
"""

from __future__ import annotations

import contextlib
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

_PORT = 5200
_BYTES = 250_000
_BURST, _BURSTS = 10_000, 5
_BUFFER = 262_144
_TIMEOUT = 5.0


def _drain(listener: socket.socket, done: threading.Event, buffers: list[int]) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(_TIMEOUT)
        buffers.append(connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
        with contextlib.suppress(ConnectionResetError):
            while not done.is_set() and connection.recv(65536):
                pass


def advertised_share(sender: Host, receiver: Host, mss: int | None = None) -> float:
    """Measure the settled advertised window as a share of the receive buffer, 0 to 1. Raises LabError.

    The share depends on the segments, at most `mss` bytes: the smaller they are, the less of a buffer is payload.
    """
    _fix_buffer(receiver, _BUFFER)
    done, buffers = threading.Event(), list[int]()
    try:
        with ExitStack() as stack:
            with network_of(receiver.pid):
                listener = stack.enter_context(socket.create_server((receiver.address, _PORT)))
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
                client.connect((receiver.address, _PORT))
                window = _settled_window(sender, client)
            finally:
                done.set()
                client.close()
                drain.join()
    except OSError as error:
        raise LabError(f"the receive window cannot be measured on {receiver.name}: {error}") from error
    return window / buffers[0]


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


def limit(sender: Host, receiver: Host, window: int, mss: int | None = None) -> None:
    """Limit the window that `receiver` advertises to `sender` to `window` bytes."""
    share = advertised_share(sender, receiver, mss)
    # If the largest buffer is too small, `run.plausible` reports the smaller window.
    _fix_buffer(receiver, min(BUFFER_MAX, round(window / share)))
