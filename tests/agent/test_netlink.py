"""Answers of the kernel over netlink: each belongs to its question, and a dump is whole."""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tcptutor.agent.netlink import Address, Route, SockDiag, tcp_request
from tcptutor.agent.netlink.messages import HEADER, NetlinkError
from tcptutor.agent.network import Host, Interface
from tcptutor.base.errors import LabError

_NEWADDR, _DONE, _ERROR = 20, 3, 2
_INTERRUPTED = 0x10


def _message(kind: int, sequence: int, body: bytes, flags: int = 0) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, flags, sequence, 0) + body


def _address(number: int) -> bytes:
    """The body of an RTM_NEWADDR: 10.0.0.`number`/8 on interface 1."""
    return struct.pack("=BBBBi", socket.AF_INET, 8, 0, 0, 1) + struct.pack("=HH4B", 8, 2, 10, 0, 0, number)


class _Kernel:
    """Answers each question by the next of `replies`, a function of the question's sequence number."""

    def __init__(self, *replies: Callable[[int], list[bytes]]) -> None:
        self._replies, self._waiting = list(replies), list[bytes]()
        self.asked: list[int] = []

    def send(self, request: bytes) -> int:
        self.asked.append(HEADER.unpack_from(request)[3])
        self._waiting += self._replies.pop(0)(self.asked[-1])
        return len(request)

    def recv(self, _: int) -> bytes:
        if not self._waiting:
            raise BlockingIOError
        return self._waiting.pop(0)


@pytest.fixture(name="route")
def _route(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Route]]:
    with Route(None) as route:

        def answered(*replies: Callable[[int], list[bytes]]) -> Route:
            kernel = _Kernel(*replies)
            monkeypatch.setattr(route, "_send", kernel.send)
            monkeypatch.setattr(route, "_receive", kernel.recv)
            return route

        yield answered


def _dump(*numbers: int, flags: int = 0) -> Callable[[int], list[bytes]]:
    return lambda sequence: [
        *(_message(_NEWADDR, sequence, _address(number), flags) for number in numbers),
        _message(_DONE, sequence, b"\0" * 4, flags),
    ]


def test_a_late_answer_is_not_that_to_the_next_question(route: Callable[..., Route]) -> None:
    late: list[bytes] = []

    def silent(sequence: int) -> list[bytes]:
        late.extend(_dump(1)(sequence))
        return []

    asked = route(silent, lambda sequence: late + _dump(2)(sequence))
    with pytest.raises(LabError, match="does not answer"):
        asked.addresses()
    assert asked.addresses() == {1: ["10.0.0.2/8"]}


def test_a_late_refusal_does_not_refuse_the_next_request(route: Callable[..., Route]) -> None:
    def refused(sequence: int) -> list[bytes]:
        return [
            _message(_ERROR, sequence - 1, struct.pack("=i", -22)),
            _message(_ERROR, sequence, struct.pack("=i", 0)),
        ]

    route(refused).set_link(1, up=True)
    with pytest.raises(NetlinkError):
        route(lambda sequence: [_message(_ERROR, sequence, struct.pack("=i", -22))]).set_link(1, up=True)


def test_an_interrupted_dump_is_made_again(route: Callable[..., Route]) -> None:
    assert route(_dump(1, flags=_INTERRUPTED), _dump(1, 2)).addresses() == {1: ["10.0.0.1/8", "10.0.0.2/8"]}


def test_a_dump_that_only_says_so_at_its_end_is_made_again(route: Callable[..., Route]) -> None:
    def at_the_end(sequence: int) -> list[bytes]:
        return [
            _message(_NEWADDR, sequence, _address(1)),
            _message(_DONE, sequence, b"\0" * 4, _INTERRUPTED),
        ]

    assert route(at_the_end, _dump(3)).addresses() == {1: ["10.0.0.3/8"]}


def test_a_table_that_never_stands_still_is_an_error(route: Callable[..., Route]) -> None:
    with pytest.raises(LabError, match="change faster"):
        route(*[_dump(1, flags=_INTERRUPTED)] * 1000).addresses()


def test_late_answers_of_a_batch_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both flows of the second question are unknown to the kernel, whatever the first question's late answer says."""
    with SockDiag(Host("h1", "127.0.0.1", None, Interface("lo", None))) as diag:  # type: ignore[arg-type]
        sequences: list[bytes] = []
        waiting: list[bytes] = []
        numbers = count()

        def send(data: bytes) -> int:
            sequences.append(data[8:12])
            unknown = struct.pack("=i", -2)
            late = [_message(20, int.from_bytes(sequences[0], sys.byteorder), b"\0" * 400)] * next(numbers)
            waiting.extend(late + [_message(_ERROR, HEADER.unpack_from(data)[3], unknown)] * 2)
            return len(data)

        monkeypatch.setattr(diag, "_send", send)
        monkeypatch.setattr(diag, "_receive", lambda _: waiting.pop(0))
        asked = [tcp_request(Address("127.0.0.1", port, "127.0.0.1", 9)) for port in (1, 2)]
        assert diag.infos(asked) == [b"", b""]
        assert diag.infos(asked) == [b"", b""]
        assert not waiting
        assert len(set(sequences)) == 2


def test_every_request_of_a_batch_has_the_number_of_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    with SockDiag(Host("h1", "127.0.0.1", None, Interface("lo", None))) as diag:  # type: ignore[arg-type]
        sent: list[bytes] = []
        monkeypatch.setattr(diag, "_send", sent.append)
        monkeypatch.setattr(diag, "_receive", lambda _: _message(_ERROR, 1, struct.pack("=i", -2)))
        asked = [tcp_request(Address("127.0.0.1", port, "127.0.0.1", 9)) for port in (1, 2, 3)]
        diag.infos(asked)
        size = len(asked[0])
        assert [HEADER.unpack_from(sent[0], size * place)[3] for place in range(3)] == [1, 1, 1]
