"""Signals before a command has begun: no traceback, and the exit code that shells know."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tcptutor.commands import shell
from tests import patience
from tests.command import COMMAND, here


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("imported", ["click", "msgspec"])
def test_a_signal_while_it_starts_is_quiet(number: signal.Signals, imported: str, tmp_path: Path) -> None:
    """While what the command line stands on is imported, and what the command itself needs."""
    stalled = f"import os, time\nos.write(1, b'here')\ntime.sleep({patience.seconds(60)})\n"
    (tmp_path / f"{imported}.py").write_text(stalled)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    starting = subprocess.Popen(
        [*COMMAND, "run", "random-loss"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert starting.stdout is not None
    assert starting.stdout.read(4) == b"here"
    starting.send_signal(number)
    _, said = starting.communicate(timeout=patience.seconds(20))
    assert (starting.returncode, said) == (-number, b"")


def test_nohup_s_wish_stays(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise SystemExit(7)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *COMMAND, "list"]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, check=False)
    assert done.returncode == 7


def test_a_key_that_ends_a_command_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(**_: object) -> int:
        assert signal.getsignal(signal.SIGINT) == signal.default_int_handler  # so that it unwinds
        raise KeyboardInterrupt

    monkeypatch.setattr("tcptutor.commands.lint.lint_course", stopped)
    done = here("lint")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tcptutor: stopped\n")


class StartingLab:
    """A lab that is interrupted while it starts."""

    def __init__(self, *_: str) -> None: ...

    @asynccontextmanager
    async def session(self, *_: object) -> AsyncIterator[None]:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(patience.seconds(60))
        yield


def test_a_shell_that_is_interrupted_before_it_is_there_has_not_succeeded(
    without_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "Lab", StartingLab)
    done = here("shell")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.endswith("tcptutor: stopped\n")
