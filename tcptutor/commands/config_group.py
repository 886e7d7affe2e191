"""Declarations of `tcptutor config` and its commands."""

from __future__ import annotations

from typing import Any

import click

from tcptutor.commands.ending import end
from tcptutor.commands.exits import CommandGroup
from tcptutor.commands.options import JSON


@click.group("config", cls=CommandGroup, invoke_without_command=True)
@JSON
@click.pass_context
def config(ctx: click.Context, as_json: bool) -> None:
    """Show the configuration file and the settings in effect; write or check the file, list the keys.

    The file changes settings and keys of the app. Without it, everything has its default.
    """
    if ctx.invoked_subcommand is not None:
        return
    from tcptutor.commands.config import show_configuration  # noqa: PLC0415

    end(show_configuration, as_json)


@config.command()
@click.option("--force", is_flag=True, help="Replace an existing file; the old file is kept next to it.")
@JSON
def write(**given: Any) -> None:
    """Write the file with every setting and key as a comment, to edit."""
    from tcptutor.commands.config import write_configuration  # noqa: PLC0415

    end(write_configuration, **given)


@config.command()
@JSON
def check(as_json: bool) -> None:
    """Print a line with a line number for each mistake in the file. Exit code 1 if it has any."""
    from tcptutor.commands.config import check_configuration  # noqa: PLC0415

    end(check_configuration, as_json)


@config.command()
@click.argument("words", metavar="[WORD]...", nargs=-1)
@JSON
def keys(**given: Any) -> None:
    """List actions, their keys and what they do; changed keys are marked with *. WORD: only lines with it."""
    from tcptutor.commands.config import list_keys  # noqa: PLC0415

    end(list_keys, **given)
