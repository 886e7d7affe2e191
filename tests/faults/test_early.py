"""The app is asked to end before it is whole: it ends without a word, or says "stopped", and says nothing else."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests import patience
from tests.benchmarks.pty_app import PtyApp
from tests.cli.command import TCPTUTOR

pytestmark = pytest.mark.terminal

MOMENTS = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0]
"""Seconds after our first line. A quiet machine has its first frame after half of one."""


def wait_for_our_first_line(app: PtyApp) -> None:
    """Python itself takes ^C from its own start on, and tells of it as it does; our first line ends that."""
    deadline, taken = patience.Deadline(20), False
    while deadline.left:
        # Until it is the app, it is a copy of this program, which takes ^C as well.
        is_app = TCPTUTOR.encode() in Path(f"/proc/{app.pid}/cmdline").read_bytes().split(b"\0")
        caught = int(Path(f"/proc/{app.pid}/status").read_text().partition("SigCgt:")[2].split()[0], 16)
        takes = bool(caught & 1 << signal.SIGINT - 1)
        if taken and not takes:
            return
        taken = taken or (is_app and takes)
        time.sleep(0.0005)
    raise TimeoutError("it never begins")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_in_the_first_second(
    moment: float, number: signal.Signals, tmp_path: Path, mark: str
) -> None:
    with PtyApp(tmp_path, "--module", "parallel-streams") as app:
        wait_for_our_first_line(app)
        app.read(moment)
        sent = time.monotonic()
        app.signal(number)
        code = app.reap()
        app.read(0.1)
    told = app.output.decode(errors="replace")
    assert code in (0, -number, 128 + signal.SIGINT), (code, told)
    assert "Traceback" not in told
    assert "NoMatches" not in told
    if code > 0:
        assert told.strip() in ("", "tcptutor: stopped")
    assert time.monotonic() - sent < patience.seconds(10)
