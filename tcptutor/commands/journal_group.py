"""Declarations of `tcptutor journal` and its commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tcptutor.commands.ending import end
from tcptutor.commands.exits import CommandGroup
from tcptutor.commands.options import JSON, REPLACE, output_option


@click.group("journal", cls=CommandGroup)
def journal() -> None:
    """Work on two machines: export your work on one, import it on the other."""


@journal.command()
@output_option("journal.tcpjournal", "The file to write.")
@REPLACE
@JSON
def export(**given: Any) -> None:
    """Write all your work to a file: answers, predictions, notes and runs."""
    from tcptutor.commands.journal import export_journal  # noqa: PLC0415

    end(export_journal, **given)


@journal.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@JSON
def import_(**given: Any) -> None:
    """Add the work in FILE that is not here yet. Nothing here is replaced, and importing twice changes nothing."""
    from tcptutor.commands.journal import import_journal  # noqa: PLC0415

    end(import_journal, **given)
