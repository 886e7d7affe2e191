from __future__ import annotations

import fcntl
import os
import signal
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tcptutor import spec
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.errors import ImageDamaged
from tests import full, leftovers

Build = Callable[..., spec.Experiment]

# A build machine may start all this in the background, where these are ignored: what is tested must not inherit it.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


# How long an example takes says something about the machine, and nothing about what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="all tests: also those that tests/full.py lists")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many tests at a time as there are processors, for a guest takes one, and no more than memory is sure to hold.

    One after the other where a file or a test is named.
    """
    if all(Path(asked.partition("::")[0]).is_file() for asked in config.args):
        return 0
    return min(os.cpu_count() or 1, 4)


def pytest_report_header(config: pytest.Config) -> list[str]:
    if config.getoption("full"):
        return ["all tests"]
    return [f"commit {full.commit()[:12]}, all tests with --full", *(f"  {line}" for line in full.said())]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes the guest is marked so. A plain run takes its commit's share of the tests that `full` lists; who
    names a test gets it.
    """
    for item in items:
        if {"snapshots", "guest"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("guest")
    if config.getoption("full") or any("::" in asked for asked in config.args):
        return
    places: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        name = item.nodeid.partition("[")[0]
        (kept if full.plain(name, places[name]) else left).append(item)
        places[name] += 1
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(autouse=True)
def shares_the_machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """A test that is marked `alone` has no other one with a lab beside it."""
    names = {each.name for each in request.node.iter_markers()}
    if not names & {"guest", "host", "terminal", "alone"} or "PYTEST_XDIST_TESTRUNUID" not in os.environ:
        yield
        return
    # Beside the folders of all workers.
    with tmp_path_factory.getbasetemp().with_name("machine.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if "alone" in names else fcntl.LOCK_SH)
        yield


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
