"""Two runs at once on one machine, of one user and of two, do not disturb each other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import tcptutor
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.run import load
from tcptutor.theory import goodput_ratio
from tests import leftovers
from tests.faults import machine
from tests.faults.running import Running

NOBODY = 65534
BACKENDS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("host", "guest")]


@pytest.fixture(autouse=True)
def nothing_left(mark: str, backend: str, request: pytest.FixtureRequest) -> Iterator[None]:
    if backend == "guest":
        request.getfixturevalue("snapshots")
    before = machine.look()
    yield
    assert leftovers.wait_until_none(mark) == []
    assert machine.look() == before


def _check(running: Running, folder: Path) -> None:
    """The run came to its end, measured what its link carries, and is in `folder`."""
    output = running.end()
    assert running.process.returncode == 0, running.errors
    assert running.errors == ""
    document = json.loads(output)
    # On a real clock a busy machine may give cause for doubt; wrong settings would be invalid.
    assert document["fidelity"]["status"] != "invalid", document["fidelity"]
    rate, expected = document["aggregate"]["throughput_bps"], 5e6 * goodput_ratio(1500)
    doubted = document["fidelity"]["status"] == "suspect"
    assert rate == pytest.approx(expected, rel=0.15) or (doubted and rate < 1.15 * expected)
    file = Path(document["file"])
    assert file.parent == folder
    assert load(file).complete


def _nothing_half(folder: Path, runs: int) -> None:
    names = [file.name for file in folder.iterdir()]
    assert len(names) == runs
    assert all(name.endswith(".tcprun") and not name.startswith(".") for name in names)


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_commands_at_once(backend: str, without_state: Path) -> None:
    folder = without_state / "tcptutor" / "runs"
    for running in [Running(backend), Running(backend)]:
        _check(running, folder)
    _nothing_half(folder, 2)


@pytest.fixture
def nobody(backend: str) -> Iterator[tuple[list[str], dict[str, str], Path]]:
    """Another user: the command as this user, the environment, the user's runs."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a command as another user")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--"]
    usual = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    # Root's own Python may be where nobody else can reach it.
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(tcptutor.__file__).parents[1]), *sys.path]),
    }
    for python in (sys.executable, usual):
        # As the agent is started: in a namespace the user has no rights but those of others.
        trial = [*user, "unshare", "--user", "--map-root-user", python, "-m", "tcptutor", "--version"]
        found = subprocess.run(trial, env=environment, cwd="/", capture_output=True, check=False)
        if found.returncode == 0:
            break
    else:
        pytest.skip("another user cannot run this Python, or may not make namespaces")
    home = Path(tempfile.mkdtemp(prefix="tcptutor-nobody-"))
    try:
        if backend == "guest":
            shutil.copytree(Snapshots().folder, home / "cache" / "tcptutor" / "guest")
        for path in (home, *home.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        environment |= {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_DATA_HOME": str(home / "data"),
            "TMPDIR": str(home),
        }
        yield [*user, python, "-m", "tcptutor"], environment, home / "data" / "tcptutor" / "runs"
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_users_at_once(
    backend: str, without_state: Path, nobody: tuple[list[str], dict[str, str], Path]
) -> None:
    command, environment, theirs = nobody
    ours = without_state / "tcptutor" / "runs"
    first, second = Running(backend), Running(backend, command, environment)
    _check(first, ours)
    _check(second, theirs)
    assert {file.stat().st_uid for file in theirs.iterdir()} == {NOBODY}
    for folder in (ours, theirs):
        _nothing_half(folder, 1)
