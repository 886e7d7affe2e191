"""`tcptutor plot`: draw stored runs, or a sweep's table, in the terminal or to a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tcptutor.base.chart import Chart
from tcptutor.base.errors import UsageError
from tcptutor.commands.names import open_run
from tcptutor.commands.output import count, print_chart, print_files, warn
from tcptutor.commands.targets import check_targets
from tcptutor.exchange.delay_chart import delay_chart
from tcptutor.exchange.plot import plot, save_chart
from tcptutor.exchange.run_chart import parse_span, run_chart, sequence_chart
from tcptutor.sweep import figure
from tcptutor.sweep.results_file import is_sweep, load

_LARGE = (10.0, 6.0)
"""Width and height of a picture, inches."""


class PlotRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor plot`."""

    names: Sequence[str]
    """Runs, or a sweep file."""
    output: Path | None = None
    """The picture to write; None draws in the terminal."""
    what: str = ""
    """Quantities of runs, separated by commas."""
    x: str | None = None
    y: str | None = None
    group: str | None = None
    kind: str = "course"
    """"course" over time, "distribution" of delays, or "sequence" for a flow's sequence graph."""
    flow: int | None = None
    """Flow of the sequence graph, from 1."""
    span: str | None = None
    """Time range of the sequence graph."""
    replace: bool = False
    as_json: bool = False


def plot_files(request: PlotRequest) -> int:
    """Draw the plot and return the exit code. Raises TutorError."""
    across = {"--x": request.x, "--y": request.y, "--group": request.group}
    given = [name for name, value in across.items() if value is not None]
    sweeps = [name for name in request.names if is_sweep(Path(name))]
    if request.as_json and request.output is None:
        raise UsageError("--json prints the name of the picture: name one with -o")
    if request.kind == "sequence":
        if request.what or given:
            raise UsageError("a sequence graph takes --flow and --span: omit --what, --x, --y and --group")
        return _plot_sequence(request)
    if request.flow is not None or request.span is not None:
        raise UsageError("--flow and --span are for a sequence graph: add --kind sequence")
    if sweeps and request.kind == "distribution":
        raise UsageError("a distribution is of runs: choose a sweep's percentile with --y queueing_p95")
    if sweeps:
        return _plot_sweep(request, sweeps)
    if given:
        raise UsageError(f"{given[0]} is for sweep files: choose quantities of a run with --what")
    what = [name.strip() for name in request.what.split(",") if name.strip()]
    opened = [open_run(name) for name in request.names]
    runs, paths = [run for run, _ in opened], [path for _, path in opened]
    if request.kind == "distribution":
        return _draw(
            request,
            paths,
            lambda: delay_chart(runs, paths, what),
            lambda target: save_chart(delay_chart(runs, paths, what), target, _LARGE),
        )
    return _draw(request, paths, lambda: run_chart(runs, what), lambda target: plot(runs, target, what))


def _plot_sequence(request: PlotRequest) -> int:
    if len(request.names) > 1:
        raise UsageError(f"a sequence graph shows one run, not {len(request.names)}: name one")
    run, path = open_run(request.names[0])
    flow, span = (request.flow or 1) - 1, None if request.span is None else parse_span(request.span)
    return _draw(
        request,
        [path],
        lambda: sequence_chart(run, path, flow, span),
        lambda target: save_chart(sequence_chart(run, path, flow, span), target, _LARGE),
    )


def _plot_sweep(request: PlotRequest, sweeps: Sequence[str]) -> int:
    if len(request.names) > len(sweeps):
        raise UsageError(f"{sweeps[0]} is a sweep, other files are not: plot runs and sweeps separately")
    if len(sweeps) > 1:
        raise UsageError(f"a plot shows one sweep, not {len(sweeps)}: name one")
    if request.what:
        raise UsageError("--what is for runs: choose a sweep's quantity with --y")
    file = Path(sweeps[0])
    table = load(file)
    if table.damaged:
        lines = count(table.damaged, "damaged line")
        warn(f"{lines} in {file} left out: the sweep runs {'it' if table.damaged == 1 else 'them'} again")
    x, y, group = request.x, request.y or figure.USUAL, request.group
    return _draw(
        request,
        [file],
        lambda: figure.chart(table, x, y, group),
        lambda target: figure.draw(table, x, target, y, group),
    )


def _draw(
    request: PlotRequest, inputs: Sequence[Path], chart: Callable[[], Chart], write: Callable[[Path], None]
) -> int:
    if request.output is None:
        print_chart(chart())
        return 0
    check_targets([request.output], inputs, replace=request.replace)
    write(request.output)
    print_files([request.output], request.as_json)
    return 0
