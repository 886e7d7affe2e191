"""`tcptutor import`: a run file of what another program has measured."""

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
    """The exit code. A file with several tests makes as many runs, in JSON a list; `replace` writes over a run file
    that is there. Of the user's runs it does so unasked where the same import made it. Raises TutorError.
    """
    runs = exchange.import_runs(file, path)
    targets: list[Path | None] = [output] * len(runs)
    if output is not None:
        if len(runs) > 1:
            targets = [output.with_stem(f"{output.stem}-{number}") for number in range(1, len(runs) + 1)]
        check_targets([each for each in targets if each], [file], replace=replace)
    elif not replace:
        for run in runs:
            _check_kept(run, places.runs() / f"{run.id}.tcprun")
    documents = []
    for run, target in zip(runs, targets, strict=True):
        kept = exchange.save_run(run, target)
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


def _check_kept(run: Run, file: Path) -> None:
    """Raise UsageError where `file`, the run's place among the user's, is not what this import made before."""
    if not file.exists():
        return
    try:
        same = load(file).experiment == run.experiment
    except TutorError:
        same = False
    if not same:
        raise UsageError(
            f"{file} is there already, with another path or damaged: {ELSEWHERE}, or --replace to write over it"
        )
