"""URLs of sites, written as browsers write them, so that an Origin or Host header can be compared."""

from __future__ import annotations

from urllib.parse import SplitResult

USUAL_PORTS = {"http": 80, "https": 443}
"""Ports that browsers leave out, by scheme."""


def site_of(url: SplitResult) -> str:
    """Return scheme, host and port of a URL: the host in ASCII and lower case, without the usual port.

    Raises:
        ValueError: It is not the URL of a site.
    """
    if url.scheme not in USUAL_PORTS or not url.hostname:
        raise ValueError(f"{url.geturl()} is not the URL of a site")
    host = url.hostname if ":" in url.hostname else url.hostname.encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    where = host if url.port in (None, USUAL_PORTS[url.scheme]) else f"{host}:{url.port}"
    return f"{url.scheme}://{where}"
