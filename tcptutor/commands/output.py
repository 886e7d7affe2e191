"""Output of all commands: lines and numbers for people, a JSON document for programs, a line on standard error.

UTF-8 in any locale; color where it is visible or requested; never truncated to a width.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TextIO

import click

from tcptutor.base import units
from tcptutor.base.errors import TutorError, UsageError, refused
from tcptutor.base.glyphs import Glyphs, for_terminal, is_utf8, substitute
from tcptutor.base.printable import escaped
from tcptutor.base.window import Window

if TYPE_CHECKING:
    from tcptutor.base.chart import Chart
    from tcptutor.base.confidence import Summary
    from tcptutor.sweep.results import Point

Tone = Literal["title", "good", "doubt", "bad", "faint"]
_TONES: dict[Tone, dict[str, object]] = {
    "title": {"bold": True},
    "good": {"fg": "green"},
    "doubt": {"fg": "yellow"},
    "bad": {"fg": "red", "bold": True},
    "faint": {"dim": True},
}
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


_LONG_WORD = re.compile(r"\S{400,}")
"""Longer than any file name, and shorter than a line of options."""
_HEAD_LENGTH, _TAIL_LENGTH = 60, 20
_PROMPT_LINES = 2
"""Lines of a terminal that a chart leaves for the command above it and the prompt below."""


def prepare() -> None:
    """Prepare standard output and error: UTF-8, and blocking, for slow readers."""
    # Reopen closed streams: no file of ours may get their descriptor. They stay open to the end.
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),  # read-only, so that lost results raise an error
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Undecodable bytes of a file name are written unchanged.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
            # Another process that shares the stream may have made it non-blocking.
            with suppress(OSError, ValueError):
                os.set_blocking(stream.fileno(), True)


def use_color(choice: str) -> bool | None:
    """Return whether to use color: by `choice`, then NO_COLOR or FORCE_COLOR; None means on a terminal only."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def width() -> int | None:
    """Return the width of the terminal on standard output; None disables folding."""
    return _columns(sys.stdout)


def error_width() -> int:
    """Return the width of standard error."""
    return _columns(sys.stderr) or 80


def _columns(stream: TextIO) -> int | None:
    try:
        return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None
    except (OSError, ValueError):
        return None


def colorless() -> bool:
    """Return True if color is disabled, even on a terminal."""
    context = click.get_current_context(silent=True)
    return context is not None and context.color is False


def toned(text: str, tone: Tone) -> str:
    """Style `text`; `print_lines` removes the color where it is disabled."""
    return click.style(text, **_TONES[tone])  # type: ignore[arg-type]


def print_lines(lines: Iterable[str], *, exact: bool = False) -> None:
    """Print the lines, escaping control characters unless `exact`.

    Raises TutorError when standard output cannot be written, e.g. on a full disk.
    """
    try:
        for line in lines:
            click.echo(line if exact else _shown(line))
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_output()
        raise TutorError(f"cannot write standard output: {refused(error)}") from error


def _shown(line: str) -> str:
    """Escape everything in `line` except our own colors: parts of it may come from a file."""
    parts = _COLOR.split(line)
    if len(parts) == 1:
        return escaped(line, lines=True)
    use_color = [*_COLOR.findall(line), ""]
    return "".join(escaped(part, lines=True) + colour for part, colour in zip(parts, use_color, strict=True))


def print_bytes(pieces: Iterable[bytes]) -> None:
    """Write binary data, such as packets. Raises TutorError like `print_lines`, and UsageError on a terminal."""
    if sys.stdout.isatty():
        raise UsageError("packets are binary: write them to a file with -o, or to a pipe")
    try:
        out = sys.stdout.buffer
        for piece in pieces:
            out.write(piece)
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_output()
        raise TutorError(f"cannot write standard output: {refused(error)}") from error


def print_json(document: object) -> None:
    """Print a line of JSON."""
    print_lines([json.dumps(document, allow_nan=False).replace("\x7f", "\\u007f")])


def print_files(files: Sequence[Path], as_json: bool) -> None:
    """Print the paths of the files that a command has written."""
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        # A script needs the exact name, a person a printable one.
        print_lines(map(str, files), exact=not sys.stdout.isatty())


def print_chart(chart: Chart) -> None:
    """Draw a chart as large as the terminal, or in 80 x 24 characters, with characters that it can show."""
    columns, lines = (80, 24) if width() is None else os.get_terminal_size(sys.stdout.fileno())
    glyphs: Glyphs = for_terminal(os.environ) if is_utf8() else "ascii"
    has_color = click.get_current_context().color
    plain = not (sys.stdout.isatty() if has_color is None else has_color)
    from tcptutor.base.chart import render  # noqa: PLC0415  # most commands draw none

    drawn = render(chart, columns, lines - _PROMPT_LINES, plain=plain)
    print_lines(substitute(line, glyphs) for line in drawn)


def warn(text: str) -> None:
    """Print an error in a line on standard error; very long words are shortened in the middle."""
    shortened = _LONG_WORD.sub(lambda word: f"{word[0][:_HEAD_LENGTH]}…{word[0][-_TAIL_LENGTH:]}", text)
    remark(f"tcptutor: {escaped(shortened)}")


def remark(text: str, *, newline: bool = True) -> None:
    """Print a progress remark on standard error; a closed standard error is ignored."""
    with suppress(OSError):
        click.echo(text, err=True, nl=newline)


def give_up_output() -> None:
    """Discard the remaining output: the reader has gone, or the disk is full."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def on_terminal() -> bool:
    """Return True if input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def duration(seconds: float) -> str:
    """Format seconds like "40 s", "12 min" or "3.5 h"."""
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def not_valid(point: Point) -> str:
    """Describe invalid runs with their most common reason: "2 of 5 not valid: only 3 loss events"; empty for none."""
    if not point.doubtful:
        return ""
    return f"{point.doubtful} of {len(point.seeds)} not valid" + (f": {point.doubt}" if point.doubt else "")


def count(number: int, what: str) -> str:
    """Format a count like "1 cell", "2 cells"."""
    return f"{number} {what}{'s' if number != 1 else ''}"


def with_interval(summary: Summary, scale: float, unit: str) -> str:
    """Format a mean and half the width of its confidence interval like "9.53 ± 0.21 Mbit/s"."""
    mean = summary.mean / scale
    half = f" ± {_half(summary.half_width / scale, mean)}" if summary.half_width is not None else ""
    return f"{mean:.3g}{half}{unit and ' '}{unit}"


def _half(half: float, mean: float) -> str:
    """Format like "0.21", or "0.00" when it is too small for the three digits of the mean."""
    digits = 2 - math.floor(math.log10(abs(mean))) if mean else 0
    shows = not mean or half == 0 or half >= 10.0**-digits / 2
    return f"{half:.2g}" if shows else f"{0:.{max(0, digits)}f}"


def rate_with_interval(summary: Summary) -> str:
    """Format a summary in bit/s like "9.53 ± 0.21 Mbit/s", in the unit that suits the mean."""
    scale, unit = units.axis_unit(summary.mean, "rate")
    return with_interval(summary, scale, unit)


def difference(ratio: Summary) -> str:
    """Format the relative error of a measurement from its ratio to the prediction: "−4 %" or "+6 ± 2 %"."""
    rounded = units.signed_percent(ratio.mean - 1)
    if ratio.half_width is None:
        return rounded
    return f"{rounded.removesuffix(' %')} ± {100 * ratio.half_width:.2g} %"


class Bar:
    """A progress bar on standard error for many runs; hidden when standard error is not a terminal.

    Terminals with progress in their tab or task bar show the same progress.
    """

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        # Lazy import: most commands draw no bar.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True, highlight=False, markup=False, no_color=colorless() or None)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[latest]}"),
            console=console, disable=not console.is_terminal or console.is_dumb_terminal, transient=True,
            refresh_per_second=4,
            # Output to a terminal goes above the bar; output to a file bypasses rich.
            redirect_stdout=sys.stdout.isatty(),
        )  # fmt: skip
        self._task = self._progress.add_task(title, total=total, completed=done, latest="")
        self._window = Window(os.environ, console.file.write)

    def advance(self, latest: str = "", *, is_timed: bool = True) -> None:
        """Count a finished run and show `latest` next to the bar; the time left is computed from timed runs."""
        self._progress.update(self._task, advance=int(is_timed), latest=latest)
        if not is_timed:
            # Unlike `update`, this does not change the measured speed.
            self._progress.tasks[self._task].completed += 1
        task = self._progress.tasks[self._task]
        if task.total and not self._progress.disable:
            self._window.show_progress(task.completed / task.total)

    def extend(self, number: int) -> None:
        """Add runs to the total."""
        self._progress.update(self._task, total=(self._progress.tasks[self._task].total or 0) + number)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        self._window.end_progress(rings=False)
