"""The command line, as a process of its own or in this one.

A process takes half a second of the processor before it begins; in this one the same words do the same at once.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from tcptutor.commands.command_line import main
from tests import patience

COMMAND = [sys.executable, "-m", "tcptutor"]


def process(*words: str | Path, timeout: float = 120, **how: object) -> subprocess.CompletedProcess[str]:
    """For what only a process shows: signals, limits, users, how it ends, what it leaves."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*COMMAND, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=patience.seconds(timeout),
        check=False,
        stdin=subprocess.DEVNULL,
        **how,
    )


def here(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """For what a command computes, writes and says. An exception that a process would die of is raised."""
    done = CliRunner().invoke(main, [str(word) for word in words], prog_name="tcptutor")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)
