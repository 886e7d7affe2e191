"""Bytes that are not HTTP, or not quite: refused, without a line in the lecture's log."""

from __future__ import annotations

import asyncio

import pytest

from tests.patience import Deadline
from tests.room.web.conftest import Served

HEAD = b"POST /join HTTP/1.1\r\nHost: localhost\r\n"
NOT_HTTP = {
    "garbage": b"\x00\x01\x02\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + b"x" * 160,
    "a long header": b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 9000 + b"\r\n\r\n",
    "a long line": b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"H%d: 1\r\n" % at for at in range(500)) + b"\r\n",
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "a wrong chunk": HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "compressed": HEAD + b"Content-Type: text/plain\r\nContent-Encoding: deflate\r\nContent-Length: 4\r\n\r\nabcd",
    "half a body": HEAD + b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
    "a zero in a cookie": b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: tcptutor_voter=a\x00b\r\n\r\n",
    "a newline in a path": b"GET /%00%ff%0d%0aX HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no host": HEAD.replace(b"x", b"[::1") + b"Origin: http://[\r\nContent-Length: 0\r\n\r\n",
    "a tunnel": b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_HTTP)
async def test_what_is_not_http_is_refused_and_leaves_no_trace(
    served: Served, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.server._port)
    writer.write(NOT_HTTP[name])
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(400), Deadline(5).left)
    assert not answer or answer.split(b" ")[1].startswith(b"4")
    assert caplog.records == []
    writer.close()
