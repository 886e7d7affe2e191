"""`tcptutor export`: stored runs as CSV or JSON, or the packets that they kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.commands.output import print_bytes, print_files, print_lines
from tcptutor.errors import UsageError
from tcptutor.exchange import export, open_run


def export_runs(names: Sequence[str], kind: str, output: str | None, as_json: bool) -> int:
    """The exit code. Raises TutorError."""
    opened = [open_run(name) for name in names]
    if output == "-":
        if len(opened) > 1:
            raise UsageError("standard output takes one run: give a folder with -o for several")
        run, path = opened[0]
        if kind == "pcapng":
            print_bytes(export.packets_of(path))
            return 0
        whole = export.as_json(run, str(path)) if kind == "json" else export.as_csv(run.samples)
        print_lines([whole.rstrip("\n")])
        return 0
    target = Path(output) if output else None
    into = target is not None and (target.is_dir() or len(opened) > 1)
    if into and target is not None and target.is_file():
        raise UsageError(f"{target} is a file: give a folder with -o for several runs")
    files = []
    for run, path in opened:
        place = target / f"{path.stem}.{kind}" if into and target else target
        files += export.write(run, path, kind, place)
    print_files(files, as_json)
    return 0
