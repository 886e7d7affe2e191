"""Checks of output paths, so that a command never destroys its input or an existing file; plots to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.base.chart import SUFFIXES, Chart, check_target
from tcptutor.base.errors import UsageError
from tcptutor.commands.output import print_chart, print_files

TERMINAL = Path("-")
"""Value of --plot without a file name."""
ELSEWHERE = "give another place with -o"


def check_targets(
    targets: Sequence[Path], inputs: Sequence[Path], *, replace: bool, elsewhere: str = ELSEWHERE
) -> None:
    """Check all targets before the first is written.

    Args:
        targets: The files to write.
        inputs: The files that are read.
        replace: Allow overwriting existing files.
        elsewhere: How the user can choose a different place, for the error.

    Raises:
        UsageError: A target is an input (also by a link), a repeated target, a device, a pipe or a folder; or it
            exists and `replace` is off.
    """
    seen = dict[Path, Path]()
    for target in targets:
        resolved = _resolved(target)
        if resolved in seen:
            raise UsageError(f"two results would be written to {target}: {elsewhere}")
        seen[resolved] = target
        for read in inputs:
            if resolved == _resolved(read) or _is_same_file(target, read):
                raise UsageError(f"{target} is also the input: {elsewhere}")
        check_regular(target, elsewhere)
        if target.is_file() and not replace:
            raise UsageError(f"{target} already exists: {elsewhere}, or overwrite it with --replace")


def check_plot(plot: Path | None, inputs: Sequence[Path], *, replace: bool, as_json: bool) -> None:
    """Check the value of --plot before anything is computed. Raises UsageError, TutorError without matplotlib."""
    if plot == TERMINAL and as_json:
        raise UsageError("--plot without a file draws in the terminal: omit --json, or name a file")
    if plot is not None and plot != TERMINAL:
        if plot.suffix.lower() not in SUFFIXES:
            raise UsageError(
                f"{plot}: a plot's name ends in {', '.join(SUFFIXES)}; to draw in the terminal, write --plot last"
            )
        check_target(plot)
        check_targets([plot], inputs, replace=replace, elsewhere="give another --plot")


def draw_plot(plot: Path, chart: Chart) -> None:
    """Draw a chart in the terminal, or write it to the file `plot` and print its name. Raises TutorError."""
    if plot == TERMINAL:
        print_chart(chart)
    else:
        from tcptutor.exchange.plot import save_chart  # noqa: PLC0415  # a chart in the terminal needs less

        save_chart(chart, plot)
        print_files([plot], as_json=False)


def check_regular(target: Path, elsewhere: str = ELSEWHERE) -> None:
    """Raise UsageError if `target` exists and is not a regular file, without opening it."""
    if target.is_dir():
        raise UsageError(f"{target} is a folder: name a file in it")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is a device or a pipe, not a file: {elsewhere}")


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # circular links
        return path.absolute()


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
