"""Voters of a load test, in a process of their own: `python -m tests.room.web.load URL CODE VOTERS`.

Each joins, waits for the question, votes, and waits for the results, as a phone does. The output is a JSON line of
what they saw: an answer and the time of the results for each.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

from aiohttp import ClientSession, ClientTimeout, TCPConnector


class Voter:
    def __init__(self, session: ClientSession, url: str, number: int) -> None:
        self._session, self._url = session, url
        self.answer = number % 4
        self._headers = {"Accept": "application/json"}
        self.leaked = False
        self.round_trip_s = 0.0

    async def take_part(self, code: str) -> float:
        """Return the time, by the machine's clock, when the results were there."""
        await self._visit(f"/{code}")
        while "Authorization" not in self._headers:
            async with self._session.post(
                f"{self._url}/join", json={"code": code}, headers=self._headers
            ) as answer:
                if answer.status == 200:
                    self._headers["Authorization"] = f"Bearer {(await answer.json())['token']}"
                else:
                    await asyncio.sleep(0.5)
        await self._visit("/")
        view = await self._view_of("voting")
        began = time.monotonic()
        vote = {"poll": view["poll"], "answer": self.answer}
        async with self._session.post(f"{self._url}/vote", json=vote, headers=self._headers) as answer:
            assert (await answer.json())["status"] == "counted", answer.status
        self.round_trip_s = time.monotonic() - began
        await self._view_of("revealed")
        return time.time()

    async def _visit(self, path: str) -> None:
        headers = {**self._headers, "Accept": "text/html"}
        async with self._session.get(f"{self._url}{path}", headers=headers) as answer:
            assert answer.status == 200, answer.status
            await answer.read()

    async def _view_of(self, state: str) -> dict[str, object]:
        version = ""
        while True:
            async with self._session.get(
                f"{self._url}/view", params={"after": version}, headers=self._headers
            ) as answer:
                if answer.status == 200:
                    got = await answer.json()
                    version, view = got["version"], got["view"]
                    self.leaked |= bool(view["results"]) != (view["state"] == "revealed")
                    self.leaked |= view["answer"] not in (None, self.answer)
                    if view["state"] == state:
                        return dict(view)
                else:
                    assert answer.status == 204


async def main(url: str, code: str, voters: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    connector, timeout = TCPConnector(limit=0), ClientTimeout(total=None)
    async with ClientSession(connector=connector, timeout=timeout) as session:
        all_voters = [Voter(session, url, number) for number in range(voters)]
        ends = await asyncio.gather(*(voter.take_part(code) for voter in all_voters))
    print(
        json.dumps(
            {
                "ends": ends,
                "answers": [voter.answer for voter in all_voters],
                "leaked": sum(voter.leaked for voter in all_voters),
                "slowest_vote_s": max(voter.round_trip_s for voter in all_voters),
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
