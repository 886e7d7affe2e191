from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tcptutor import spec
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.errors import ImageDamaged
from tests import leftovers

Build = Callable[..., spec.Experiment]

# A build machine may start all this in the background, where these are ignored: what is tested must not inherit it.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Marks the processes of a test; the test fails when one of them outlives it."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(leftovers.MARK, mark)
    yield mark
    assert leftovers.wait_until_none(mark) == []


@pytest.fixture(scope="session")
def build() -> Build:
    """An experiment from its parameters, as text with units."""

    def make(seed: int = 1, pairs: int = 1, **parameters: str) -> spec.Experiment:
        return spec.build("test/experiment", {"parameters": parameters, "seed": seed, "pairs": pairs})

    return make


@pytest.fixture(scope="session")
def snapshots() -> Snapshots:
    """The guest that `tcptutor setup` built; without it the lab's tests say so and fail."""
    found = Snapshots()
    try:
        for clock in ("virtual", "real"):
            found.manifest(clock)
    except ImageDamaged as error:
        pytest.fail(f"the lab's tests need the guest: {error}")
    return found


@pytest.fixture
def without_state(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A user's data folder of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert os.environ["XDG_DATA_HOME"]
    return tmp_path / "data"
