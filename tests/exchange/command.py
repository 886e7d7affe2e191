"""This checkout's command line, and the files that the tests import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "files"
RUNS = ROOT / "tests" / "analysis" / "runs"


def tcptutor(*arguments: str | Path, **how: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "tcptutor", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
        **{"cwd": ROOT, **how},
    )
