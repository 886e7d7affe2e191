"""Where the files are that the tests import, and the one run in such a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tcptutor.exchange import import_runs
from tcptutor.run import Run

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "files"
RUNS = ROOT / "tests" / "analysis" / "runs"


def import_run(file: Path, path: Mapping[str, str] | None = None) -> Run:
    """The one run in a file."""
    (run,) = import_runs(file, path)
    return run
