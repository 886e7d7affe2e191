from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tests import leftovers


@pytest.fixture
async def guest(mark: str, snapshots: Snapshots) -> AsyncIterator[GuestBackend]:
    """The guest on the virtual clock; it leaves no process behind."""
    backend = GuestBackend("virtual", snapshots)
    yield backend
    await backend.close()
    assert leftovers.wait_until_none(mark) == []
