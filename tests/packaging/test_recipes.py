"""The recipes of the container and of the course's machine: what they install, and what they refuse."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tcptutor.backends import programs, selection
from tests.packaging.conftest import ROOT

RECIPES = ROOT / "assets" / "integrations"
MACHINE = RECIPES / "vm"
BUILD = MACHINE / "build"
SCRIPTS = [
    path
    for path in [BUILD, *MACHINE.glob("root/**/*")]
    if path.is_file() and (path.suffix == ".sh" or path.read_text().startswith("#!/bin/sh"))
]


def _packages_of(names: tuple[str, ...]) -> set[str]:
    return {programs.PACKAGES[name] for name in names}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_shell_reads_every_script(script: Path) -> None:
    done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_machine_has_the_programs_and_modules_of_every_page() -> None:
    lines = [line.partition("#")[0] for line in (MACHINE / "packages").read_text().splitlines()]
    assert _packages_of(programs.HOST + programs.TYPED) <= set(" ".join(lines).split())
    loaded = set((MACHINE / "root/etc/modules-load.d/tcptutor.conf").read_text().split())
    assert {f"sch_{name}" for name in selection.COURSE_QDISCS} <= loaded
    # Every kernel has these two.
    assert {f"tcp_{name}" for name in selection.COURSE_ALGORITHMS} - {"tcp_reno", "tcp_cubic"} <= loaded


def test_the_container_has_the_programs_that_setup_would_install() -> None:
    text = (RECIPES / "container" / "Dockerfile").read_text()
    install = text[text.index("apt-get install") : text.index("rm -rf")]
    wanted = _packages_of(programs.HOST + programs.TYPED + programs.GUEST + programs.BUILDING)
    assert {*wanted, "debian-archive-keyring"} <= set(re.findall(r"[a-z0-9-]+", install))
    assert "qemu-system-$(" in install


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 2, "usage: sh build --key FILE"),
        (["--colour", "red", "WHEEL", "new.qcow2"], 2, "usage: sh build --key FILE"),
        (["--key", "key.pub", "none.whl", "new.qcow2"], 1, "build: no wheel none.whl: "),
        (["WHEEL", "new.qcow2"], 1, "build: nobody could log in: "),
        (["--key", "none.pub", "WHEEL", "new.qcow2"], 1, "build: no public key none.pub"),
        (["--key", "key.pub", "--accounts", "none", "WHEEL", "new.qcow2"], 1, "build: no list of accounts none"),
        (["--key", "key.pub", "WHEEL", "key.pub"], 1, "build: key.pub exists: "),
        (["--key", "key.pub", "--size", "2", "WHEEL", "new.qcow2"], 1, "build: 2 GB are too few: "),
        (["--key", "key.pub", "--size", "8G", "WHEEL", "new.qcow2"], 1, "build: --size takes whole GB: 8G "),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_one_line(words: list[str], code: int, told: str, tmp_path: Path) -> None:
    for name in ("key.pub", "WHEEL"):
        (tmp_path / name).touch()
    done = subprocess.run(
        ["sh", BUILD, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == code
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"key.pub", "WHEEL"}
