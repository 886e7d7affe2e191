"""Remedies that are typed as they are told: what they do on this machine, or would do as root."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tcptutor.backends import programs
from tcptutor.install import check_host, packages
from tcptutor.install.check_host import check_kernel
from tcptutor.install.packages import recognize_system
from tcptutor.run import Environment
from tests.install.command import ROOT, needs_user_namespaces
from tests.install.test_remedies import TEXTS

OF_NAMESPACES = [file for file, *_ in check_host._SYSCTLS if file.startswith("proc/sys/user/")]
"""The others can be written by the machine's own root alone."""
NAMESPACES = {"proc/self/ns/user": "user:[1]", "proc/self/ns/net": "net:[1]"}
APT_INDEX = any(Path("/var/lib/apt/lists").glob("*_Packages*"))


@pytest.mark.host
@pytest.mark.skipif(not APT_INDEX, reason="apt has no index here: `apt-get update` gets one")
def test_apt_takes_the_line_that_installs_all_packages() -> None:
    line = packages.install_command(sorted(packages._REASONS)).removeprefix("apt-get update; ")
    done = subprocess.run([*shlex.split(line), "--simulate"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.host
@pytest.mark.parametrize("program", programs.PACKAGES)
def test_a_program_is_of_the_package_that_is_named_for_it(program: str) -> None:
    found = shutil.which(program, path=programs.PATH)
    if found is None or shutil.which("dpkg-query") is None:
        pytest.skip(f"there is no {program}, or no dpkg, here")
    named = {Path(found), Path(found).resolve()}
    # Where /bin is a link to /usr/bin, the package may have the program in either.
    named |= {Path("/", *path.parts[2:]) for path in named if path.is_relative_to("/usr")}
    named |= {Path("/usr", *path.parts[1:]) for path in named if not path.is_relative_to("/usr")}
    owners = subprocess.run(
        ["dpkg-query", "--search", *map(str, named)], capture_output=True, text=True, check=False
    ).stdout
    assert programs.PACKAGES[program] in {line.partition(":")[0] for line in owners.splitlines()}


@needs_user_namespaces
@pytest.mark.host
@pytest.mark.parametrize("file", OF_NAMESPACES)
def test_a_sysctl_takes_away_the_limit_that_it_is_told_for(file: str) -> None:
    """In a namespace of its own, whose root may write what is of namespaces."""
    (limit,) = check_host.recognize({file: "0", **NAMESPACES})
    command, comma, _ = limit.remedy.partition(", then")
    assert comma
    words = shlex.split(command)
    assert words[0] == "sudo"
    done = subprocess.run(
        [*ROOT, "sh", "-c", f'echo 0 >/{file}; cat /{file}; "$@" && cat /{file}', "-", *words[1:]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    before, *_, after = done.stdout.split()
    assert before == "0"
    assert not check_host.recognize({file: after, **NAMESPACES})


@pytest.mark.host
@pytest.mark.parametrize("name", ["scheduler", "worker"])
def test_dask_starts_a_cluster_as_it_is_told(name: str) -> None:
    """A worker wants to know its scheduler."""
    dask = Path(sys.executable).with_name("dask")
    done = subprocess.run([dask, name, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("SCHEDULER" in done.stdout) == (name == "worker")


@pytest.mark.parametrize("there", [True, False])
def test_a_kernels_package_is_named_where_apt_has_it(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container has another system's kernel, and nobody has the modules of one that was built by hand."""
    ubuntu = recognize_system({"ID": "ubuntu", "ID_LIKE": "debian"}, "6.8.0-45-generic", "x86_64")
    asked = []

    def known(package: str) -> bool:
        asked.append(package)
        return there

    monkeypatch.setattr(packages, "known", known)
    has = {"qdiscs": ("netem", "tbf"), "algorithms": ("reno", "cubic")}
    finding, usable = check_kernel(ubuntu, Environment(backend="host", clock="real", kernel="6.8", **has), "")
    assert usable
    assert asked == ["linux-modules-extra-6.8.0-45-generic"]
    assert ("apt-get install linux-modules-extra-6.8.0-45-generic" in finding.remedy) == there


@pytest.mark.skipif(not APT_INDEX, reason="apt has no index here: `apt-get update` gets one")
def test_apt_is_asked_what_it_has() -> None:
    assert packages.known("util-linux")
    assert not packages.known("tcptutor-no-such-package")


def test_nobody_is_told_to_install_this_by_its_name_alone() -> None:
    """They would ask a package index for it, where anybody can take the name: its repository is where it is from."""
    assert [path for path in TEXTS if re.search(r"\b(re)?install tcptutor\b", path.read_text())] == []
