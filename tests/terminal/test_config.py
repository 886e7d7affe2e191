"""The installed command in a real terminal, with a configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.base import places
from tests.cli.command import TCPTUTOR
from tests.terminal.tmux import Tmux

pytestmark = pytest.mark.terminal


def test_changed_keys_arrive_from_a_terminal_and_a_mistake_is_shown(mark: str, tmp_path: Path) -> None:
    path = places.config_file()
    path.parent.mkdir(parents=True)
    path.write_text('[keys]\nlesson.next = "f4"\nlesson.hint = "r"\n')
    tutor = Tmux(f"{TCPTUTOR} --backend replay --module parallel-streams", tmp_path)
    try:
        tutor.wait_for(r"keeps h")
        tutor.keys("F4")
        tutor.wait_for(r" 1/\d+")
        tutor.keys("F4")
        tutor.wait_for(r" 2/\d+")
        tutor.wait_for(r"\? keys")
        tutor.keys("?")
        tutor.wait_for(r"F4 +the next page")
        tutor.keys("C-q")
        tutor.wait_for_exit()
    finally:
        tutor.close()
