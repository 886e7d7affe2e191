"""A remedy is what somebody in trouble types: each names what is there, and none what another could take."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from tcptutor import course, extras
from tcptutor.backends import tools
from tcptutor.commands.group import main
from tcptutor.errors import TutorError
from tcptutor.install import limits, packages
from tcptutor.install.check_host import check_kernel
from tcptutor.install.system import recognise
from tcptutor.run import Environment
from tests.install import remedies
from tests.install.command import ROOT, needs_user_namespaces
from tests.install.remedies import FILLED, Told

COMMANDS = remedies.commands()
DEBIAN = sorted({*tools.PACKAGES.values(), *packages._REASONS, *remedies.debian_packages()})

needs_apt_index = pytest.mark.skipif(
    not any(Path("/var/lib/apt/lists").glob("*_Packages*")), reason="apt has no index here"
)


def problem(words: str) -> str:
    """Why the command line would refuse the words after `tcptutor`; empty when it would not.

    What is left out, or stands for something, is not missed.
    """
    name, *rest = shlex.split(re.sub(r"\bN\b", "1", words.replace("[", "").replace("]", "")))
    if name == "--help":
        return ""
    command = main.get_command(click.Context(main), name)
    if command is None:
        return "no such command"
    try:
        context = command.make_context(name, [word for word in rest if word != "..."])
    except click.MissingParameter:
        return ""
    except click.BadOptionUsage as error:
        # An option that is named without its value.
        return "" if "requires an argument" in str(error) and rest[-1] == error.option_name else str(error)
    except click.UsageError as error:
        return str(error)
    asked = context.params.get("experiment")
    if not asked or re.search(rf"{FILLED}|MODULE|EXPERIMENT", words):
        return ""
    try:
        course.experiment(asked, context.params.get("settings") or {})
    except TutorError as error:
        return str(error)
    return ""


def test_there_are_commands_to_prove() -> None:
    assert len(COMMANDS) > 60
    assert {told.text.split()[0] for told in COMMANDS} >= {
        "setup",
        "doctor",
        "run",
        "shell",
        "check",
        "sweep",
    }
    assert len({told.where.partition(":")[0] for told in COMMANDS}) > 30


@pytest.mark.parametrize("told", COMMANDS, ids=lambda told: f"{told.where} {told.text[:40]}")
def test_a_command_that_is_named_is_understood(told: Told) -> None:
    assert problem(told.text) == ""


@pytest.mark.parametrize(
    "words",
    ["setup --agian", "fetch", "run no-such", "run random-loss --set los=1", "plot x --too y", "list --set"],
)
def test_a_command_that_would_be_refused_is_seen(words: str) -> None:
    assert problem(words) != ""


def test_nothing_is_installed_from_where_another_could_have_put_it() -> None:
    """This project is in no package registry. Only `extras` and the start script say pip install."""
    for told in remedies.texts():
        for words in re.findall(r"(?:pip|pipx|uv)3? (?:install|add|run)[^\n`\"]*", told.text):
            assert "--editable" in words, (told.where, words)
        assert not re.search(r"tcptutor\[", told.text), told.where
        assert not re.search(r"\b(install|update|upgrade) tcptutor again", told.text), told.where


def test_extras_are_asked_for_as_the_project_does() -> None:
    project = tomllib.loads((remedies.ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["plot"] == [extras.MATPLOTLIB]
    assert project["optional-dependencies"]["cluster"] == [extras.DISTRIBUTED]


@pytest.mark.host
@pytest.mark.parametrize("requirement", [extras.MATPLOTLIB, extras.DISTRIBUTED])
def test_what_installs_an_extra_runs(requirement: str) -> None:
    """Both are here for the tests, so nothing is fetched."""
    words = shlex.split(extras.install_command(requirement))
    done = subprocess.run([*words, "--dry-run", "--no-index"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Requirement already satisfied: {requirement.partition('>')[0]}" in done.stdout


@pytest.mark.host
@pytest.mark.parametrize("name", ["scheduler", "worker"])
def test_dask_has_the_commands_that_start_a_cluster(name: str) -> None:
    dask = Path(sys.executable).with_name("dask")
    done = subprocess.run([dask, name, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("SCHEDULER" in done.stdout) == (name == "worker")


def test_debian_packages_are_found_in_texts() -> None:
    assert {"python3-venv", "tmux", "tshark"} <= remedies.debian_packages()


@needs_apt_index
@pytest.mark.parametrize("package", DEBIAN)
def test_a_debian_package_exists(package: str) -> None:
    assert packages.known(package)


@needs_apt_index
def test_a_debian_package_that_does_not_exist_is_seen() -> None:
    assert not packages.known("tcptutor-no-such-package")


@needs_apt_index
@pytest.mark.host
def test_apt_takes_the_line_that_installs_all_of_them() -> None:
    line = packages.install_command(DEBIAN).replace("apt-get update; ", "")
    done = subprocess.run([*shlex.split(line), "--simulate"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.host
@pytest.mark.parametrize("program", tools.PACKAGES)
def test_a_program_is_of_the_package_that_is_named_for_it(program: str) -> None:
    found = shutil.which(program, path=tools.PATH)
    if found is None or shutil.which("dpkg-query") is None:
        pytest.skip(f"there is no {program}, or no dpkg, here")
    named = {Path(found), Path(found).resolve(), Path("/usr") / Path(found).relative_to("/")}
    # Where /bin is a link, the package may have it there.
    named |= {Path("/", *path.parts[2:]) for path in named if path.is_relative_to("/usr")}
    owners = subprocess.run(
        ["dpkg-query", "--search", *map(str, named)], capture_output=True, text=True, check=False
    ).stdout
    assert tools.PACKAGES[program] in {line.partition(":")[0] for line in owners.splitlines()}


@needs_user_namespaces
@pytest.mark.host
@pytest.mark.parametrize("file", [file for file, *_ in limits._SYSCTLS])
def test_a_sysctl_takes_away_the_limit_that_it_is_told_for(file: str) -> None:
    """In a namespace of its own, for its root may write what is of namespaces."""
    if not file.startswith("proc/sys/user/"):
        pytest.skip(f"only the machine's own root may write {file}")
    (limit,) = [
        each for each in limits.recognise({file: "0", **_NAMESPACES}) if file.rpartition("/")[2] in each.text
    ]
    command, comma, _ = limit.remedy.partition(", then")
    assert comma
    words = shlex.split(command)
    assert words[0] == "sudo"
    forbid = f"echo 0 >/{file}"
    done = subprocess.run(
        [*ROOT, "sh", "-c", f'{forbid}; cat /{file}; "$@" && cat /{file}', "-", *words[1:]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, *_, after = done.stdout.split()
    assert before == "0"
    assert not limits.recognise({file: after, **_NAMESPACES})


_NAMESPACES = {"proc/self/ns/user": "user:[1]", "proc/self/ns/net": "net:[1]"}


@pytest.mark.parametrize(("there", "told"), [(True, True), (False, False)])
def test_a_kernels_package_is_named_where_apt_has_it(
    there: bool, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container has another system's kernel, and no distribution has the modules of one that was built by hand."""
    ubuntu = recognise({"ID": "ubuntu", "ID_LIKE": "debian"}, "6.8.0-45-generic", "x86_64")
    asked = []

    def known(package: str) -> bool:
        asked.append(package)
        return there

    monkeypatch.setattr(packages, "known", known)
    has = {"qdiscs": ("netem", "tbf"), "algorithms": ("reno", "cubic")}
    here = Environment(backend="host", clock="real", kernel="6.8", **has)
    finding, usable = check_kernel(ubuntu, here, "")
    assert usable
    assert asked == ["linux-modules-extra-6.8.0-45-generic"]
    assert ("apt-get install linux-modules-extra-6.8.0-45-generic" in finding.remedy) == told
