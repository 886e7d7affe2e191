"""Round-trip times by ICMP echo from inside a lab host, without a `ping` process and its text."""

from __future__ import annotations

import os
import select
import socket
import struct
import time

from tcptutor.agent.network import Host, network_of

_ECHO = struct.Struct("!BBHHH")
_ECHO_REQUEST, _ECHO_REPLY = 8, 0
_PAYLOAD = 48
FRAME = 14 + 20 + _ECHO.size + _PAYLOAD
"""Bytes of an echo's Ethernet frame."""


def _checksum(data: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


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
