"""Command-line declarations of the commands for stored runs: list, show, draw, write and import them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tcptutor.commands.completion import (
    EXPERIMENTS,
    EXPERIMENTS_AND_PAGES,
    MODULES,
    PAGES,
    complete_files,
    complete_runs,
)
from tcptutor.commands.ending import end
from tcptutor.commands.exits import CommandGroup
from tcptutor.commands.group import main
from tcptutor.commands.options import FLOWS, GROUP, JSON, REPLACE, X, Y, output_option, set_option

_LIST = "list"


class _RunsGroup(CommandGroup):
    """A group that lists without the name of a command: `tcptutor runs random-loss`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [_LIST, *args]
        return super().parse_args(ctx, args)


@main.group("runs", cls=_RunsGroup)
def runs() -> None:
    """List the stored runs; name, delete, restore or compare them.

    Without a command, list: `tcptutor runs EXPERIMENT --filter 'random loss'`, with the options of `tcptutor runs
    list --help`. show, plot and export accept the id in a line, or `last`.
    """


@runs.command(_LIST)
@click.argument("name", metavar="[EXPERIMENT|PAGE]", required=False, shell_complete=EXPERIMENTS_AND_PAGES)
@click.option(
    "--experiment", metavar="NAME", shell_complete=EXPERIMENTS, help="The experiment, as an option."
)
@click.option(
    "--module",
    metavar="ID",
    shell_complete=MODULES,
    help="Only runs of this module's experiments, or on its pages.",
)
@click.option(
    "--page", metavar="PAGE", shell_complete=PAGES, help="Only runs on this page, such as 1.7 or MODULE/PAGE."
)
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


@main.command()
@click.argument("name", metavar="FILE|ID", shell_complete=complete_runs)
@click.option("--text", "as_text", is_flag=True, help="Print text, even on a terminal.")
@FLOWS
@JSON
def show(**given: Any) -> None:
    """Show a stored run, given as a file, an id from `tcptutor runs`, or `last`. Without a terminal, print it."""
    from tcptutor.commands.runs import show_run  # noqa: PLC0415

    end(show_run, **given)


@main.command()
@click.argument("names", metavar="FILE|ID...", nargs=-1, required=True, shell_complete=complete_runs)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "json", "pcapng"]),
    default="csv",
    show_default=True,
    help="csv: a row per instant and flow; json: results and columns; pcapng: packets of a run with capture=on.",
)
@click.option("--pcap", is_flag=True, help="The same as --format pcapng, for Wireshark and tshark.")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    shell_complete=complete_files,
    help="A file, a folder for several runs, or - for standard output. Default: next to each run file.",
)
@REPLACE
@JSON
def export(pcap: bool, kind: str, **given: Any) -> None:
    """Write stored runs as CSV or JSON, or their captured packets.

    The queue and single ACKs go to separate CSV files, and the packets of each interface to separate pcapng
    files.
    """
    from tcptutor.commands.convert import export_runs  # noqa: PLC0415

    end(export_runs, kind="pcapng" if pcap else kind, **given)


@main.command()
@click.argument("names", metavar="FILE|ID...", nargs=-1, required=True, shell_complete=complete_runs)
@output_option(None, "Write a picture to this .svg, .pdf or .png file instead.", "PATH")
@REPLACE
@click.option(
    "--what",
    metavar="NAMES",
    default="",
    help="Quantities of runs, separated by commas: cwnd, rtt, throughput, retransmissions, bytes, queue; or delays"
    " of a distribution: rtt, queueing, completion. Default: all.",
)
@click.option(
    "--kind",
    type=click.Choice(["course", "distribution", "sequence"]),
    default="course",
    show_default=True,
    help="course: quantities over time; distribution: share of the time, segments or transfers up to each delay;"
    " sequence: one flow's bytes, of a run with acks=on or capture=on.",
)
@click.option("--flow", type=click.IntRange(min=1), help="Flow of a sequence graph. Default: 1.")
@click.option("--span", metavar="TIMES", help="Time range of a sequence graph, such as 0.4s..0.7s.")
@X
@Y
@GROUP
@JSON
def plot(**given: Any) -> None:
    """Draw one or more stored runs on the same axes, or a sweep file (--x, --y and --group), in the terminal.

    With -o, write a picture for paper; that needs matplotlib.
    """
    from tcptutor.commands.plot import PlotRequest, plot_files  # noqa: PLC0415

    end(plot_files, PlotRequest(**given))


@main.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@output_option(None, "The run file to write. Default: among your runs.", "PATH")
@REPLACE
@set_option(
    "path",
    "A path parameter that the file lacks, such as rate=1Gbit/s or delay=20ms, for model predictions.",
)
@JSON
def import_(**given: Any) -> None:
    """Convert iperf3 -J (or --json-stream) output or a flent data file to a run file, and print its path."""
    from tcptutor.commands.convert import import_file  # noqa: PLC0415

    end(import_file, **given)
