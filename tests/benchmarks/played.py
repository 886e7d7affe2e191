"""The app with a recorded run in place of the lab: `python -m tests.benchmarks.played FILE MODULE SPEED`.

It plays `SPEED` seconds of the run in a second, as the guest does, so that what it writes is the same on every machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tcptutor.course import load
from tcptutor.journal import Journal
from tcptutor.run import load as load_run
from tcptutor.ui.app import TutorApp
from tests.ui.fakes import FakeLab


def main() -> None:
    file, module, speed = sys.argv[1:]
    run = load_run(Path(file))
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.open(Path(folder) / "journal.db")
        TutorApp(load(), journal, lambda: FakeLab(float(speed), plays=run), module=module).run()


if __name__ == "__main__":
    main()
