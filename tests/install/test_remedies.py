"""What a message or a document tells a user to type is there: packages, extras, commands and their options."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from packaging.requirements import Requirement

from tcptutor.backends import programs
from tcptutor.base import places
from tcptutor.commands.command_line import main
from tcptutor.course import experiments
from tcptutor.fleet import cluster
from tcptutor.install import packages
from tests.each import each

ROOT = Path(__file__).parents[2]
START = ROOT / "tcptutor" / "start"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = sorted(
    path
    for folder in ("tcptutor", "lessons", "assets/documentation", "README.md")
    for path in ((ROOT / folder).rglob("*") if (ROOT / folder).is_dir() else [ROOT / folder])
    if path.suffix in (".py", ".md", ".toml") or path == START
)
"""All that may tell somebody what to type."""
BY_NAME = {"adduser", "chromium", "nginx-light", "python3-venv", "tmux", "tshark"}
"""Debian packages that are named where no table has them."""
QUOTED = re.compile(r"`tcptutor((?: [^`\n]*)?)`")
INDENTED = re.compile(r"^    tcptutor((?: .*)?)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"\{|\.\.\.|…|\b[A-Z]+\b|\[")
OPTION = re.compile(r"(?<![\w`-])(?<!var\()--[a-z][a-z-]+(?!: #|[a-z-])")
"""Not the colours of a stylesheet, `--ink: #1c2430` and `var(--ink)`."""
OF_OTHERS = {
    "--privileged",  # docker, podman
    *("--set-version", "--list", "--update", "--shutdown"),  # wsl
    *("--json-stream", "--get-server-output", "--fq-rate"),  # iperf3
    "--socket-stats",  # flent
    *("--timestamps", "--prefix"),  # kubectl
    *("--add-subuids", "--add-subgids"),  # usermod
}
OF_FILES = {"--course", "--students", "--roster", "--exceptions", "--versions", "--key"}
"""Options that take files, which a reader of the guide has and this folder lacks."""


def _written() -> Iterator[tuple[str, str]]:
    """Every command line of ours that is written somewhere, without `tcptutor`, and the file."""
    for path in TEXTS:
        text = path.read_text()
        for found in (*QUOTED.finditer(text), *(INDENTED.finditer(text) if path.suffix == ".md" else ())):
            # What follows a pipe is another program's.
            yield re.split(r"  +|\t| \| ", found[1].strip())[0], str(path.relative_to(ROOT))


WRITTEN = sorted(dict(_written()).items())


def _options(command: click.Command) -> set[str]:
    """Those of a command, and of the commands in it."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    own = (option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts))
    return {"--help", "-h", *own}.union(*map(_options, inner))


@each(("line", "file"), WRITTEN, ids=[line or "tcptutor" for line, _ in WRITTEN])
def test_a_command_that_is_named_is_there(line: str, file: str) -> None:
    words = shlex.split(line)
    command: click.Command = main
    if words and not words[0].startswith(("-", "[")):
        name = words.pop(0).partition("{")[0]  # an option of the course in use may follow
        assert name in main.commands, f"{file}: no command {name}"
        command = main.commands[name]
    for word in words:
        if word.startswith("-"):
            assert word.partition("=")[0] in _options(command), f"{file}: no option {word} of {command.name}"
    if PLACEHOLDER.search(line) or not words or command is main:
        return
    if words[-1].startswith("-"):  # the option is what is meant
        return
    for option in OF_FILES.intersection(words):
        at = words.index(option)
        del words[at : at + 2]
    # Parsed as typed: unknown options, missing and left-over words are refused.
    given = command.make_context(str(command.name), words).params
    for name in (given.get("experiment"), given.get("name") if command.name == "run" else None):
        if name is not None:
            experiments.build(name, given.get("settings") or {})


def test_the_readme_and_the_messages_are_among_them() -> None:
    """So that nobody asks an empty list."""
    files = {file for _, file in _written()}
    assert {"README.md", "tcptutor/exchange/__init__.py", "tcptutor/install/setup.py"} <= files
    assert len(WRITTEN) > 30


def _sentences() -> Iterator[tuple[str, Path]]:
    """Texts of the code that are no names: what is said, and docstrings."""
    for path in TEXTS:
        if path.suffix == ".py" and "agent" not in path.relative_to(ROOT).parts[:2]:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                    yield node.value, path


def test_an_option_that_is_named_is_there() -> None:
    ours = _options(main)
    unknown = {
        (option, str(path.relative_to(ROOT)))
        for text, path in _sentences()
        if "tcptutor/backends/guest" not in str(path)
        for option in OPTION.findall(text)
        if option not in ours | OF_OTHERS
    }
    assert unknown == set()


def _debian() -> set[str]:
    named = re.findall(r"""packages "[^"]*" ([a-z0-9 .+-]+)""", START.read_text())
    return {*programs.PACKAGES.values(), *packages._REASONS, *BY_NAME, *" ".join(named).split()}


def test_debian_has_the_packages() -> None:
    wanted = sorted(_debian())
    assert {"iperf3", "mininet", "tmux", "python3-venv"} <= set(wanted)
    if shutil.which("apt-cache") is None:
        pytest.skip("no apt here: nobody to ask whether Debian has the packages")
    if not subprocess.run(["apt-cache", "show", "util-linux"], capture_output=True, check=False).stdout:
        pytest.skip("apt has no index here: `apt-get update` gets one")
    lacking = [
        name
        for name in wanted
        if f"Package: {name}\n"
        not in subprocess.run(["apt-cache", "show", name], capture_output=True, text=True, check=False).stdout
    ]
    assert lacking == []


def test_every_package_that_is_asked_for_has_a_reason() -> None:
    assert set(programs.PACKAGES.values()) <= set(packages._REASONS)


EXTRAS = {"plot": (places.MATPLOTLIB,), "cluster": (cluster.DISTRIBUTED,), "serve": places.SERVE}


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("folder", [Path(sys.executable).parents[1], Path("/")], ids=["beside", "elsewhere"])
def test_what_an_extra_needs_can_be_installed_as_it_is_said(
    extra: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command itself, in the folder where it was said; what it asks for is here, so that nothing is fetched."""
    assert PROJECT["optional-dependencies"][extra] == [*EXTRAS[extra]]
    monkeypatch.chdir(folder)
    words = shlex.split(places.pip_install(*EXTRAS[extra]))
    assert words[1:4] == ["-m", "pip", "install"]
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    done = subprocess.run([*words, "--dry-run"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for requirement in EXTRAS[extra]:
        assert f"already satisfied: {Requirement(requirement).name}" in done.stdout


def test_dask_s_own_commands_are_there() -> None:
    """A message tells to start `dask scheduler` and `dask worker`."""
    assert {"scheduler", "worker"} <= {
        entry.name for entry in importlib.metadata.entry_points(group="dask_cli")
    }
    assert "dask" in {entry.name for entry in importlib.metadata.entry_points(group="console_scripts")}


def test_nobody_is_sent_to_a_package_index_for_our_name() -> None:
    """It is not ours there: whoever takes it would run as the user."""
    asked = re.compile(r"pip3? install[^\n`]*")
    for path in TEXTS:
        text = path.read_text()
        assert not re.search(r"tcptutor\[\w", text), path
        for found in asked.finditer(text):
            assert "tcptutor" not in found[0], f"{path}: {found[0]}"
