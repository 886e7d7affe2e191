from __future__ import annotations

import fcntl
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from tcptutor import spec
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.base.errors import ImageDamaged
from tcptutor.base.language_tags import locale_language
from tcptutor.course.outline import OpenedCourse
from tests import durations, examples, full, leftovers, order, scratch
from tests.progress import Progress

Build = Callable[..., spec.Experiment]

# A build machine may start all this in the background, where these are ignored: what is tested must not inherit it.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# A developer's locale would show translated pages, where tests read the original.
if locale_language(os.environ).partition("-")[0] not in ("", "en"):
    os.environ["LC_ALL"] = "C.UTF-8"


# How long an example takes says something about the machine, and nothing about what is tested.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "plain", settings.get_profile("full"), max_examples=examples.PLAIN, derandomize=True
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="all tests: also those that tests/full.py lists")
    parser.addoption(
        "--store-durations", action="store_true", help="write what each test took to tests/durations.json"
    )


def pytest_configure(config: pytest.Config) -> None:
    _share_the_shipped_course()
    settings.load_profile("full" if config.getoption("full") else "plain")
    if config.getoption("store_durations"):
        config.pluginmanager.register(durations.Measuring())
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress())


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many tests at a time as there are processors, for a guest takes one, and no more than memory is sure to hold.

    One after the other where a file or a test is named.
    """
    if all(Path(asked.partition("::")[0]).is_file() for asked in config.args):
        return 0
    return min(os.cpu_count() or 1, 4)


def pytest_report_header(config: pytest.Config) -> str:
    return "all tests" if config.getoption("full") else "a plain run: all tests with --full"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what takes the guest; a worker's guest belongs to one event loop."""
    names = getattr(item, "fixturenames", ())
    if "snapshots" in names:
        item.add_marker("guest")
    if "guest" in names:
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave out what only a full run takes, unless a test is named; several workers get the longest tests first."""
    named = any("::" in asked for asked in config.args)
    config.stash[full.UNMATCHED] = [] if named else full.unmatched(item.nodeid for item in items)
    yield
    if not config.getoption("full") and not named:
        kept = [item for item in items if full.plain(item.nodeid)]
        config.hook.pytest_deselected(items=[item for item in items if not full.plain(item.nodeid)])
        items[:] = kept
    if hasattr(config, "workerinput"):
        items[:] = order.ordered(
            items, lambda item: durations.seconds(item.nodeid), lambda item: str(item.path), _lab
        )


def _lab(item: pytest.Item) -> str:
    names = {each.name for each in item.iter_markers()}
    return "alone" if "alone" in names else "shared" if names & {"guest", "host", "terminal"} else ""


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


@pytest.fixture
def ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make root take an ordinary user's way to the host's kernel: capabilities in a user namespace only."""
    if os.geteuid() == 0:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)


def _share_the_shipped_course() -> None:
    """Read the shipped course once in a worker, during collection as well: a course that was read never changes."""
    module = sys.modules[OpenedCourse.__module__]
    shipped = places.lessons()

    @cache
    def opened() -> OpenedCourse:
        return OpenedCourse(shipped)

    def shared(folder: Path | None = None, language: str = "") -> OpenedCourse:
        root = folder or places.lessons()
        return opened() if root == shipped and not language else OpenedCourse(root, language)

    module.OpenedCourse = shared  # type: ignore[attr-defined]


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


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _worker_guest(snapshots: Snapshots) -> AsyncIterator[GuestBackend]:
    backend = GuestBackend("virtual", snapshots)
    yield backend
    await backend.close()
    assert leftovers.children("qemu-system") == []


@pytest_asyncio.fixture(loop_scope="session")
async def guest(_worker_guest: GuestBackend) -> AsyncIterator[GuestBackend]:
    """The guest on the virtual clock, one for all tests of a worker that only run experiments.

    Every run has a fresh copy of the snapshot; the next copy is made ready while the test looks at its run.
    """
    yield _worker_guest
    # No loop runs between two tests: what waits for the copy would find its time over.
    await _worker_guest.open()


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of this worker for small files, in memory where possible."""
    with scratch.in_memory(otherwise=tmp_path_factory.getbasetemp() / "small") as folder:
        yield folder


@pytest.fixture(scope="session", autouse=True)
def _users(memory: Path) -> Iterator[Path]:
    """Where the tests of this worker keep journals and second records: none of a test is the user's."""
    folder = memory / "users"
    with pytest.MonkeyPatch.context() as patch:
        _be_user(folder / "session", patch)
        yield folder


def _be_user(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("XDG_STATE_HOME", str(folder / "state"))
    patch.setenv("XDG_DATA_HOME", str(folder / "data"))
    patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    patch.setenv("XDG_CONFIG_DIRS", str(folder / "site"))


@pytest.fixture(autouse=True)
def _own_user(_users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The students of two tests may have one name."""
    _be_user(_users / uuid.uuid4().hex, monkeypatch)


@pytest.fixture
def without_state(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A user's data folder of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert os.environ["XDG_DATA_HOME"]
    return tmp_path / "data"
