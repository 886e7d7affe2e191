"""Addresses of a server, and its rate limit."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.serve.guard import Budget, parse_address


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://lab.example.edu", "https://lab.example.edu"),
        ("https://Lab.Example.edu:443/", "https://lab.example.edu"),
        ("https://lab.example.edu:8443/tcp/", "https://lab.example.edu:8443"),
        ("http://lab.example.edu:80", "http://lab.example.edu"),
        ("https://münchen.example", "https://xn--mnchen-3ya.example"),
        ("https://[2001:db8::1]:9000", "https://[2001:db8::1]:9000"),
    ],
)
def test_a_public_url_is_the_origin_that_browsers_name(given: str, origin: str) -> None:
    address = parse_address("127.0.0.1:8787", given)
    assert address.origins(8787, "127.0.0.1") == {origin}
    assert origin.partition("://")[2] in address.hosts(8787, "127.0.0.1")


@pytest.mark.parametrize(
    ("listen", "reached", "good", "bad"),
    [
        (
            "127.0.0.1:8787",
            "127.0.0.1",
            {"127.0.0.1:8787", "localhost:8787", "[::1]:8787"},
            {"lab:8787", "127.0.0.1"},
        ),
        ("[::1]:8787", "::1", {"[::1]:8787", "localhost:8787"}, {"[::2]:8787"}),
        ("0.0.0.0:80", "192.0.2.7", {"192.0.2.7"}, {"localhost", "192.0.2.8", "0.0.0.0"}),
        ("lab.example:8787", "192.0.2.7", {"192.0.2.7:8787", "lab.example:8787"}, {"evil.example:8787"}),
    ],
)
def test_hosts_without_a_proxy(listen: str, reached: str, good: set[str], bad: set[str]) -> None:
    address = parse_address(listen)
    hosts = address.hosts(address.port, reached)
    assert good <= hosts
    assert not bad & hosts
    assert address.origins(address.port, reached) == {f"http://{host}" for host in hosts}


@pytest.mark.parametrize(
    "listen", ["", ":8787", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "a:99999", "a:-1", "a:٣"]
)
def test_no_address(listen: str) -> None:
    with pytest.raises(UsageError):
        parse_address(listen)


@pytest.mark.parametrize(
    "url", ["lab", "ftp://lab", "https://", "https://lab/?a=b", "https://lab:port", "https://a..b"]
)
def test_no_public_url(url: str) -> None:
    with pytest.raises(UsageError):
        parse_address("127.0.0.1:8787", url)


def test_a_budget_allows_a_burst_and_a_rate() -> None:
    now = 0.0
    budget = Budget(2.0, 4.0, lambda: now)
    assert [budget.try_take() for _ in range(5)] == [True] * 4 + [False]
    now = 1.0
    assert [budget.try_take() for _ in range(3)] == [True, True, False]
    assert budget.take(3) == 1.5
    now = -5.0  # a clock that is set back costs nothing
    assert budget.take(0) >= 0
