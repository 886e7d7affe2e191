"""Command-line declarations. Each command is implemented in the file of its name, imported when called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tcptutor import __version__
from tcptutor.commands.completion import (
    EVERYTHING_LISTED,
    EXPERIMENTS,
    EXPERIMENTS_AND_PAGES,
    INTERFACES,
    MODEL_INPUTS,
    MODELS,
    MODULES,
    PAGES,
    SETTINGS,
    SHELLS,
    complete_files,
    complete_runs,
)
from tcptutor.commands.config_group import config
from tcptutor.commands.ending import end
from tcptutor.commands.exits import CommandGroup
from tcptutor.commands.journal_group import journal
from tcptutor.commands.options import (
    BACKEND,
    CLOCK,
    COURSE,
    FLOWS,
    GROUP,
    JSON,
    LANGUAGE,
    PLOT,
    REPLACE,
    SCALE,
    SEED,
    SEEDS,
    X,
    Y,
    course_option,
    output_option,
    set_option,
)


@click.group(
    cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="tcptutor")
@click.option(
    "--module",
    metavar="ID",
    shell_complete=MODULES,
    help="Open this module, such as parallel-streams, where you left off.",
)
@click.option(
    "--plain/--no-plain",
    default=None,
    help="The whole course as lines of text, for screen readers and plain terminals. Default: with ACCESSIBLE=1,"
    " TERM=dumb, or a terminal without a size.",
)
@LANGUAGE
@course_option("TCPTUTOR_COURSE")
@BACKEND
@CLOCK
@click.pass_context
def main(ctx: click.Context, /, **given: Any) -> None:
    """Learn how TCP gets its throughput: live experiments on a real Linux network, next to the models' predictions.

    Without a command it opens the app.
    """
    if ctx.invoked_subcommand is not None:
        return
    from tcptutor.commands.app import open_app  # noqa: PLC0415

    end(open_app, **given)


@main.command()
@click.argument("experiment", metavar="MODULE/EXPERIMENT", shell_complete=EXPERIMENTS)
@set_option("settings", "Change a parameter, such as streams=4 or loss=0.1%. Can be repeated.")
@SEED
@SCALE
@SEEDS
@BACKEND
@CLOCK
@JSON
@FLOWS
@COURSE
def run(seeds: tuple[int | None, int] | None, **given: Any) -> None:
    """Run an experiment and print its results next to the models' predictions."""
    if seeds is not None:
        given.pop("all_flows")
        from tcptutor.commands.seeds import run_seeds  # noqa: PLC0415

        end(run_seeds, seeds=seeds, **given)
    from tcptutor.commands.run import run_experiment  # noqa: PLC0415

    end(run_experiment, **given)


@main.command()
@click.argument("words", metavar="[MODULE/PAGE] [HOST]", nargs=-1, shell_complete=PAGES)
@click.option(
    "--experiment",
    metavar="MODULE/EXPERIMENT",
    shell_complete=EXPERIMENTS,
    help="Set up the network of this experiment. Default: no delay, loss or rate limit.",
)
@set_option("settings", "Set a parameter of the network, such as rate=100Mbit/s, delay=20ms or pairs=2.")
@SCALE
@BACKEND
@CLOCK
@COURSE
def shell(**given: Any) -> None:
    """Open a shell on a lab host (h1, h2, ... s1, s2). The lab manuals' commands work as printed.

    Traffic from iperf3 or other programs is saved as runs and explained when the shell ends. MODULE/PAGE
    opens the network of a page with goals; `tcptutor check` in a second terminal shows your progress.
    """
    from tcptutor.commands.shell import open_shell  # noqa: PLC0415

    end(open_shell, **given)


@main.command()
@click.argument("interface", default="", shell_complete=INTERFACES)
@click.option(
    "--snap-length",
    type=click.IntRange(1, 65535),
    default=128,
    show_default=True,
    help="Bytes to keep of each packet; 128 hold all headers.",
)
def capture(**given: Any) -> None:
    r"""Write the packets of an open lab to the standard output, as they pass, in the format of pcap files.

    The lab is the one of a terminal in the app or of `tcptutor shell`. By default the packets are those that
    enter the bottleneck (s1-eth2, or s1-eth1 with several pairs of hosts).

    \b
    Examples:
      tcptutor capture | wireshark -k -i -
      tcptutor capture h1-eth0 | tshark -r -
      tcptutor capture h2-eth0 --snap-length 65535 > receiver.pcap
    """
    from tcptutor.commands.capture import capture_live  # noqa: PLC0415

    end(capture_live, **given)


@main.command()
@click.argument("name", metavar="[MODULE/PAGE]", required=False, shell_complete=PAGES)
@JSON
@COURSE
def check(**given: Any) -> None:
    """Show the goals of a page, by default of the page with an open network. Exit code 1 while a goal is open.

    The network is open in the app, or in `tcptutor shell MODULE/PAGE`. For a page with a challenge, show what
    your runs reached.
    """
    from tcptutor.commands.goals import check_goals  # noqa: PLC0415

    end(check_goals, **given)


@main.command()
@click.argument("experiment", metavar="MODULE/EXPERIMENT|MODULE/PAGE", shell_complete=EXPERIMENTS_AND_PAGES)
@click.option(
    "--grid",
    multiple=True,
    metavar="NAME=VALUES",
    shell_complete=SETTINGS,
    help="An axis: loss=0.01%,0.1%,1% or rtt=10ms..100ms/10 (equal steps) or loss=0.01%..1%/x5 (equal ratios) or"
    " seed=1..10/10. Several axes form a product.",
)
@set_option("settings", "Change a parameter in all cells.")
@SEED
@SCALE
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The result file. Default: MODULE-EXPERIMENT.tcpsweep. Finished cells in it are not repeated.",
)
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Parallel guests. Default: one per core.")
@click.option(
    "--cluster", metavar="ADDRESS", help="Run on the workers of this Dask scheduler, tcp://HOST:8786."
)
@PLOT
@REPLACE
@X
@Y
@GROUP
@click.option(
    "--dry-run", is_flag=True, help="Check the grid, print its cells and the expected time, and exit."
)
@BACKEND
@CLOCK
@JSON
@COURSE
def sweep(**given: Any) -> None:
    """Run an experiment over a grid of settings, into a single file. Repeat the command to continue a stopped sweep.

    A page with a sweep of its own needs no --grid.
    """
    from tcptutor.commands.sweep import SweepRequest, run_sweep  # noqa: PLC0415

    end(run_sweep, SweepRequest(**given))


@main.command("list")
@click.argument("name", metavar="[NAME]", required=False, shell_complete=EVERYTHING_LISTED)
@JSON
@COURSE
def list_(**given: Any) -> None:
    """List modules and experiments, or describe a module, page, experiment, parameter or a term such as `RTT`."""
    from tcptutor.commands.list import list_course  # noqa: PLC0415

    end(list_course, **given)


@main.group("lab", cls=CommandGroup)
def lab() -> None:
    """Show the lab of this machine, or pack it into a file for other machines."""


@lab.command("show")
@click.argument("name", metavar="[RUN]", required=False, shell_complete=complete_runs)
@click.option("--all", "everything", is_flag=True, help="Include Debian's packages.")
@JSON
def lab_show(**given: Any) -> None:
    """Show the parts of the lab; with a RUN, the parts of its lab and the differences."""
    from tcptutor.commands.machine import show_lab  # noqa: PLC0415

    end(show_lab, **given)


@lab.command("pack")
@click.argument("target", metavar="FILE", shell_complete=complete_files)
@REPLACE
def lab_pack(**given: Any) -> None:
    """Write the guest of this machine to FILE, for `tcptutor setup --from FILE` on machines without a network."""
    from tcptutor.commands.machine import pack_lab  # noqa: PLC0415

    end(pack_lab, **given)


@main.command()
@click.option("--yes", "assume_yes", is_flag=True, help="Skip confirmations.")
@click.option("--again", is_flag=True, help="Rebuild an existing guest.")
@click.option(
    "--from",
    "source",
    metavar="FILE",
    shell_complete=complete_files,
    help="Install the guest from a file of `tcptutor lab pack`.",
)
@click.option("--lab", "like", metavar="RUN", help="Rebuild the lab of a run, or of a fingerprint.")
def setup(**given: Any) -> None:
    """Install what is missing and build the guest. Can be repeated at any time."""
    from tcptutor.commands.machine import set_up  # noqa: PLC0415

    end(set_up, **given)


@main.command()
@click.argument("name", metavar="[NAME]", required=False, shell_complete=MODELS)
@click.argument("words", metavar="[KEY=VALUE]...", nargs=-1, shell_complete=MODEL_INPUTS)
@PLOT
@REPLACE
@JSON
def model(**given: Any) -> None:
    """Compute a model, such as `mathis mss=1448 rtt=20ms loss=0.1%`, with units.

    Without a name, list the models; without values, describe one. A range such as loss=0.01%..1% computes a
    curve. `trajectory` computes a window over time.
    """
    from tcptutor.commands.model import run_model  # noqa: PLC0415

    end(run_model, **given)


@main.command()
@JSON
def doctor(as_json: bool) -> None:
    """Check this machine and print a remedy for each problem."""
    from tcptutor.commands.machine import report_machine  # noqa: PLC0415

    end(report_machine, as_json)


@main.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--run",
    "target",
    is_flag=False,
    flag_value="",
    metavar="[MODULE[/PAGE]]",
    shell_complete=PAGES,
    help="Also check the claims of these pages, by default of all, with runs on the virtual clock."
    " Runs are cached and not repeated.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 20),
    default=1,
    metavar="N",
    help="With --run: use at least N seeds per claim, to find claims that hold by chance.",
)
@click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Parallel guests. Default: one per core.")
@click.option(
    "--statistics",
    is_flag=True,
    help="Also show for each module how often the longest choice is right, and where right choices appear.",
)
@JSON
def lint(**given: Any) -> None:
    """Check the course's files: names, values, answers, feedback, and claims about runs."""
    from tcptutor.commands.lint import lint_course  # noqa: PLC0415

    end(lint_course, **given)


@main.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script with which your shell completes commands, options and names."""
    from tcptutor.commands.completion import script  # noqa: PLC0415
    from tcptutor.commands.output import print_lines  # noqa: PLC0415

    print_lines([script(main, shell)])


main.add_command(journal)
main.add_command(config)


@main.command()
@output_option("notebook.html", "The file to write: HTML with pictures (.html), or Markdown (.md).")
@REPLACE
@JSON
@COURSE
def notebook(**given: Any) -> None:
    """Write your notebook: predictions, runs with charts, answers and notes, as one file."""
    from tcptutor.commands.notebook import export_notebook  # noqa: PLC0415

    end(export_notebook, **given)


@main.command()
@click.argument("module", metavar="MODULE", shell_complete=MODULES)
@output_option("certificate.html", "The HTML file to write.")
@click.option("--name", default="", help="Your name; an enrolled student's is known.")
@REPLACE
@JSON
@COURSE
def certificate(**given: Any) -> None:
    """Write the certificate of a finished module, with your predictions and the evidence."""
    from tcptutor.commands.notebook import write_certificate  # noqa: PLC0415

    end(write_certificate, **given)
