"""`tcptutor plot`: stored runs, or the table of a sweep, drawn into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.base.errors import UsageError
from tcptutor.commands.output import print_files, warn
from tcptutor.commands.targets import check_targets
from tcptutor.commands.words import count
from tcptutor.exchange import open_run
from tcptutor.exchange import plot as runs
from tcptutor.exchange.sequence import plot_sequence, read_span
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
    kind: str = "course",
    flow: int | None = None,
    span: str | None = None,
    replace: bool = False,
) -> int:
    """The exit code. `what` is for runs; `x`, `y` and `group` are for a sweep; `replace` writes over a file that is
    there. Raises TutorError.

    `flow` (from 1) and `span` are for the sequence graph of one run, which is a `kind` of its own.
    """
    if kind == "sequence":
        if what or x or y or group:
            raise UsageError("a sequence graph has --flow and --span: leave --what, --x, --y and --group out")
        if len(names) > 1:
            raise UsageError(f"{len(names)} runs do not go into one sequence graph: give one")
        run, path = open_run(names[0], warn)
        check_targets([output], [path], replace=replace)
        plot_sequence(run, path, output, (flow or 1) - 1, None if span is None else read_span(span))
        print_files([output], as_json)
        return 0
    if flow is not None or span is not None:
        raise UsageError("--flow and --span are for a sequence graph: give --kind sequence as well")
    files = [name for name in names if is_sweep(Path(name))]
    if files:
        if len(names) > len(files):
            raise UsageError(f"{files[0]} is a sweep, and others are not: plot runs and sweeps one by one")
        if len(files) > 1:
            raise UsageError(f"{len(files)} sweeps do not go into one plot: give one")
        if what:
            raise UsageError("--what is for runs: say with --y what a sweep's plot shows")
        check_targets([output], [Path(files[0])], replace=replace)
        _plot_sweep(Path(files[0]), output, x, y, group)
    else:
        across = {"--x": x, "--y": y, "--group": group}
        if given := [name for name, value in across.items() if value is not None]:
            raise UsageError(
                f"{given[0]} is for the file of a sweep: say with --what which parts of a run to plot"
            )
        quantities = [name.strip() for name in what.split(",") if name.strip()]
        opened = [open_run(name, warn) for name in names]
        check_targets([output], [path for _, path in opened], replace=replace)
        runs.plot([run for run, _ in opened], output, quantities)
    print_files([output], as_json)
    return 0


def _plot_sweep(file: Path, output: Path, x: str | None, y: str | None, group: str | None) -> None:
    table = load(file)
    if table.damaged:
        lines = count(table.damaged, "damaged line")
        warn(f"{lines} in {file} left out: the sweep runs {'it' if table.damaged == 1 else 'them'} again")
    sweeps.draw(table, x, output, y or sweeps.USUAL, group)
