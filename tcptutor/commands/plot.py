"""`tcptutor plot`: draw stored runs, or a sweep's table, to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.base.errors import UsageError
from tcptutor.commands.output import print_files, warn
from tcptutor.commands.targets import check_targets
from tcptutor.commands.words import count
from tcptutor.exchange import open_run
from tcptutor.exchange import plot as runs
from tcptutor.exchange.sequence import parse_span, plot_sequence
from tcptutor.sweep import figure as sweeps
from tcptutor.sweep.results_file import is_sweep, load


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
    """Draw the plot and return the exit code. Raises TutorError.

    Args:
        names: Runs, or a sweep file.
        output: The picture to write.
        what: Quantities of runs, separated by commas.
        x: Sweep axis on the x axis.
        y: Quantity of a sweep.
        group: Sweep axis with a color per value.
        as_json: Print JSON.
        kind: "course" over time, or "sequence" for a flow's sequence graph.
        flow: Flow of the sequence graph, from 1.
        span: Time range of the sequence graph.
        replace: Overwrite existing files.
    """
    if kind == "sequence":
        if what or x or y or group:
            raise UsageError("a sequence graph takes --flow and --span: omit --what, --x, --y and --group")
        if len(names) > 1:
            raise UsageError(f"a sequence graph shows one run, not {len(names)}: name one")
        run, path = open_run(names[0], warn)
        check_targets([output], [path], replace=replace)
        plot_sequence(run, path, output, (flow or 1) - 1, None if span is None else parse_span(span))
        print_files([output], as_json)
        return 0
    if flow is not None or span is not None:
        raise UsageError("--flow and --span are for a sequence graph: add --kind sequence")
    files = [name for name in names if is_sweep(Path(name))]
    if files:
        if len(names) > len(files):
            raise UsageError(f"{files[0]} is a sweep, other files are not: plot runs and sweeps separately")
        if len(files) > 1:
            raise UsageError(f"a plot shows one sweep, not {len(files)}: name one")
        if what:
            raise UsageError("--what is for runs: choose a sweep's quantity with --y")
        check_targets([output], [Path(files[0])], replace=replace)
        _plot_sweep(Path(files[0]), output, x, y, group)
    else:
        across = {"--x": x, "--y": y, "--group": group}
        if given := [name for name, value in across.items() if value is not None]:
            raise UsageError(f"{given[0]} is for sweep files: choose quantities of a run with --what")
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
