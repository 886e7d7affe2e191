"""`tcptutor export` and `import`: stored runs in formats of other programs, and their measurements as runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tcptutor import exchange
from tcptutor.analysis import document
from tcptutor.base import places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.names import open_run
from tcptutor.commands.output import print_bytes, print_files, print_json, print_lines, warn
from tcptutor.commands.targets import ELSEWHERE, check_targets
from tcptutor.exchange import export
from tcptutor.run import Run, load
from tcptutor.runs import packets


def export_runs(
    names: Sequence[str], kind: str, output: str | None, as_json: bool, replace: bool = False
) -> int:
    """Export the runs and return the exit code; `replace` overwrites existing files.

    Raises TutorError; when it refuses a target, no file has been written.
    """
    opened = [open_run(name) for name in names]
    if output == "-":
        if len(opened) > 1:
            raise UsageError("standard output takes one run: use a folder with -o for several")
        run, path = opened[0]
        if kind == "pcapng":
            names = export.captured_interfaces(path)
            if len(names) > 1:
                raise UsageError(
                    f"standard output takes one interface, and the run has {', '.join(names)}: use a file with -o"
                )
            print_bytes(packets.of_interface(run, path, *names))
            return 0
        text = export.as_json(run, str(path)) if kind == "json" else export.as_csv(run.samples)
        print_lines([text.rstrip("\n")])
        return 0
    target = Path(output) if output else None
    into = target is not None and (target.is_dir() or len(opened) > 1)
    if into and target is not None and target.is_file():
        raise UsageError(f"{target} is a file: use a folder with -o for several runs")
    places = [target / f"{path.stem}.{kind}" if into and target else target for _, path in opened]
    planned = [
        file
        for (run, path), place in zip(opened, places, strict=True)
        for file in export.export_files(run, path, kind, place)
    ]
    read = [each for _, path in opened for each in (path, packets.file_of(path))]
    check_targets([file.path for file in planned], read, replace=replace)
    print_files([file.write() for file in planned], as_json)
    return 0


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
