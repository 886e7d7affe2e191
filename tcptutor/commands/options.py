"""Options shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tcptutor.base.errors import quoted
from tcptutor.commands.completion import SETTINGS, SWEEP_QUANTITIES, complete_courses

_MOST_SEEDS = 1000
_Command = TypeVar("_Command", bound=Callable[..., Any])

BACKEND = click.option(
    "--backend",
    type=click.Choice(["auto", "host", "guest", "replay"]),
    default="auto",
    show_default=True,
    help="Where the experiment runs: this machine's kernel, a QEMU guest, or a replayed recording.",
)
CLOCK = click.option(
    "--clock",
    type=click.Choice(["auto", "virtual", "real"]),
    default="auto",
    show_default=True,
    help="virtual: the guest's time counts its instructions, so that a slow machine is never late.",
)


def _choose_course(context: click.Context, _option: click.Parameter, given: str | None) -> None:
    if given is None:
        return
    from tcptutor.base import places  # noqa: PLC0415  # the first frame does without it
    from tcptutor.commands.course import announce_fetch  # noqa: PLC0415
    from tcptutor.course.sources import choose  # noqa: PLC0415

    announce_fetch(given)
    chosen = choose(given)
    before = places.chosen_course()
    context.call_on_close(lambda: places.choose_course(before))
    places.choose_course(chosen)


def course_option(envvar: str | None = None) -> Callable[[_Command], _Command]:
    """Return the option --course, which chooses the course for all of the command."""
    return click.option(
        "--course",
        metavar="FOLDER|FILE|URL|ID",
        shell_complete=complete_courses,
        envvar=envvar,
        expose_value=False,
        is_eager=True,
        callback=_choose_course,
        help="Use this course: a folder, a .tcpcourse or .zip file, a git repository (URL or URL@REVISION), or the id"
        " of a course of `tcptutor course list`. Default: the course of tcptutor.",
    )


COURSE = course_option()
LANGUAGE = click.option(
    "--language",
    metavar="TAG",
    help="Show lessons in this language, such as de, page by page where they are translated. Default: the"
    " configuration file's, else the locale's.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
REPLACE = click.option(
    "--replace",
    is_flag=True,
    help="Overwrite existing files.",
)


def output_option(
    default: str | None, description: str, metavar: str = "FILE"
) -> Callable[[_Command], _Command]:
    """Return the option -o for the file that a command writes."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        default=Path(default) if default else None,
        show_default=True,
        metavar=metavar,
        help=description,
    )


SEED = click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Seed of the random loss.")


def _seeds(_ctx: click.Context, _option: click.Parameter, value: str | None) -> tuple[int | None, int] | None:
    """Return the first seed, if it is given, and the number of seeds."""
    if value is None:
        return None
    match = re.fullmatch(r"(?:(\d{1,10})\.\.)?(\d{1,10})", value)
    first, last = (match[1], int(match[2])) if match else (None, 0)
    number = last if first is None else last - int(first) + 1
    if not 1 <= number <= _MOST_SEEDS:
        raise click.BadParameter(f"{quoted(value)} is not 1 to {_MOST_SEEDS} seeds: write it like 5 or 3..7")
    return None if first is None else int(first), number


SEEDS = click.option(
    "--seeds",
    callback=_seeds,
    metavar="N|FIRST..LAST",
    help="Run several seeds, and print the means with their confidence intervals.",
)
FLOWS = click.option("--flows", "all_flows", is_flag=True, help="Print a line for every flow.")
SCALE = click.option(
    "--scale",
    type=click.Choice(["bench", "paper"]),
    default="bench",
    show_default=True,
    help="bench: values for most machines; paper: values printed in the source.",
)
PLOT = click.option(
    "--plot",
    is_flag=False,
    flag_value="-",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="[FILE]",
    help="Draw in the terminal, or write a picture to this .svg, .pdf or .png file.",
)
X = click.option("--x", metavar="NAME", help="Sweep plot: the x axis. Default: the first axis with numbers.")
Y = click.option(
    "--y",
    metavar="QUANTITY",
    shell_complete=SWEEP_QUANTITIES,
    help="Sweep plot: throughput (default), utilization, share (of flow 1), jain, loss_rate, losses,"
    " retransmits, rtt, rtt_p95, queueing, queueing_p95, cwnd or completion.",
)
GROUP = click.option("--group", metavar="NAME", help="Sweep plot: the axis whose values get one color each.")


def _settings(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not (name and equals and text):
            raise click.BadParameter(
                f"{quoted(value)} is not NAME=VALUE: write it like streams=4 or loss=0.1%"
            )
        settings[name.strip()] = text.strip()
    return settings


def set_option(name: str, help: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--set",
        name,
        multiple=True,
        metavar="NAME=VALUE",
        callback=_settings,
        shell_complete=SETTINGS,
        help=help,
    )
