"""Runs survive whatever ends the program."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tcptutor.journal import Journal

from .conftest import a_run

KILLED_DURING_A_RUN = """
import os, signal, sys
from pathlib import Path
from tests.journal.conftest import a_run
from tcptutor.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
journal.record_answer("m", "s", "q", (1,), True)
run = a_run("killed")
journal.begin_run(run, "m", "s")
run.experiment_s = 7.5
journal.checkpoint_run(run)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_program_leaves_its_run_marked_as_cut_short(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_DURING_A_RUN, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    journal = Journal.open(path)
    run = journal.latest_run("m", "s")
    assert run is not None
    assert (run.id, run.complete, run.experiment_s) == ("killed", False, 7.5)
    assert "ended during the run" in run.note
    assert [answer.correct for answer in journal.answers("m", "s")] == [True]
    assert journal.notice == ""
    journal.close()


def test_the_latest_run_of_a_step_is_given(journal: Journal) -> None:
    for number in (1, 2):
        run = a_run(f"r{number}")
        journal.begin_run(run, "m", "s")
        run.complete = True
        journal.finish_run(run)
    latest = journal.latest_run("m", "s")
    assert latest is not None
    assert (latest.id, latest.complete) == ("r2", True)
    assert journal.latest_run("m", "other") is None


def test_a_damaged_run_file_gives_the_run_before_it(journal: Journal, path: Path) -> None:
    for number in (1, 2):
        journal.begin_run(a_run(f"r{number}"), "m", "s")
    (path.parent / "runs" / "r2.tcprun").write_bytes(b"not a run")
    latest = journal.latest_run("m", "s")
    assert latest is not None
    assert latest.id == "r1"
