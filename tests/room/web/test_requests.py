"""Requests to the students' page: each gets its status, and none does what it should not."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from aiohttp import ClientSession, CookieJar

from tcptutor.room.flows import OwnFlow
from tcptutor.room.talk import Tally
from tcptutor.room.votes import VoterView
from tcptutor.room.web import vote_page
from tests.patience import Deadline
from tests.room.made import CHOICES, NUMBERS
from tests.room.web.conftest import Served

JSON = {"Accept": "application/json"}


@pytest_asyncio.fixture
async def session() -> AsyncIterator[ClientSession]:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        yield session


async def _join(served: Served, session: ClientSession, **fields: str) -> dict[str, str]:
    """Join, and return the headers of a program that has."""
    body = {"code": served.server.code, **fields}
    async with session.post(f"{served.server.url}/join", json=body, headers=JSON) as answer:
        assert answer.status == 200
        return {**JSON, "Authorization": f"Bearer {(await answer.json())['token']}"}


async def _vote(
    served: Served, session: ClientSession, headers: dict[str, str], answer: object, poll: str = ""
) -> tuple[int, dict[str, Any]]:
    body = {
        "poll": poll or served.votes.voter_view(headers["Authorization"].split()[1]).poll,
        "answer": answer,
    }
    async with session.post(f"{served.server.url}/vote", json=body, headers=headers) as done:
        return done.status, await done.json()


async def test_a_vote_is_counted_replaced_and_closed(served: Served, session: ClientSession) -> None:
    headers = await _join(served, session)
    served.votes.open(CHOICES)
    poll = served.votes.voter_view(headers["Authorization"].split()[1]).poll
    status, receipt = await _vote(served, session, headers, 2, poll)
    assert (status, receipt["status"]) == (200, "counted")
    status, receipt = await _vote(served, session, headers, 1, poll)
    assert (status, receipt["status"]) == (200, "replaced")
    served.votes.close()
    status, receipt = await _vote(served, session, headers, 0, poll)
    assert (status, receipt["status"]) == (409, "closed")
    served.votes.reveal()
    view = served.votes.view
    assert view is not None
    assert view.results[0].counts == (0, 1, 0)


async def test_a_change_is_sent_to_all_who_wait_for_it(served: Served, session: ClientSession) -> None:
    headers = await _join(served, session)
    url = f"{served.server.url}/view"
    async with session.get(url, headers=headers) as answer:
        first = await answer.json()
    assert first["view"]["state"] == "waiting"
    waiting = asyncio.create_task(session.get(url, params={"after": first["version"]}, headers=headers))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    opened = time.monotonic()
    served.votes.open(CHOICES)
    async with await waiting as answer:
        assert (await answer.json())["view"]["state"] == "voting"
    assert time.monotonic() - opened < 1
    # A version of another time is answered at once.
    async with session.get(url, params={"after": "0-0"}, headers=headers) as answer:
        assert answer.status == 200


async def test_nobody_sees_results_or_another_s_answer_before_they_are_revealed(
    served: Served, session: ClientSession
) -> None:
    voters = [await _join(served, session) for _ in range(3)]
    served.votes.open(CHOICES)

    async def seen() -> list[str]:
        texts = []
        for headers in voters:
            for accept in ("application/json", "text/html"):
                async with session.get(
                    f"{served.server.url}/view", headers={**headers, "Accept": accept}
                ) as answer:
                    assert answer.headers["Cache-Control"] == "no-store"
                    texts.append(re.sub(r'"version":"[^"]*"', "", await answer.text()))
        return texts

    before = await seen()
    await _vote(served, session, voters[0], 2)
    after = await seen()
    assert after[0] != before[0]
    assert after[2:] == before[2:]
    served.votes.close()
    for text in await seen():
        assert '"counts"' not in text
        assert "%" not in text


CODE = "the code"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
GOOD = {"poll": "POLL", "answer": 1}
JOIN, VOTE = "/join", "/vote"
BAD: list[tuple[str, int, str, str, Any]] = [
    ("no body", 415, "POST", VOTE, {}),
    ("not JSON", 400, "POST", VOTE, {"data": b"{", "headers": {"Content-Type": "application/json"}}),
    ("a list", 400, "POST", VOTE, {"json": [1]}),
    ("no answer", 400, "POST", VOTE, {"json": {"poll": "1"}}),
    ("more than asked", 400, "POST", VOTE, {"json": {"poll": "1", "answer": 1, "voter": "other"}}),
    ("a float", 400, "POST", VOTE, {"json": {"poll": "POLL", "answer": 1.5}}),
    ("no such choice", 400, "POST", VOTE, {"json": {"poll": "POLL", "answer": 3}}),
    ("below the choices", 400, "POST", VOTE, {"json": {"poll": "POLL", "answer": -1}}),
    ("words", 400, "POST", VOTE, {"data": {"poll": "POLL", "answer": "'; drop table votes"}}),
    ("a huge number", 400, "POST", VOTE, {"json": {"poll": "POLL", "answer": 10**300}}),
    ("not UTF-8", 400, "POST", VOTE, {"data": b"poll=1&answer=%ff", "headers": FORM}),
    ("nested", 400, "POST", VOTE, {"data": b"[" * 4000, "headers": {"Content-Type": "application/json"}}),
    ("oversized", 413, "POST", VOTE, {"json": {"poll": "POLL", "answer": "9" * 5000}}),
    ("a file", 415, "POST", VOTE, {"data": b"--x--", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}),
    ("another poll", 409, "POST", VOTE, {"json": {"poll": "99", "answer": 1}}),
    ("another site", 403, "POST", VOTE, {"json": GOOD, "headers": {"Origin": "http://evil.example"}}),
    ("no site", 403, "POST", VOTE, {"json": GOOD, "headers": {"Origin": "null"}}),
    ("a sibling site", 403, "POST", VOTE, {"json": GOOD, "headers": {"Sec-Fetch-Site": "same-site"}}),
    ("a wrong code", 404, "POST", JOIN, {"json": {"code": "CCCCCC"}}),
    ("an empty code", 404, "POST", JOIN, {"json": {"code": ""}}),
    ("a long name", 400, "POST", JOIN, {"json": {"code": CODE, "name": "x" * 41}}),
    ("a name with controls", 400, "POST", JOIN, {"json": {"code": CODE, "name": "a\x1b[2J"}}),
    ("a name that turns around", 400, "POST", JOIN, {"json": {"code": CODE, "name": "a\u202eb"}}),
    ("no such page", 404, "GET", "/admin", {}),
    ("a path out", 404, "GET", "/assets/..%2f..%2fpyproject.toml", {}),
    ("a wrong code in the path", 404, "GET", "/CCCCCC", {}),
    ("a wrong method", 405, "DELETE", VOTE, {}),
]  # fmt: skip


async def test_each_bad_request_gets_one_status_and_changes_nothing(
    served: Served, session: ClientSession
) -> None:
    headers = await _join(served, session)
    served.votes.open(CHOICES)
    poll = served.votes.voter_view(headers["Authorization"].split()[1]).poll
    wrong = {}
    for name, status, method, path, request in BAD:
        body = request.get("json", request.get("data"))
        if isinstance(body, dict):
            body = {
                key: {"POLL": poll, CODE: served.server.code}.get(value, value)
                if isinstance(value, str)
                else value
                for key, value in body.items()
            }
        kind = {"json": body} if "json" in request else {"data": body}
        async with session.request(
            method, f"{served.server.url}{path}", headers={**headers, **request.get("headers", {})}, **kind
        ) as answer:
            text = await answer.text()
            if (
                answer.status != status
                or len(json.loads(text)["error" if status != 409 else "message"]) > 120
            ):
                wrong[name] = (answer.status, text)
    assert wrong == {}
    view = served.votes.view
    assert view is not None
    assert view.answered == 0
    assert (await _vote(served, session, headers, 1))[0] == 200


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "ff" * 8 + ".." + "0" * 32, "\u00e9.x.y"])
async def test_a_token_that_the_lecture_did_not_sign_is_nobody(
    served: Served, session: ClientSession, token: str
) -> None:
    headers = {**JSON, "Cookie": f"tcptutor_voter={token}"}
    for method, path in (("GET", "/view"), ("POST", VOTE)):
        async with session.request(method, f"{served.server.url}{path}", headers=headers) as answer:
            assert answer.status == 401


async def test_every_answer_forbids_scripts_and_frames_of_others(
    served: Served, session: ClientSession
) -> None:
    for path in ("/", f"/{served.server.code}", "/nothing", "/assets/page.js", "/view"):
        async with session.get(f"{served.server.url}{path}") as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "aiohttp" not in str(answer.headers)
            text = await answer.text()
            assert "<b>" not in text  # of the title
            assert not re.search(r'(src|href)="(?!/)', text)


async def test_a_voter_joins_and_votes_without_scripts(served: Served, session: ClientSession) -> None:
    """As a browser without them does: forms, and a cookie that scripts and other sites never see."""
    url = served.server.url
    async with session.post(f"{url}/join", data={"code": served.server.code.lower()}) as answer:
        assert answer.status == 200
        assert answer.url.path == "/"
        cookie = answer.history[0].headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
    served.votes.open(NUMBERS)
    async with session.get(f"{url}/{served.server.code}") as answer:
        assert answer.url.path == "/"
        fields = dict(re.findall(r'name="(poll)" value="([^"]*)"', await answer.text()))
    async with session.post(f"{url}/vote", data={**fields, "answer": "nine"}) as answer:
        assert answer.status == 400
        assert "nine" in await answer.text()
    async with session.post(f"{url}/vote", data={**fields, "answer": "8 Mbit/s"}) as answer:
        assert answer.status == 200
        assert "8 Mbit/s" in await answer.text()
    served.votes.reveal()
    assert served.votes.view is not None
    assert served.votes.view.results[0].right == 1


async def test_a_thousand_joins_at_once_do_not_disturb_those_who_vote(
    served: Served, session: ClientSession
) -> None:
    headers = await _join(served, session)
    served.votes.open(CHOICES)
    body = {"code": served.server.code}

    async def join() -> int:
        async with session.post(f"{served.server.url}/join", json=body, headers=JSON) as answer:
            return answer.status

    flood = [asyncio.create_task(join()) for _ in range(1000)]
    began = time.monotonic()
    assert (await _vote(served, session, headers, 1))[0] == 200
    voted = time.monotonic() - began
    statuses = await asyncio.gather(*flood)
    assert voted < Deadline(2).left
    assert set(statuses) == {200, 429}
    assert statuses.count(200) < 1000
    # Afterwards joining works again.
    await asyncio.sleep(0.1)
    await _join(served, session)


async def test_a_restarted_lecture_has_the_same_address_and_voters(
    tmp_path: Path, session: ClientSession
) -> None:
    async with Served(tmp_path) as served:
        before = served.server.view.address
        headers = await _join(served, session)
        served.votes.open(CHOICES)
        assert (await _vote(served, session, headers, 1))[0] == 200
    async with Served(tmp_path) as served:
        assert served.server.view.address == before
        async with session.get(f"{served.server.url}/view", headers=headers) as answer:
            assert (await answer.json())["view"]["answer"] == 1


async def test_students_learn_that_the_lecture_has_ended(served: Served, session: ClientSession) -> None:
    headers = await _join(served, session)
    url = f"{served.server.url}/view"
    async with session.get(url, headers=headers) as answer:
        version = (await answer.json())["version"]
    waiting = asyncio.create_task(session.get(url, params={"after": version}, headers=headers))
    await asyncio.sleep(0.2)
    await served.server.close()
    async with await waiting as answer:
        assert answer.status == 410


async def test_behind_a_proxy_the_public_address_is_shown_and_believed(
    tmp_path: Path, session: ClientSession
) -> None:
    async with Served(tmp_path, public_url="https://vote.example.org/") as served:
        port = served.server._port
        assert served.server.view.address == f"https://vote.example.org/{served.server.code}"
        headers = {"Origin": "https://vote.example.org", "X-Forwarded-For": "203.0.113.9"}
        async with session.post(
            f"http://127.0.0.1:{port}/join",
            data={"code": served.server.code},
            headers=headers,
            allow_redirects=False,
        ) as answer:
            assert answer.status == 303
            assert "Secure" in answer.headers["Set-Cookie"]


async def test_a_lecture_with_names_asks_for_them(tmp_path: Path, session: ClientSession) -> None:
    async with Served(tmp_path, with_names=True) as served:
        async with session.get(served.server.view.address) as answer:
            text = await answer.text()
        assert 'name="name"' in text
        assert "anonymous" not in text
        headers = await _join(served, session, name="Ada <i>")
        served.votes.open(CHOICES)
        await _vote(served, session, headers, 1)
        served.votes.reveal()
        assert [each.name for each in served.votes.report().participation] == ["Ada <i>"]


async def test_a_speaker_learns_that_only_this_machine_reaches_the_page(tmp_path: Path) -> None:
    for options, warnings in (
        ({}, 1),
        ({"listen": "0.0.0.0:0"}, 0),
        ({"public_url": "https://a.example"}, 0),
    ):
        served = Served(tmp_path, **options)
        assert len(served.server.remarks) == warnings
        served.votes.close_file()


def test_a_student_sees_the_own_flow_and_no_other() -> None:
    flow = OwnFlow(algorithm="bbr", others=2, flows=64, fair_bps=1e6)
    running = vote_page.shown(VoterView(state="closed", flow=flow))
    assert "64 flows" in running
    assert "2 others" in running
    ended = msgspec.structs.replace(flow, bps=2.5e6, rank=3)
    assert "2.5 Mbit/s" in vote_page.shown(VoterView(state="revealed", flow=ended))
    assert "place 3 of 64" in vote_page.shown(VoterView(state="revealed", flow=ended))


@pytest.mark.parametrize("values", [(), (1e6,), (1e6, 1e6), (1e-300, 1.0, 1e300), tuple(range(1, 4000))])
@pytest.mark.parametrize("right", [None, 8e6])
def test_any_numbers_fit_a_phone_s_histogram(values: tuple[float, ...], right: float | None) -> None:
    tally = Tally(values=values, answered=len(values), right_value=right)
    view = VoterView(state="revealed", unit="rate", results=(tally,), text="How fast?", measured=2e6)
    page = vote_page.shown(view)
    assert ("measured: 2 Mbit/s" if right is None else "right: 8 Mbit/s") in page
    bars = re.findall(r'<rect x="([^"]*)" width="[^"]*" y="([^"]*)" height="([^"]*)"', page)
    assert bool(bars) == bool(values)
    assert all(0 <= float(x) <= 100 and float(y) + float(height) <= 24.1 for x, y, height in bars)
