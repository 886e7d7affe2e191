from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tests.backends.play import leaving_nothing


@pytest.fixture
async def own_guest(mark: str, snapshots: Snapshots) -> AsyncIterator[GuestBackend]:
    """A guest on the virtual clock for a test that kills or damages it; it leaves no process behind."""
    async with leaving_nothing(GuestBackend("virtual", snapshots), mark) as backend:
        yield backend
