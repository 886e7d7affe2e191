"""Programs that end with whoever has started them, however that ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tcptutor.backends import programs
from tcptutor.backends.lab import Lab
from tests import leftovers, patience
from tests.install.command import NOBODY, needs_user_namespaces, run

pytestmark = pytest.mark.host

STARTS = """
import os, subprocess, sys
from tcptutor.backends import programs
# What it starts has left its session and has been given away.
line = "setsid sleep 1000 & setsid sh -c 'setsid sleep 2000 & sleep 3000' & echo ready; sleep 4000"
subprocess.run(programs.tie_tree_to_parent(os.getpid(), ["sh", "-c", line]))
"""


def test_all_that_was_started_ends_with_a_killed_parent(mark: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    for seconds in (1000, 2000, 3000, 4000):
        assert leftovers.wait_for(mark, f"sleep {seconds}")
    parent.kill()
    parent.communicate(timeout=patience.seconds(10))
    assert leftovers.wait_until_none(mark) == []


def test_its_mounts_are_its_own(tmp_path: Path) -> None:
    mount = ["sh", "-c", 'mount -t tmpfs none "$0" && touch "$0/there"', str(tmp_path)]
    done = subprocess.run(programs.tie_tree_to_parent(os.getpid(), mount), check=False, capture_output=True)
    assert done.returncode == 0 or os.geteuid() != 0
    assert list(tmp_path.iterdir()) == []


@needs_user_namespaces
def test_where_there_are_no_namespaces_the_program_runs_all_the_same() -> None:
    script = (
        "import os, subprocess; from tcptutor.backends import programs\\n"
        "print(programs._namespace(), flush=True);"
        "subprocess.run(programs.tie_tree_to_parent(os.getpid(), ['echo', 'done']))"
    ).replace("\\n", "\n")
    done = run([*NOBODY, sys.executable, "-c", script])
    assert done.stdout == "()\ndone\n", done.stderr


@pytest.mark.parametrize("alive", [True, False])
def test_what_dies_with_its_parent_does_not_begin_without_it(alive: bool) -> None:
    """Killed before setpriv has asked for the signal, a parent would leave what nobody ends."""
    words = programs.tie_to_parent(os.getpid() if alive else os.getppid(), ["echo", "begun"])
    assert subprocess.run(words, capture_output=True, text=True, check=False).stdout == "begun\n" * alive


async def test_a_lab_that_is_being_closed_is_closed_to_the_end() -> None:
    """A signal came while a finished run's lab ended, and a traceback with it."""
    closed = asyncio.Event()

    class Slow:
        async def close(self) -> None:
            await asyncio.sleep(0.05)
            closed.set()

    lab = Lab()
    lab._choice = SimpleNamespace(backend=Slow())  # type: ignore[assignment]
    task = asyncio.create_task(lab.close())
    await asyncio.sleep(0.01)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.01)
    await task
    assert closed.is_set()
