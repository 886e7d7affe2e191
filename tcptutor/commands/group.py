"""The command line: what each command takes. What it does is in the file of its name, imported when it is called."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from tcptutor import __version__
from tcptutor.commands.exits import CommandGroup, end
from tcptutor.commands.options import (
    BACKEND,
    CLOCK,
    FLOWS,
    GROUP,
    JSON,
    REPLACE,
    SCALE,
    SEED,
    X,
    Y,
    set_option,
)


@click.group(
    cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="tcptutor")
@click.option("--module", metavar="ID", help="Open this module, such as parallel-streams, where you left it.")
@BACKEND
@CLOCK
@click.pass_context
def main(ctx: click.Context, module: str | None, backend: str, clock: str) -> None:
    """Learn how TCP gets its throughput: live experiments on a real Linux network, next to the models' predictions.

    Without a command it opens the app.
    """
    if sys.stdout.isatty():
        # Some shells export them, and they would be believed before the terminal itself, also after a resize.
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
    if ctx.invoked_subcommand is not None:
        return
    from tcptutor.commands.app import open_app  # noqa: PLC0415

    end(open_app, module, backend, clock)


@main.command()
@click.argument("experiment", metavar="MODULE/EXPERIMENT")
@set_option("settings", "Change a parameter, such as streams=4 or loss=0.1%. May be given several times.")
@SEED
@SCALE
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    help="Run this many seeds and print the means with their confidence intervals.",
)
@BACKEND
@CLOCK
@JSON
@FLOWS
def run(repeat: int | None, **given: Any) -> None:
    """Run an experiment without the app and print what came out, beside the models' predictions."""
    if repeat is not None:
        given.pop("all_flows")
        from tcptutor.commands.repeat import repeat_experiment  # noqa: PLC0415

        end(repeat_experiment, repeat=repeat, **given)
    from tcptutor.commands.run import run_experiment  # noqa: PLC0415

    end(run_experiment, **given)


@main.command()
@click.argument("words", metavar="[MODULE/PAGE] [HOST]", nargs=-1)
@click.option(
    "--experiment",
    metavar="MODULE/EXPERIMENT",
    help="Set the lab up as this one has it. Default: a network without delay, loss or rate.",
)
@set_option("settings", "Set the lab up so, such as rate=100Mbit/s, delay=20ms or pairs=2.")
@SCALE
@BACKEND
def shell(**given: Any) -> None:
    """A shell on a lab host (h1, h2, ... s1, s2), in real time: the commands of the lab manuals work as printed.

    What you send with iperf3 or anything else is kept as a run and explained when the shell ends. MODULE/PAGE opens the
    network of a page with goals; `tcptutor check` in another terminal tells how they stand.
    """
    from tcptutor.commands.shell import open_shell  # noqa: PLC0415

    end(open_shell, **given)


@main.command()
@click.argument("name", metavar="[MODULE/PAGE]", required=False)
@JSON
def check(**given: Any) -> None:
    """Tell how the goals of a page stand, by default of the page whose network is open. Exit code 1 while one is left.

    The network is open in the app, or in `tcptutor shell MODULE/PAGE`. Of a page with a challenge, it tells what your
    runs reached.
    """
    from tcptutor.commands.check import check_goals  # noqa: PLC0415

    end(check_goals, **given)


@main.command()
@click.argument("experiment", metavar="MODULE/EXPERIMENT")
@click.option(
    "--grid",
    multiple=True,
    required=True,
    metavar="NAME=VALUES",
    help="An axis: loss=0.01%,0.1%,1% or rtt=10ms..100ms/10 (equal steps) or loss=0.01%..1%/x5 (equal ratios) or"
    " seed=1..10/10. Several make the product.",
)
@set_option("settings", "Change a parameter in all cells.")
@SEED
@SCALE
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The result file, MODULE-EXPERIMENT.tcpsweep if not given. What is done in it is not run again.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), help="Guests at a time, as many as cores if not given."
)
@click.option(
    "--cluster", metavar="ADDRESS", help="Run on the workers of this Dask scheduler, tcp://HOST:8786."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw into this .svg, .pdf or .png."
)
@REPLACE
@X
@Y
@GROUP
@click.option(
    "--dry-run", is_flag=True, help="Check the grid, tell its cells and the time they take, and end."
)
@BACKEND
@CLOCK
@JSON
def sweep(**given: Any) -> None:
    """Run an experiment over a grid of settings, into one file; the same command again goes on where it stopped."""
    from tcptutor.commands.sweep import SweepRequest, run_sweep  # noqa: PLC0415

    end(run_sweep, SweepRequest(**given))


@main.command("list")
@click.argument("name", metavar="[NAME]", required=False)
@JSON
def list_(**given: Any) -> None:
    """List what can be run, or tell all about one name: a module, an experiment, a parameter, a term such as `RTT`."""
    from tcptutor.commands.list import list_course  # noqa: PLC0415

    end(list_course, **given)


@main.group("lab", cls=CommandGroup)
def lab() -> None:
    """The lab of this machine: what it is made of, and a file to carry it to others."""


@lab.command("show")
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--all", "everything", is_flag=True, help="Tell Debian's packages in it as well.")
@JSON
def lab_show(**given: Any) -> None:
    """Tell what the lab is made of; with a RUN, what the lab was that made it, and in what it differs."""
    from tcptutor.commands.lab import show_lab  # noqa: PLC0415

    end(show_lab, **given)


@lab.command("pack")
@click.argument("target", metavar="FILE")
@REPLACE
def lab_pack(**given: Any) -> None:
    """Write the guest of this machine into FILE, for `tcptutor setup --from FILE` on machines without a network."""
    from tcptutor.commands.lab import pack_lab  # noqa: PLC0415

    end(pack_lab, **given)


@main.command()
@click.option("--yes", "assume_yes", is_flag=True, help="Do not ask.")
@click.option("--again", is_flag=True, help="Build the guest again even if it is there.")
@click.option(
    "--from", "source", metavar="FILE", help="Take the guest from a lab that `tcptutor lab pack` wrote."
)
@click.option(
    "--lab", "like", metavar="RUN", help="Build the lab of a run again, or the one of a fingerprint."
)
def setup(**given: Any) -> None:
    """Install what is missing and build the guest; can be run again at any time."""
    from tcptutor.commands.setup import set_up  # noqa: PLC0415

    end(set_up, **given)


@main.command()
@click.argument("name", metavar="[NAME]", required=False)
@click.argument("words", metavar="[KEY=VALUE]...", nargs=-1)
@JSON
def model(**given: Any) -> None:
    """Compute a model, such as `mathis mss=1448 rtt=20ms loss=0.1%`, with units in and out.

    Without a name it lists the models, without values it explains one. `trajectory` gives a window over time.
    """
    from tcptutor.commands.model import run_model  # noqa: PLC0415

    end(run_model, **given)


@main.command()
@JSON
def doctor(as_json: bool) -> None:
    """Tell what works on this machine and what does not, each with its remedy."""
    from tcptutor.commands.doctor import report_machine  # noqa: PLC0415

    end(report_machine, as_json)


@main.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--run",
    "target",
    is_flag=False,
    flag_value="",
    metavar="[MODULE[/PAGE]]",
    help="Also run what the claims of these pages need, by default of all, on the virtual clock, and say which hold."
    " What was run is kept and not run again.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 20),
    default=1,
    metavar="N",
    help="With --run: each claim with N seeds, where it asks for fewer, to see what one lucky draw hides.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), help="Guests at a time, as many as cores if not given."
)
@JSON
def lint(**given: Any) -> None:
    """Check the course's files: names, values, answers, feedback, and what its pages claim of runs."""
    from tcptutor.commands.lint import lint_course  # noqa: PLC0415

    end(lint_course, **given)


@main.command()
@click.argument("name", metavar="[EXPERIMENT]", required=False)
@click.option("--experiment", metavar="NAME", help="The same, as an option.")
@click.option("--module", metavar="ID", help="Of this module only: of its experiments, and on its pages.")
@click.option("--page", metavar="PAGE", help="On this page only, by its number or id.")
@click.option(
    "-n",
    "most",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="So many, the newest; 0 for all.",
)
@JSON
def runs(name: str | None, experiment: str | None, **given: Any) -> None:
    """List the runs that are kept, of all experiments or one, newest first.

    show, plot and export take the id of a line, or `last`.
    """
    if name is not None and experiment not in (None, name):
        raise click.UsageError(f"{name!r} and {experiment!r}: name one experiment")
    from tcptutor.commands.runs import list_runs  # noqa: PLC0415

    end(list_runs, name or experiment, **given)


@main.command()
@click.argument("name", metavar="FILE|ID")
@click.option("--text", "as_text", is_flag=True, help="Print it, as it is done in a pipe.")
@FLOWS
@JSON
def show(**given: Any) -> None:
    """Open a stored run, in a pipe print it: its file, its id as `tcptutor runs` has it, or `last`."""
    from tcptutor.commands.show import show_run  # noqa: PLC0415

    end(show_run, **given)


@main.command()
@click.argument("names", metavar="FILE|ID...", nargs=-1, required=True)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "json", "pcapng"]),
    default="csv",
    show_default=True,
    help="csv: a row an instant and flow; json: results and columns; pcapng: the packets of a run with capture=on.",
)
@click.option("--pcap", is_flag=True, help="The same as --format pcapng: for Wireshark and tshark.")
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="A file, a folder for several runs, or - for standard output. Default: beside each run file.",
)
@REPLACE
@JSON
def export(pcap: bool, kind: str, **given: Any) -> None:
    """Write stored runs as CSV or JSON, or the packets that they kept.

    The queue and single ACKs go to CSV files of their own, and so do the packets of each of several interfaces.
    """
    from tcptutor.commands.export import export_runs  # noqa: PLC0415

    end(export_runs, kind="pcapng" if pcap else kind, **given)


@main.command()
@click.argument("names", metavar="FILE|ID...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="What to write; it ends in .svg, .pdf or .png.",
)
@REPLACE
@click.option(
    "--what",
    metavar="NAMES",
    default="",
    help="Of runs: cwnd, rtt, throughput, retransmissions, bytes, queue, parted by commas. Default: all.",
)
@click.option(
    "--kind",
    type=click.Choice(["course", "sequence"]),
    default="course",
    show_default=True,
    help="course: quantities over time; sequence: one flow's bytes, of a run with acks=on or capture=on.",
)
@click.option("--flow", type=click.IntRange(min=1), help="Whose sequence graph. Default: that of flow 1.")
@click.option("--span", metavar="TIMES", help="The part of the time of a sequence graph, such as 0.4s..0.7s.")
@X
@Y
@GROUP
@JSON
def plot(**given: Any) -> None:
    """Plot a stored run, several over each other to compare them, or the file of a sweep (--x, --y and --group)."""
    from tcptutor.commands.plot import plot_files  # noqa: PLC0415

    end(plot_files, **given)


@main.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The run file to write. Default: among your runs.",
)
@REPLACE
@set_option(
    "path",
    "What the file does not tell of its path, such as rate=1Gbit/s or delay=20ms, so that models can be asked.",
)
@JSON
def import_(**given: Any) -> None:
    """Make a run file of an iperf3 -J (or --json-stream) output or a flent data file, and print its path."""
    from tcptutor.commands.import_ import import_file  # noqa: PLC0415

    end(import_file, **given)
