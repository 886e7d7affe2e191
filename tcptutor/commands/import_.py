"""`tcptutor import`: a run file of what another program has measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tcptutor import exchange
from tcptutor.analysis import document
from tcptutor.commands.output import print_json, print_lines, warn


def import_file(file: Path, output: Path | None, path: Mapping[str, str], as_json: bool) -> int:
    """The exit code. Raises TutorError."""
    run = exchange.import_run(file, path)
    kept = exchange.save_run(run, output)
    if as_json:
        print_json(document(run, str(kept)))
    else:
        print_lines([str(kept)])
        if not run.complete:
            warn(f"{run.note}: what is whole is kept")
    return 0
