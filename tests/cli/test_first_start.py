"""The first start of the app where nothing is set up: it offers the lab, and opens whatever the answer is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.terminal.tmux import Tmux

pytestmark = [pytest.mark.terminal, pytest.mark.host]

COMMAND = shlex.join([sys.executable, "-m", "tcptutor"])
HOME = "139 pages|Begin|Start"


def test_setup_is_offered_once_and_a_no_opens_the_app(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    first = Tmux(COMMAND, tmp_path)
    try:
        first.wait_for(r"Go on\? \[Y/n\]")
        assert "build   guest image" in first.screen
        first.keys("n", "Enter")
        first.wait_for("nothing was changed: run `tcptutor setup`")
        first.keys("Enter")
        first.wait_for(HOME)
        first.keys("q")
        first.wait_for_exit()
    finally:
        first.close()
    second = Tmux(COMMAND, tmp_path)
    try:
        second.wait_for(HOME)
    finally:
        second.close()
