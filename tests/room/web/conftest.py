from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tcptutor.room.votes import Votes
from tcptutor.room.web.audience import AudienceServer


class Served:
    """Votes and the server of their page."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.votes = Votes(folder, "lecture", with_names=bool(options.get("with_names")))
        self.server = AudienceServer(
            self.votes,
            folder,
            title="A lecture <b>",
            **{"listen": "127.0.0.1:0", **options},  # type: ignore[arg-type]
        )
        self.votes.on_change = self.server.wake

    async def __aenter__(self) -> Served:
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()
        self.votes.close_file()


@pytest_asyncio.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with Served(tmp_path) as served:
        yield served
