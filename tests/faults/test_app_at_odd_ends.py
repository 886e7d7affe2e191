"""The app in odd homes and terminals: it runs, the bottom line tells whether it saves, and so does its last line."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.benchmarks.pty_app import PtyApp

pytestmark = pytest.mark.terminal

LONG = "/tmp/" + "x" * 5000
UNSAVED: dict[str, dict[str, str | None]] = {
    "data in a device": {"XDG_DATA_HOME": "/dev/null"},
    "data where nothing can be made": {"XDG_DATA_HOME": "/proc/nowhere"},
    "data with a long name": {"XDG_DATA_HOME": LONG},
    "no home": {"XDG_DATA_HOME": None, "XDG_CACHE_HOME": None, "HOME": ""},
}
SAVED: dict[str, dict[str, str | None]] = {
    "nothing odd": {},
    "cache in a device": {"XDG_CACHE_HOME": "/dev/null"},
    "cache with a long name": {"XDG_CACHE_HOME": LONG},
    "TERM unset": {"TERM": None},
    "TERM dumb": {"TERM": "dumb"},
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
    "no place for temporary files": {"TMPDIR": "/proc/nowhere"},
}


@pytest.mark.parametrize("odd", [*SAVED, *UNSAVED])
def test_the_app_runs_and_reports_unsaved_work(odd: str, tmp_path: Path, mark: str) -> None:
    environment = SAVED.get(odd) or UNSAVED.get(odd) or {}
    with PtyApp(tmp_path, "--no-plain", "--module", "parallel-streams", environment=environment) as app:
        app.wait_for("NOT SAVED" if odd in UNSAVED else "saved")
        end = len(app.output)
        app.signal(signal.SIGTERM)
        code = app.reap()
        app.read(0.2)
    told = app.output.decode(errors="replace")
    assert "Traceback" not in told
    last = app.output[end:].decode(errors="replace").replace("\r", "")
    says = [line[line.index("tcptutor: ") :] for line in last.split("\n") if "tcptutor: " in line]
    if odd in SAVED:
        assert (code, says) == (0, [])
        return
    assert code == 1
    (line,) = says
    assert line.startswith("tcptutor: some of your work could not be saved: cannot write ")
    assert len(line) < 300


def test_a_terminal_that_closes_ends_the_app_in_order(tmp_path: Path, mark: str) -> None:
    """Textual would wait for a terminal that is gone, until the app is killed; a killed app has the code 1."""
    with PtyApp(tmp_path, "--no-plain", "--module", "parallel-streams") as app:
        app.wait_for("saved")
        app.hang_up()
        assert app.reap(seconds=30) == 0
