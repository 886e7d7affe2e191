"""The TCP state of connections as the kernel of this machine tells it, many in one message."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tcptutor.agent.netlink import Address, SockDiag, tcp_request
from tcptutor.agent.network import Host, Interface
from tcptutor.wire.tcp_info import AT, LAYOUT

MANY = 70
"""More than go into one message."""


@pytest.fixture(name="diag")
def _diag() -> Iterator[SockDiag]:
    if os.geteuid() != 0:
        pytest.skip("who is not root enters no namespace, not even the one where it is")
    with SockDiag(Host("h1", "127.0.0.1", os.getpid(), Interface("lo", None))) as diag:
        yield diag


def _connections(stack: ExitStack, count: int) -> list[Address]:
    """Each has had as many bytes of payload as its place in the list says, counted from 1."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=count))
    found = []
    for size in range(1, count + 1):
        client = stack.enter_context(socket.create_connection(listener.getsockname()))
        server = stack.enter_context(listener.accept()[0])
        client.sendall(b"\0" * size)
        assert server.recv(size, socket.MSG_WAITALL)
        found.append(Address(*client.getsockname(), *client.getpeername()))
    return found


def test_each_answer_is_that_of_its_request(diag: SockDiag) -> None:
    with ExitStack() as stack:
        found = _connections(stack, MANY)
        received = diag.bytes_received([tcp_request(address.other_end) for address in found])
        assert received == list(range(1, MANY + 1))
        infos = diag.infos([tcp_request(address) for address in found])
        assert [len(info) for info in infos] == [LAYOUT.size] * MANY
        assert [LAYOUT.unpack(info)[AT["bytes_sent"]] for info in infos] == list(range(1, MANY + 1))


def test_a_connection_that_is_not_there_takes_nothing_from_the_others(diag: SockDiag) -> None:
    with ExitStack() as stack:
        first, second = _connections(stack, 2)
        gone = Address("127.0.0.1", 1, "127.0.0.1", 2)
        asked = [tcp_request(each) for each in (gone, first, gone, second, gone)]
        assert [len(info) == LAYOUT.size for info in diag.infos(asked)] == [False, True, False, True, False]
        back = [tcp_request(each.other_end) for each in (gone, first, gone, second)]
        assert diag.bytes_received(back) == [0, 1, 0, 2]
        assert diag.info(tcp_request(gone)) is None
        info = diag.info(tcp_request(second))
        assert info is not None
        assert info[AT["snd_mss"]] > 0


def test_nothing_is_asked_of_nobody(diag: SockDiag) -> None:
    assert diag.infos([]) == []
    assert diag.bytes_received([]) == []
