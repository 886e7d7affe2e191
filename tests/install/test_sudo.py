"""Nobody's rights are raised unasked: sudo is called for packages, after a yes, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.install.command import NOBODY, TCPTUTOR, in_terminal, needs_user_namespaces, programs, run
from tests.install.conftest import Cache

pytestmark = needs_user_namespaces

SUDO = """#!/bin/sh
printf '%s\\n' "$*" >> {called}
exit 1
"""


@pytest.fixture
def called(tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What sudo was called with, where it is one of the few programs that are there, and apt-get another."""
    path = programs(tmp_path / "bin", "apt-get", "unshare", "setpriv", "env")
    sudo = tmp_path / "bin" / "sudo"
    sudo.write_text(SUDO.format(called=tmp_path / "called"))
    sudo.chmod(0o755)
    # Another user's: it writes there what it was called with.
    cache.home.mkdir()
    for folder in (tmp_path, cache.home):
        folder.chmod(0o777)
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "called"


@pytest.mark.parametrize(
    "words",
    [
        ["doctor"],
        ["run", "parallel-streams/random-loss", "--backend", "host"],
        ["run", "parallel-streams/random-loss", "--set", "duration=1s"],
        ["shell", "h1"],
        ["setup"],
    ],
    ids=" ".join,
)
def test_sudo_is_not_called_unasked(called: Path, words: list[str]) -> None:
    done = run([*NOBODY, *TCPTUTOR, *words])
    assert "Traceback" not in done.stderr
    assert not called.exists(), called.read_text()


def test_sudo_is_not_called_after_a_no(called: Path) -> None:
    code, shown = in_terminal([*NOBODY, *TCPTUTOR, "setup"], typed="n\n")
    assert (code, "nothing was changed" in shown) == (1, True)
    assert not called.exists()


@pytest.mark.host
def test_after_a_yes_sudo_installs_packages_and_nothing_else(called: Path) -> None:
    run([*NOBODY, *TCPTUTOR, "setup", "--yes"])
    lines = called.read_text().splitlines()
    assert [line.split()[:5] for line in lines] == [
        ["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "update"],
        ["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install"],
    ]
