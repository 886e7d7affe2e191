"""`tcptutor export`: write stored runs as CSV or JSON, or their packets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.base.errors import UsageError
from tcptutor.commands.output import print_bytes, print_files, print_lines, warn
from tcptutor.commands.targets import check_targets
from tcptutor.exchange import export, open_run
from tcptutor.runs import packets


def export_runs(
    names: Sequence[str], kind: str, output: str | None, as_json: bool, replace: bool = False
) -> int:
    """Export the runs and return the exit code; `replace` overwrites existing files.

    Raises TutorError; when it refuses a target, no file has been written.
    """
    opened = [open_run(name, warn) for name in names]
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
