"""The wheel as somebody gets it who has no rights, no checkout, and a home with nothing in it."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import termios
from pathlib import Path

import pytest

from tests import patience
from tests.packaging.ordinary_user import OrdinaryUser

pytestmark = pytest.mark.host

RUN = ("tcptutor", "run", "parallel-streams/random-loss", "--set", "duration=2s", "--seed", "7", "--json")


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.iterdir()}


def test_uv_installs_it_and_a_machine_without_packages_says_whom_to_ask(user: OrdinaryUser) -> None:
    user.succeed("uv", "tool", "install", user.wheel)
    assert "parallel-streams" in user.succeed("tcptutor", "list")
    programs = user.folder / "few"
    programs.mkdir()
    for name in ("sh", "env", "apt-get", "unshare", "setpriv"):
        (programs / name).symlink_to(shutil.which(name) or "")
    done = user.run(user.folder / "home/.local/bin/tcptutor", "setup", "--yes", PATH=str(programs))
    assert done.returncode == 3
    assert done.stderr.startswith(
        "tcptutor: the lab needs packages: ask an administrator to run apt-get update; "
    )
    assert done.stderr.endswith("; then run `tcptutor setup` again\n")
    assert done.stderr.count("\n") == 1
    # A plot needs what this environment's own installer adds: uv's has no pip.
    _, _, remedy = user.run("tcptutor", "doctor").stdout.partition("need matplotlib")
    assert "uv pip install" in remedy
    assert not _files(user.folder / "empty")


def test_pipx_installs_it_and_setup_makes_a_first_run_possible(mark: str, user: OrdinaryUser) -> None:
    user.succeed("uv", "tool", "install", "pipx")
    user.succeed("pipx", "install", user.wheel, timeout=600)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (36, 120))  # without a size, the app would be lines of text
    # The first start: it asks, and sets up the lab.
    os.write(ours, b"\n")
    starting = subprocess.Popen(
        user.words("tcptutor"), cwd=user.folder / "empty", env={**user.environment, "TERM": "xterm-256color"},
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown, deadline = b"", patience.Deadline(600)
    try:
        while b"\x1b[?1049h" not in shown:  # the app takes the screen
            assert deadline.left and b"without a lab. " not in shown, shown.decode(errors="replace")
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 65536)
    finally:
        starting.terminate()
        os.close(ours)
        starting.wait()
    assert b"the lab works: guest, virtual clock" in shown, shown.decode(errors="replace")
    document = json.loads(user.succeed(*RUN))
    assert document["flows"]
    assert not _files(user.folder / "empty")
