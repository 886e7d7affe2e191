"""`tcptutor import`: a run file of what another program has measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tcptutor import exchange
from tcptutor.analysis import document
from tcptutor.commands.output import print_json, print_lines, warn


def import_file(file: Path, output: Path | None, path: Mapping[str, str], as_json: bool) -> int:
    """The exit code. A file with several tests makes as many runs, in JSON a list. Raises TutorError."""
    runs = exchange.import_runs(file, path)
    documents = []
    for number, run in enumerate(runs, 1):
        several = output is not None and len(runs) > 1
        kept = exchange.save_run(
            run, output.with_stem(f"{output.stem}-{number}") if several and output else output
        )
        if as_json:
            documents.append(document(run, str(kept)))
            continue
        print_lines([str(kept)])
        if not run.complete:
            warn(f"{run.note}: what is whole is kept")
        elif run.note != run.environment.reason:  # where it is from, and no more
            warn(run.note)
    if as_json:
        print_json(documents if len(documents) > 1 else documents[0])
    return 0
