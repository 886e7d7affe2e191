"""Listening and public addresses of a lecture's page, and the codes of lectures."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.site_urls import site_of

DEFAULT_PORT = 8077
"""Default port of the page, which `tcptutor join CODE` connects to."""
CODE_LENGTH = 6
_ALPHABET = "CDFGHJKMNPQRTWXY34679"
"""Characters of codes, without look-alikes and without vowels that form words."""


class ListenAddress(NamedTuple):
    """Address and port to listen at."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    """0 for any free port."""

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"


def parse_listen(text: str) -> ListenAddress:
    """Parse an address "ADDRESS:PORT", such as "0.0.0.0:8077" or "[::]:8077". Raises UsageError."""
    host, _, port = text.rpartition(":")
    try:
        number = int(port) if port.isascii() and port.isdecimal() else -1
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        number = -1
    if not 0 <= number <= 65535:
        raise UsageError(
            f"{quoted(text)} is not an address with a port: write it like 0.0.0.0:{DEFAULT_PORT}"
        )
    return ListenAddress(str(address), number)


def parse_public_url(text: str) -> str:
    """Parse the URL of a reverse proxy for the page, without a trailing slash. Raises UsageError."""
    parts = split_url(text)
    if not (parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc):
        with contextlib.suppress(ValueError):
            return site_of(parts)
    raise UsageError(f"{quoted(text)} is not the URL of a site: write it like https://vote.example.org")


def split_url(text: str) -> SplitResult:
    """Return the parts of a URL; empty parts for an invalid URL."""
    try:
        parts = urlsplit(text)
        return parts if parts.port is None or parts.port else SplitResult("", "", "", "", "")
    except ValueError:
        return SplitResult("", "", "", "", "")


def reachable_host(host: str) -> str:
    """Return the address for reaching a server that listens at `host`; the main address for a wildcard."""
    address = ipaddress.ip_address(host)
    if not address.is_unspecified:
        return host
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        if address.version == 4 and family is not socket.AF_INET:
            continue
        try:
            # The routing table picks the address; no packet is sent.
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((far, 9))
                return str(probe.getsockname()[0])
        except OSError:
            continue
    return "127.0.0.1" if address.version == 4 else "::1"


def is_private(host: str) -> bool:
    """Return True if only this machine can reach a server that listens at `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


def is_own_name(host: str, public_url: str) -> bool:
    """Return True if a Host header names this machine or its public URL.

    A foreign name that resolves to this machine (DNS rebinding) is refused; an address cannot be rebound.
    """
    site = split_url(f"http://{host.lower()}")
    name = site.hostname or ""
    if not name or site.username is not None or site.path:
        return False
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name.partition("%")[0])
        return True
    here = socket.gethostname().lower()
    own = {"localhost", here, here.partition(".")[0], f"{here.partition('.')[0]}.local"}
    return name in own | {split_url(public_url).hostname}


def bracketed(host: str) -> str:
    """Return a host as it is written before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def new_code() -> str:
    """Return an unguessable code that is easy to read from a screen and type."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(CODE_LENGTH))


def typed_code(text: str) -> str:
    """Return a typed code in capitals, without blanks and hyphens; empty if it is invalid."""
    code = "".join(text.split()).replace("-", "").upper()
    return code if len(code) == CODE_LENGTH and set(code) <= set(_ALPHABET) else ""
