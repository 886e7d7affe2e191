"""Votes behind a real nginx with TLS, as the documentation sets it up: phones, `tcptutor join`, and who is refused."""

from __future__ import annotations

import asyncio
import os
import ssl
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from tcptutor.room.protocol import ClosePoll, Go, OpenPoll
from tcptutor.room.slides import Ask, Sentence, Slide
from tcptutor.room.talk import LecturePlace
from tcptutor.room.web.limits import RateLimit
from tests.browser import PHONE, Browser
from tests.command import COMMAND
from tests.nginx import errors, free_port, nginx
from tests.patience import seconds
from tests.room.lectures import opened, served_here, slide, terminal
from tests.room.made import CHOICES
from tests.room.web.conftest import Served

ASKED = Slide(
    headline="Slow start",
    module="congestion-algorithms",
    page="slow-start",
    steps=(Sentence(text="first"), Ask(activity="predict")),
)
JSON = {"Accept": "application/json"}


@pytest.mark.host
async def test_phones_and_terminals_vote_through_nginx(
    mark: str, without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    port, inner = free_port(), free_port()
    url = f"https://localhost:{port}"
    lecture = msgspec.structs.replace(
        opened(slide("one"), ASKED), listen=f"127.0.0.1:{inner}", public_url=f"{url}/"
    )
    with nginx(tmp_path / "nginx", "localhost", port, inner) as certificate:
        async with served_here(lecture), terminal() as front, Browser() as browser:
            talk = await front.until(lambda talk: bool(talk.audience.address), 20)
            assert talk.audience.address == f"{url}/{talk.audience.code}"  # also of the QR code
            phone = await browser.open("about:blank", PHONE)
            await phone.send("Security.setIgnoreCertificateErrors", ignore=True)  # the test's own
            await phone.go(talk.audience.address)
            await phone.wait_for_text("You’re in")
            (cookie,) = (await phone.send("Network.getCookies", urls=[url]))["cookies"]
            assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")

            student = await asyncio.create_subprocess_exec(
                *COMMAND, "join", talk.audience.address, stdin=PIPE, stdout=PIPE, stderr=STDOUT,
                env={**os.environ, "TERM": "dumb", "SSL_CERT_FILE": str(certificate), "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
            await front.until(lambda talk: talk.audience.joined == 2, 30)
            front.send(Go(LecturePlace(1, 1)))
            front.send(OpenPoll())
            await phone.click(".choices li:nth-child(3) button")
            await phone.wait_for("document.querySelector('.done')")
            assert student.stdin is not None
            student.stdin.write(b"a\n")
            talk = await front.until(lambda talk: talk.poll is not None and talk.poll.answered == 2, 30)
            front.send(ClosePoll(reveal=True))
            await phone.wait_for_text("50 %")
            assert [
                each for each in phone.requested if not each.startswith(url) and each != "about:blank"
            ] == []
            student.stdin.close()
            async with asyncio.timeout(seconds(20)):
                assert await student.wait() == 0
    assert errors(tmp_path / "nginx") == []


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[tuple[Served, aiohttp.ClientSession, str]]:
    """Votes behind nginx, a visitor who trusts the certificate, and the public URL."""
    port, inner = free_port(), free_port()
    url = f"https://localhost:{port}"
    with nginx(tmp_path / "nginx", "localhost", port, inner) as certificate:
        trusting = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(certificate)))
        async with (
            Served(tmp_path / "votes", listen=f"127.0.0.1:{inner}", public_url=url) as served,
            aiohttp.ClientSession(connector=trusting, headers=JSON) as http,
        ):
            yield served, http, url


@pytest.mark.host
async def test_requests_of_other_sites_and_for_other_names_are_refused(
    mark: str, visitor: tuple[Served, aiohttp.ClientSession, str]
) -> None:
    served, http, url = visitor
    served.votes.open(CHOICES)
    body = {"code": served.server.code}
    for headers, status in (
        ({"Origin": url}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example", "Origin": "https://evil.example"}, 421),
        ({"Host": "evil.example", "X-Forwarded-Host": "localhost"}, 421),
        ({"Origin": "https://evil.example", "X-Forwarded-Host": "evil.example"}, 403),
    ):
        async with http.post(f"{url}/join", json=body, headers=headers) as answer:
            assert (headers, answer.status) == (headers, status)


@pytest.mark.host
async def test_an_invented_forwarded_address_does_not_escape_the_limit_of_one_address(
    mark: str, tmp_path: Path, visitor: tuple[Served, aiohttp.ClientSession, str]
) -> None:
    async def statuses(served: Served, http: aiohttp.ClientSession, url: str) -> list[int]:
        assert served.server._routes is not None
        served.server._routes._joins_here = RateLimit(0.001, 3)
        found = []
        for number in range(5):
            headers = {
                "X-Forwarded-For": f"203.0.113.{number}",
                "X-Real-IP": f"203.0.113.{number}",
                "Forwarded": f"for=203.0.113.{number}",
            }
            async with http.post(f"{url}/join", json={"code": served.server.code}, headers=headers) as answer:
                found.append(answer.status)
        return found

    assert await statuses(*visitor) == [200, 200, 200, 429, 429]
    async with Served(tmp_path / "direct") as direct, aiohttp.ClientSession(headers=JSON) as http:
        assert await statuses(direct, http, direct.server.url) == [200, 200, 200, 429, 429]
