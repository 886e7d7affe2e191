"""Shell completion, in real shells where they are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from tcptutor.base import places
from tcptutor.commands.command_line import main
from tcptutor.commands.completion import SHELLS
from tcptutor.sweep.results import QUANTITIES
from tests.cli.command import TCPTUTOR
from tests.command import here as tcptutor


def _completed(words: str) -> list[str]:
    *before, begun = words.split(" ")[1:]
    completion = ShellComplete(main, {}, "tcptutor", "_TCPTUTOR_COMPLETE")
    return [item.value for item in completion.get_completions(before, begun)]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        ("tcptutor swe", ["sweep"]),
        ("tcptutor run rando", ["random-loss"]),
        ("tcptutor run parallel-streams/random", ["parallel-streams/random-loss"]),
        ("tcptutor run random-loss --set los", ["loss=", "loss_burst="]),
        ("tcptutor run random-loss --back", ["--backend"]),
        ("tcptutor run random-loss --backend gu", ["guest"]),
        ("tcptutor sweep parallel-streams/the-wh", ["parallel-streams/the-whole-curve"]),
        ("tcptutor sweep random-loss --y que", ["queueing", "queueing_p95"]),
        ("tcptutor plot x.tcpsweep --y util", ["utilization"]),
        ("tcptutor show la", ["last"]),
        ("tcptutor certificate pac", ["pacing"]),
        ("tcptutor model padh", ["padhye"]),
        ("tcptutor model mathis rt", ["rtt="]),
        ("tcptutor capture s1", ["s1-eth1", "s1-eth2"]),
        ("tcptutor sweep random-loss --grid lo", ["loss="]),
        ("tcptutor grade --module pac", ["pacing"]),
        ("tcptutor lint --run pacing/fiv", ["pacing/five-paced-streams"]),
        ("tcptutor run no-such-thing", []),
    ],
)
def test_names_are_completed(words: str, some: list[str]) -> None:
    assert set(some) <= set(found := _completed(words))
    assert some or not found


def _parameters(command: click.Command, context: click.Context) -> Iterator[click.Parameter]:
    """Parameters of a command and of all commands below it."""
    yield from command.params
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _parameters(below, click.Context(below, context, name))


def test_every_file_name_is_completed() -> None:
    context = click.Context(main, info_name="tcptutor")
    named = [
        each
        for each in _parameters(main, context)
        if re.search("FILE|FOLDER|PATH", each.make_metavar(context))
    ]
    assert len(named) > 40
    for each in named:
        kinds = {item.type for item in each.shell_complete(context, "./")}
        assert kinds & {"file", "dir"}, (each.name, each.make_metavar(context))


@pytest.mark.parametrize("command", ["sweep", "plot"])
def test_help_lists_every_quantity_of_a_sweep(command: str) -> None:
    shown = re.sub(r"\s+", " ", tcptutor(command, "--help").stdout)
    described = shown[shown.index("--y QUANTITY") :]
    assert set(QUANTITIES) <= set(re.findall(r"\w+", described))


def test_pages_are_those_of_the_course_that_is_named(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    tcptutor("new-course", mine)
    pages = _completed(f"tcptutor preview {mine} ")
    assert pages
    assert not set(pages) & set(_completed("tcptutor lint --run "))


def test_a_damaged_course_completes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "course.toml").write_text("[[[")
    monkeypatch.setattr(places, "lessons", lambda: tmp_path)
    assert _completed("tcptutor certificate pac") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_of_its_shell(shell: str, tmp_path: Path) -> None:
    done = tcptutor("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / "script"
    file.write_text(done.stdout)
    if program := shutil.which(shell):
        subprocess.run([program, "-n", file], check=True)


@pytest.mark.host
def test_bash_completes_at_the_prompt() -> None:
    """Bash calls the function as it does for Tab."""
    steps = f"""
        PATH={Path(TCPTUTOR).parent}:$PATH
        eval "$(tcptutor completion bash)"
        COMP_WORDS=(tcptutor certificate pac) COMP_CWORD=2
        _tcptutor_completion tcptutor pac certificate
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", steps], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pacing"]


def test_an_unknown_shell_is_refused() -> None:
    done = tcptutor("completion", "csh")
    assert done.returncode == 2
    assert "bash" in done.stderr
