"""The installed command in twelve terminals: home, a figure, a prediction, a run, its chart, the verdict, the end."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tcptutor.base.glyphs import CONSOLE_FONT
from tcptutor.journal import Journal
from tests.cli.command import TCPTUTOR
from tests.terminal.slow_line import SlowLine
from tests.terminal.tmux import Tmux

pytestmark = pytest.mark.terminal

WALKED = "--backend replay --module parallel-streams"


class Kind(NamedTuple):
    """A terminal: how the command is started in it, and what it may be sent."""

    command: str
    size: tuple[int, int] = (80, 24)
    allowed: str = ""
    """Characters besides ASCII; empty for all."""
    colors: str = ""
    """Pattern of a color that may not be sent; empty for none."""


def _with(environment: str, wrapper: str = "") -> str:
    return f"env -u COLORTERM {environment} {wrapper}{TCPTUTOR} {WALKED}"


FONT = "".join(CONSOLE_FONT)
DEEP = r"\x1b\[(?:\d+;)*[34]8;2;"
"""A color of 24 bits."""
INDEXED = r"\x1b\[(?:\d+;)*[34]8;[25];"

KINDS = {
    "xterm-256color": Kind(_with("TERM=xterm-256color"), colors=DEEP),
    "truecolor": Kind(_with("TERM=xterm-256color").replace("-u COLORTERM", "COLORTERM=truecolor")),
    "16 colors": Kind(_with("TERM=xterm-16color"), colors=INDEXED),
    "8 colors": Kind(_with("TERM=xterm"), colors=INDEXED),
    "NO_COLOR": Kind(_with("NO_COLOR=1")),
    "linux": Kind(_with("TERM=linux"), allowed=FONT, colors=INDEXED),
    "LANG=C": Kind(_with("-u LC_ALL LANG=C"), allowed=" "),
    "tmux": Kind(_with("TERM=tmux-256color")),
    "screen": Kind(_with("TERM=xterm-256color", "screen -U -c /dev/null ")),
    "mosh": Kind(""),
    "40x12": Kind(_with("TERM=xterm-256color"), size=(40, 12)),
    "300x80": Kind(_with("TERM=xterm-256color"), size=(300, 80)),
}


@pytest.fixture
def terminal(
    request: pytest.FixtureRequest, mark: str, without_state: Path, tmp_path: Path
) -> Iterator[tuple[Kind, Tmux]]:
    kind = KINDS[request.param]
    command, server = kind.command, 0
    if request.param == "screen" and shutil.which("screen") is None:
        pytest.skip("GNU screen is not installed")
    if request.param == "mosh":
        if shutil.which("mosh-server") is None:
            pytest.skip("mosh is not installed")
        began = subprocess.run(
            ["mosh-server", "new", "-i", "127.0.0.1", "-p", "60100:60199", "--", TCPTUTOR, *WALKED.split()],
            capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        (port, key) = re.findall(r"MOSH CONNECT (\d+) (\S+)", began.stdout)[0]
        server = int(re.findall(r"pid = (\d+)", began.stderr)[0])
        command = f"env MOSH_KEY={key} mosh-client 127.0.0.1 {port}"
    tmux = Tmux(command, tmp_path, *kind.size)
    yield kind, tmux
    tmux.close()
    if server:
        subprocess.run(["kill", str(server)], capture_output=True, check=False)


@pytest.mark.parametrize("terminal", KINDS, indirect=True)
def test_a_page_is_read_predicted_run_and_explained(terminal: tuple[Kind, Tmux]) -> None:
    kind, tutor = terminal
    is_small = kind.size < (80, 24)
    drawn = [""]

    def see(pattern: str, seconds: float = 60) -> None:
        tutor.wait_for(pattern, seconds)
        drawn[0] += tutor.colored_screen

    if is_small:
        see("80 x 24 needed")
        tutor.keys("Enter")
    see("pre-test")
    tutor.keys("/")
    see("a page, a term")
    tutor.keys("-l", "single flow on a lossy")
    see(r"page 3\.")
    tutor.keys("Enter")
    see("A research lab")
    tutor.keys("r")
    see(r"Predict\s+first|Your prediction")
    tutor.keys("12", "Enter")
    see("locked")
    tutor.keys("r")
    if is_small:
        see("A chart needs")
    else:
        see(r"of 45 s|/45 s")
        see(r"cwnd, segments")
        see(r"8\.99 Mbit/s")
        tutor.keys("x")
        see("random loss")
    tutor.keys("C-q")
    tutor.wait_for_exit(30)
    _check(kind, drawn[0])


def _check(kind: Kind, drawn: str) -> None:
    assert not kind.colors or not re.search(kind.colors, drawn)
    text = re.sub(r"\x1b\[[0-9;]*m|\x1b\[|[\x0e\x0f]", "", drawn)
    odd = {each for each in text if not each.isascii() and not each.isalpha()}
    assert not kind.allowed or not odd - set(kind.allowed)
    assert kind.allowed or odd, "a terminal with all characters gets more than ASCII"


def test_a_chart_on_a_slow_line_leaves_room_for_keys(mark: str, tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "tcptutor" / "journal.db")
    journal.visit("parallel-streams", "one-lossy-flow")
    journal.close()
    with SlowLine(tmp_path, *WALKED.split(), size=(80, 24)) as app:
        app.see("A single flow")
        app.key("x")
        app.see("Run without")
        app.key("y")
        app.see("of 45 s")
        app.rate = 2400.0
        app.carry(8)
        begin = len(app.output)
        app.carry(8)
        assert len(app.output) - begin < 0.8 * 8 * app.rate, "frames leave room"
        assert app.output.count(b"\x1b[6n") > 2
        app.rate = None
        app.key("\x11")
        assert app.reap() == 0
