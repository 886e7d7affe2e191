"""The server behind a real nginx with TLS, as the documentation sets it up for a class."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver

from tcptutor.serve.guard import parse_address
from tests.nginx import errors, free_port, nginx
from tests.serve.served import Client, Served, serving

NAME = "lab.example.edu"


class Here(AbstractResolver):
    """Every name is a name of this machine."""

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 6, "flags": 0}]

    async def close(self) -> None:
        pass


async def visitor(served: Served, url: str, certificate: Path) -> Client:
    """A browser that trusts the certificate."""
    client = served.client(url)
    await client.http.close()
    connector = aiohttp.TCPConnector(resolver=Here(), ssl=ssl.create_default_context(cafile=str(certificate)))
    client.http = aiohttp.ClientSession(connector=connector)
    return client


@pytest.mark.host
async def test_a_class_behind_nginx(mark: str, tmp_path: Path) -> None:
    """Links, cookies, websockets, a lost line, and who is refused."""
    port, inner = free_port(), free_port()
    url = f"https://{NAME}:{port}"
    address = parse_address(f"127.0.0.1:{inner}", url)
    async with serving(tmp_path, address=address) as served:
        with nginx(tmp_path / "nginx", NAME, port, inner) as certificate:
            ada = await visitor(served, url, certificate)
            status, _, headers = await ada.request(
                "POST", "/login", data={"token": served.logins.make_link("ada")}
            )
            assert status == 200
            cookie = headers["Set-Cookie"]
            assert cookie.startswith("__Host-tcptutor=")
            assert {"Secure", "HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
            page = await ada.open()
            await page.read_until("ready 100x30")
            await page.type("é")
            await page.read_until("key 'é'")
            page.abort()
            again = await ada.open()
            await again.read_until("repaint")
            await again.type("z")
            await again.read_until("key 'z'")
            assert served.starter.started == 1

            assert (await ada.request("GET", "/app"))[0] == 200
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await ada.open(origin="https://evil.example")
            thief = await visitor(served, url, certificate)
            assert (await thief.request("GET", "/app"))[0] == 303
        assert errors(tmp_path / "nginx") == []
