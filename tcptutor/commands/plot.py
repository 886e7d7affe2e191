"""`tcptutor plot`: stored runs, or the table of a sweep, drawn into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.commands.output import print_files, warn
from tcptutor.commands.words import count
from tcptutor.errors import UsageError
from tcptutor.exchange import open_run
from tcptutor.exchange import plot as runs
from tcptutor.sweep import plot as sweeps
from tcptutor.sweep.table import is_sweep, load


def plot_files(
    names: Sequence[str],
    output: Path,
    what: str,
    x: str | None,
    y: str | None,
    group: str | None,
    as_json: bool,
) -> int:
    """The exit code. `what` is for runs; `x`, `y` and `group` are for a sweep. Raises TutorError."""
    files = [name for name in names if is_sweep(Path(name))]
    if files:
        if len(names) > len(files):
            raise UsageError(f"{files[0]} is a sweep, and others are not: plot runs and sweeps one by one")
        if len(files) > 1:
            raise UsageError(f"{len(files)} sweeps do not go into one plot: give one")
        if what:
            raise UsageError("--what is for runs: say with --y what a sweep's plot shows")
        _plot_sweep(Path(files[0]), output, x, y, group)
    else:
        across = {"--x": x, "--y": y, "--group": group}
        if given := [name for name, value in across.items() if value is not None]:
            raise UsageError(
                f"{given[0]} is for the file of a sweep: say with --what which parts of a run to plot"
            )
        quantities = [name.strip() for name in what.split(",") if name.strip()]
        runs.plot([open_run(name)[0] for name in names], output, quantities)
    print_files([output], as_json)
    return 0


def _plot_sweep(file: Path, output: Path, x: str | None, y: str | None, group: str | None) -> None:
    table = load(file)
    if table.damaged:
        lines = count(table.damaged, "damaged line")
        warn(f"{lines} in {file} left out: the sweep runs {'it' if table.damaged == 1 else 'them'} again")
    sweeps.draw(table, x, output, y or sweeps.USUAL, group)
