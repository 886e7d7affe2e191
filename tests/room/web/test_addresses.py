from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest

from tcptutor.base.errors import MissingTool, TutorError, UsageError
from tcptutor.room.web.addresses import (
    is_own_name,
    new_code,
    parse_listen,
    parse_public_url,
    reachable_host,
    typed_code,
)
from tcptutor.room.web.limits import RateLimit, network_of
from tests.room.web.conftest import Served


def test_codes_are_typed_in_any_case_and_have_no_lookalikes() -> None:
    code = new_code()
    assert typed_code(f" {code[:3].lower()}-{code[3:]} ") == code
    assert typed_code(code + code[0]) == typed_code("OOOOOO") == ""
    assert not set("".join(new_code() for _ in range(200))) & set("01258AEIOULSZVB")
    assert len({new_code() for _ in range(200)}) == 200


@pytest.mark.parametrize(
    "text", ["", "8077", "localhost:80", "1.2.3.4", "1.2.3.4:99999", "1.2.3.4:x", "[::1]"]
)
def test_an_address_that_is_none_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="write it like"):
        parse_listen(text)


def test_addresses_and_urls_are_read() -> None:
    assert str(parse_listen("[::1]:80")) == "[::1]:80"
    assert parse_public_url("https://vote.example.org/") == "https://vote.example.org"
    assert parse_public_url("HTTPS://Bücher.Example:443") == "https://xn--bcher-kva.example"
    assert parse_public_url("http://[::1]:8080/") == "http://[::1]:8080"
    for text in (
        "vote.example.org",
        "ftp://vote.example.org",
        "https://",
        "https://a/b",
        "http://[",
        "http://a:0",
        "http://a:b",
        "http://a@b",
        "http://a/#b",
        "http://..",
    ):
        with pytest.raises(UsageError, match="write it like"):
            parse_public_url(text)


def test_names_that_others_give_this_machine_are_not_its_own() -> None:
    here = socket.gethostname()
    for host in (
        "localhost:80",
        "127.0.0.1:8077",
        "[::1]:80",
        "192.0.2.7",
        here,
        f"{here.partition('.')[0].upper()}.local:8077",
        "vote.example.org",
    ):
        assert is_own_name(host, "https://vote.example.org"), host
    for host in (
        "",
        "evil.example",
        "vote.example.org.evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "a b",
        "[",
        "1.2.3.4:x",
        "evil.example/localhost",
        "vote.example.com",
    ):
        assert not is_own_name(host, "https://vote.example.org"), host
    assert not is_own_name("vote.example.org", "")


def test_the_shown_address_is_one_that_others_reach() -> None:
    assert reachable_host("192.0.2.7") == "192.0.2.7"
    assert reachable_host("0.0.0.0") != "0.0.0.0"
    assert reachable_host("::") != "::"


def test_a_limit_refills() -> None:
    now = 0.0
    limit = RateLimit(2, 3, lambda: now)
    assert [limit.take("a") > 0 for _ in range(4)] == [False, False, False, True]
    assert limit.take("b") == 0
    now = 0.5
    assert limit.take("a") == 0
    assert limit.take("a") == 0.5
    assert network_of("2001:db8::1") == network_of("2001:db8::2:3") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert network_of("nonsense") == network_of("")


async def test_an_address_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        served = Served(tmp_path, listen=f"127.0.0.1:{other.getsockname()[1]}")
        with pytest.raises(TutorError, match=r"Address already in use: choose another .* --listen"):
            await served.server.start()
        served.votes.close_file()


async def test_without_aiohttp_a_line_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "aiohttp.web", None)
    served = Served(tmp_path)
    with pytest.raises(MissingTool, match=r"votes need aiohttp: run .* -m pip install .*aiohttp"):
        await served.server.start()
    served.votes.close_file()


async def test_a_connection_that_sends_nothing_is_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await served.server.close()
    monkeypatch.setattr("tcptutor.room.web.audience._SILENT_S", 0.3)
    await served.server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", served.server._port)
    writer.write(b"GET / HTTP/1.1\r\nHost: ")
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_connections_beyond_the_most_are_closed_and_the_others_served(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcptutor.room.web.audience._MOST_CONNECTIONS", 2)
    port = served.server._port
    kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
    await asyncio.sleep(0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    for reader, writer in kept:
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
