"""Declarations of `tcptutor runs` and its commands."""

from __future__ import annotations

from typing import Any

import click

from tcptutor.commands.completion import EXPERIMENTS_AND_PAGES, complete_runs
from tcptutor.commands.ending import end
from tcptutor.commands.exits import CommandGroup
from tcptutor.commands.options import JSON

_LIST = "list"


class _RunsGroup(CommandGroup):
    """A group that lists without the name of a command: `tcptutor runs random-loss`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [_LIST, *args]
        return super().parse_args(ctx, args)


@click.group("runs", cls=_RunsGroup)
def runs() -> None:
    """List the stored runs; name, delete, restore or compare them.

    Without a command, list: `tcptutor runs EXPERIMENT --filter 'random loss'`, with the options of `tcptutor runs
    list --help`. show, plot and export accept the id in a line, or `last`.
    """


@runs.command(_LIST)
@click.argument("name", metavar="[EXPERIMENT|PAGE]", required=False, shell_complete=EXPERIMENTS_AND_PAGES)
@click.option("--experiment", metavar="NAME", help="The experiment, as an option.")
@click.option("--module", metavar="ID", help="Only runs of this module's experiments, or on its pages.")
@click.option("--page", metavar="PAGE", help="Only runs on this page, such as 1.7 or MODULE/PAGE.")
@click.option(
    "--filter",
    "words",
    metavar="WORDS",
    default="",
    help="Only runs with all these words in name, experiment, page, settings or verdict, such as 'random loss'.",
)
@click.option(
    "-n",
    "most",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Number of runs to list; 0 for all.",
)
@JSON
def list_(name: str | None, experiment: str | None, **given: Any) -> None:
    """List the stored runs, newest first.

    show, plot and export accept the id in a line, or `last`.
    """
    if name is not None and experiment not in (None, name):
        raise click.UsageError(f"{name!r} and {experiment!r}: name only one experiment")
    from tcptutor.commands.runs import list_runs  # noqa: PLC0415

    end(list_runs, name or experiment, **given)


@runs.command()
@click.argument("run", metavar="ID", shell_complete=complete_runs)
@click.argument("name", metavar="NAME")
def name(**given: Any) -> None:
    """Give a run a name, or remove its name with ''."""
    from tcptutor.commands.history import name_run  # noqa: PLC0415

    end(name_run, **given)


@runs.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True, shell_complete=complete_runs)
def delete(**given: Any) -> None:
    """Delete runs. `tcptutor runs restore` brings them back until tomorrow.

    A run that a page is marked by stays.
    """
    from tcptutor.commands.history import delete_runs  # noqa: PLC0415

    end(delete_runs, **given)


@runs.command()
@click.argument("names", metavar="ID...", nargs=-1, shell_complete=complete_runs)
def restore(**given: Any) -> None:
    """Bring deleted runs back; without an ID, list those that can be restored."""
    from tcptutor.commands.history import restore_runs  # noqa: PLC0415

    end(restore_runs, **given)


@runs.command()
@click.argument("one", metavar="FILE|ID", shell_complete=complete_runs)
@click.argument("other", metavar="FILE|ID", shell_complete=complete_runs)
@JSON
def compare(**given: Any) -> None:
    """Compare two runs: the settings that differ, and their results side by side."""
    from tcptutor.commands.history import compare_runs  # noqa: PLC0415

    end(compare_runs, **given)
