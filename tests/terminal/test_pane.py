"""A terminal in a page, in the installed command with the real guest: a shell of the lab, typed into and left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.backends.guest.snapshots import Snapshots
from tests import leftovers
from tests.cli.command import TCPTUTOR
from tests.page_number import number_of
from tests.terminal.test_walk import PAGES
from tests.terminal.tmux import Tmux

pytestmark = [pytest.mark.terminal, pytest.mark.guest]


@pytest.fixture
def tutor(mark: str, snapshots: Snapshots, without_state: Path, tmp_path: Path) -> Iterator[Tmux]:
    """The app at a page with an experiment."""
    one = Tmux(f"{TCPTUTOR} --module parallel-streams", tmp_path, 130, 40)
    one.wait_for(r"pre-test", 60)
    for page in range(1, number_of("one-lossy-flow") + 1):
        one.keys("Right")
        one.wait_for(rf"{page}/{PAGES}")
    yield one
    one.close()


def test_a_shell_is_opened_used_and_left(tutor: Tmux, mark: str, without_state: Path) -> None:
    tutor.keys("t")
    tutor.wait_for(r"h1:~#", 90)
    tutor.keys("echo $((6 * 7)) > answer; cat answer", "Enter")
    tutor.wait_for(r"│\s*42\s*\n.*h1:~#\s*\n")
    # Completion, ^C, ^Z, the arrows, colours, the alternate screen.
    tutor.keys("cat ans", "Tab", "Enter")
    tutor.wait_for(r"h1:~# cat answer\s*\n.*│\s*42\s*\n.*h1:~#\s*\n")
    # A key that interrupts throws away what was typed before it and not read.
    tutor.keys("echo $((1 + 1)); sleep 100", "Enter")
    tutor.wait_for(r"│\s*2\s*\n")
    tutor.keys("C-c")
    tutor.wait_for(r"\^C(\s*\n.*)?h1:~#")
    tutor.keys("echo $((2 + 1)); sleep 100", "Enter")
    tutor.wait_for(r"│\s*3\s*\n")
    tutor.keys("C-z")
    tutor.wait_for(r"Stopped")
    tutor.keys("Up", "Up", "Up", "Enter")
    tutor.wait_for(r"(?s)Stopped.*cat answer\s*\n.*42\b")
    tutor.keys("for i in $(seq 200); do echo row $i; done | less", "Enter")
    tutor.wait_for(r"row 1\b")
    tutor.keys("G")
    tutor.wait_for(r"row 200\b")
    tutor.keys("q")
    tutor.keys("clear; echo $((50 + 5))", "Enter")
    tutor.wait_for(r"│\s*55\s*\n.*h1:~#")
    tutor.keys("vi answer", "Enter")
    tutor.wait_for(r"│\s*42\s*\n.*│\s*~\s*\n")
    assert "55" not in tutor.screen
    tutor.keys("o43", "Escape")
    tutor.wait_for(r"- answer \[Modified\]")
    tutor.keys(":wq", "Enter")
    tutor.wait_for(r"│\s*55\s*\n.*h1:~# vi answer")
    tutor.keys("clear; stty size", "Enter")
    size = tutor.wait_for(r"│\s*(\d+) (\d+)\s*\n.*h1:~#")
    assert (int(size[1]) > 15, int(size[2]) > 70) == (True, True)
    tutor.resize(80, 24)
    tutor.wait_for(r"h1:~#")
    tutor.keys("until stty size | grep '21 80'; do sleep 0.2; done", "Enter")
    tutor.wait_for(r"\n21 80\s*\n")
    # Another host, and the page.
    tutor.keys("F8")
    tutor.wait_for(r"h2:~#")
    tutor.keys("F6")
    tutor.wait_for(r"F6 terminal")
    tutor.keys("T")
    tutor.wait_for(r"Predict, then r", 30)
    assert re.search(r"ready *\n", tutor.screen)
    assert (without_state / "tcptutor" / "home" / "answer").read_text() == "42\n43\n"


def test_a_flow_by_hand_is_drawn_and_survives_the_terminal(
    tutor: Tmux, mark: str, without_state: Path
) -> None:
    tutor.keys("t")
    tutor.wait_for(r"h1:~#", 90)
    tutor.keys("h2 iperf3 -s > /dev/null &", "Enter")
    tutor.keys("until h2 ss -tln | grep -q :5201; do sleep 0.1; done; iperf3 -c h2 -t 60", "Enter")
    tutor.wait_for(r"▶ [1-9]\d* s, started by hand|\[h1\].*▶ [\d.]+ [kM]bit/s", 60)
    tutor.wait_for(r"(?s)(\d +sec .*){3}", 60)
    tutor.close()
    assert leftovers.wait_until_none(mark, 15) == []
    (file,) = (without_state / "tcptutor" / "runs").glob("*.tcprun*")
    assert file.stat().st_size > 1000
