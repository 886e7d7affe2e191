"""`tcptutor import`: convert measurements of other programs to run files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tcptutor import exchange
from tcptutor.analysis import document
from tcptutor.base import places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.output import print_json, print_lines, warn
from tcptutor.commands.targets import ELSEWHERE, check_targets
from tcptutor.run import Run, load


def import_file(
    file: Path, output: Path | None, path: Mapping[str, str], as_json: bool, replace: bool = False
) -> int:
    """Import the tests of a file as runs and return the exit code. Raises TutorError.

    Args:
        file: The output of a different program; several tests become several runs, in JSON a list.
        output: The run file to write; None for the user's runs.
        path: Path parameters that the file lacks.
        as_json: Print the runs as JSON.
        replace: Overwrite existing files. Among the user's runs, a repeated import overwrites its own run in
            any case.
    """
    runs = exchange.import_runs(file, path)
    targets: list[Path | None] = [output] * len(runs)
    if output is not None:
        if len(runs) > 1:
            targets = [output.with_stem(f"{output.stem}-{number}") for number in range(1, len(runs) + 1)]
        check_targets([each for each in targets if each], [file], replace=replace)
    elif not replace:
        for run in runs:
            _check_overwrite(run, places.runs() / f"{run.id}.tcprun")
    documents = []
    for run, target in zip(runs, targets, strict=True):
        saved = exchange.save_run(run, target)
        if as_json:
            documents.append(document(run, str(saved)))
            continue
        print_lines([str(saved)])
        if not run.complete:
            warn(f"{run.note}: the complete part is saved")
        elif run.note != run.environment.reason:  # more than the origin of the file
            warn(run.note)
    if as_json:
        print_json(documents if len(documents) > 1 else documents[0])
    return 0


def _check_overwrite(run: Run, file: Path) -> None:
    """Raise UsageError if `file` exists among the user's runs and is not from the same import."""
    if not file.exists():
        return
    try:
        same = load(file).experiment == run.experiment
    except TutorError:
        same = False
    if not same:
        raise UsageError(
            f"{file} already exists, with another path or damaged: {ELSEWHERE}, or overwrite it with --replace"
        )
