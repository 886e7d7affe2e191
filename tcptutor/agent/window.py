"""The receive window: how large a buffer makes the kernel advertise a wanted number of bytes.

A window is a part of the buffer, and which part depends on the kernel and on how much memory a segment takes
(tcp_input.c, scaling_ratio), so it is measured with a short transfer over the unshaped path instead of computed.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from contextlib import ExitStack

from tcptutor.agent.hosts import sysctl
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


def _drain(listener: socket.socket, done: threading.Event, found: list[int]) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(_TIMEOUT)
        found.append(connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
        with contextlib.suppress(ConnectionResetError):
            while not done.is_set() and connection.recv(65536):
                pass


def advertised_share(sender: Host, receiver: Host, mss: int | None = None) -> float:
    """The advertised window over the receive buffer, once the window has settled; between 0 and 1.

    `mss` bounds the segments that it is measured with, bytes: the smaller they are, the less of a buffer is payload.

    Raises LabError when the transfer does not work.
    """
    _fix_buffer(receiver, _BUFFER)
    done, found = threading.Event(), list[int]()
    try:
        with ExitStack() as stack:
            with network_of(receiver.pid):
                listener = stack.enter_context(socket.create_server((receiver.address, _PORT)))
            listener.settimeout(_TIMEOUT)
            with network_of(sender.pid):
                client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            client.settimeout(_TIMEOUT)
            # Closed by a reset, so that no port waits in TIME_WAIT.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if mss is not None:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
            drain = threading.Thread(target=_drain, args=(listener, done, found))
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
    return window / found[0]


def _settled_window(sender: Host, client: socket.socket) -> int:
    """The largest window that the receiver advertises: in bulk it grows, and between small bursts it is all open."""
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
                # The kernel counts the SYN as a byte.
                if info[AT["bytes_acked"]] > sent:
                    break
                time.sleep(0.001)
    return largest or _BUFFER // 2  # kernels before 5.4 do not tell


def _fix_buffer(receiver: Host, size: int) -> None:
    """Receive buffers of `size` bytes for new connections, without autotuning."""
    sysctl(receiver, "net.ipv4.tcp_moderate_rcvbuf", "0")
    sysctl(receiver, "net.ipv4.tcp_rmem", f"4096 {size} {max(size, 6 << 20)}")


def bound(sender: Host, receiver: Host, window: int, mss: int | None = None) -> None:
    """Let `receiver` advertise at most `window` bytes to `sender`."""
    share = advertised_share(sender, receiver, mss)
    # The rest of a window that no buffer gives is missing, and told: `fidelity.Watch.window`.
    _fix_buffer(receiver, min(BUFFER_MAX, round(window / share)))
