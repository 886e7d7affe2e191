"""Where the files are that the tests import."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "files"
RUNS = ROOT / "tests" / "analysis" / "runs"
