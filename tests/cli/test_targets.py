"""What a command is asked to write destroys nothing: not what it reads, not a device, not what is there already."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tcptutor.commands.group import main
from tcptutor.run import load
from tests.cli.places import FOUR
from tests.exchange.places import FILES, ROOT

QUEUED = ROOT / "assets/recorded/parallel-streams/eight-flows-one-link.tcprun"

Command = Callable[[Path, Path], Sequence[str]]
"""The words that write `target` from what is in the folder."""

COMMANDS: dict[str, Command] = {
    "export csv": lambda here, target: ["export", f"{here}/a.tcprun", "-o", str(target)],
    "export json": lambda here, target: ["export", f"{here}/a.tcprun", "--format", "json", "-o", str(target)],
    "plot": lambda here, target: ["plot", f"{here}/a.tcprun", "-o", str(target)],
    "plot of two": lambda here, target: ["plot", f"{here}/b.tcprun", f"{here}/a.tcprun", "-o", str(target)],
    "import": lambda here, target: ["import", f"{here}/a.json", "-o", str(target)],
    "sweep --plot": lambda here, target: [
        *("sweep", "random-loss", "--grid", "loss=0.1%,1%", "--backend", "replay"),
        *("-o", f"{here}/new.tcpsweep", "--plot", str(target)),
    ],
}
READS = {"import": "a.json"}
"""What it reads, where it is not a.tcprun."""


@pytest.fixture
def here(tmp_path: Path, without_state: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("a.tcprun", "b.tcprun"):
        shutil.copy(FOUR, folder / name)
    shutil.copy(next(iter(sorted(FILES.glob("iperf3*.json")))), folder / "a.json")
    return folder


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def refused(words: Sequence[str], says: str) -> None:
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert done.stdout == ""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("way", ["itself", "symbolic link", "hard link", "another spelling"])
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "sweep --plot"])
@pytest.mark.parametrize("replace", [False, True])
def test_what_is_read_is_not_written(name: str, way: str, replace: bool, here: Path) -> None:
    source = here / READS.get(name, "a.tcprun")
    suffix = ".svg" if name.startswith("plot") else ""
    target = here / f"other{suffix}"
    if way == "itself" or way == "another spelling":
        if suffix:
            source = source.rename(source.with_suffix(".svg"))
        target = source if way == "itself" else here / ".." / here.name / source.name
    elif way == "symbolic link":
        target.symlink_to(source)
    else:
        target.hardlink_to(source)
    words = [word.replace(f"{here}/a.tcprun", str(source)) for word in COMMANDS[name](here, target)]
    before = contents(here)
    refused([*words, *(["--replace"] if replace else [])], f"{target} is what is read: give another place")
    assert contents(here) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_there_is_replaced_when_that_is_asked_for(name: str, here: Path) -> None:
    target = here / "there.svg"
    target.write_text("precious")
    words = COMMANDS[name](here, target)
    refused(words, f"{target} is there already: give another ")
    assert target.read_text() == "precious"
    assert not (here / "new.tcpsweep").exists()
    if name != "sweep --plot":
        done = run(*words, "--replace")
        assert done.exit_code == 0, done.output
        assert target.read_bytes() != b"precious"


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_no_file_stays_what_it_is(name: str, kind: str, replace: bool, here: Path) -> None:
    target = here / "special.svg"
    if kind == "device":
        target.symlink_to("/dev/full")
    elif kind == "pipe":
        os.mkfifo(target)
    else:
        target.mkdir()
    before = target.stat()
    words = [*COMMANDS[name](here, target), *(["--replace"] if replace else [])]
    if kind == "folder" and name.startswith("export"):
        assert run(*words).exit_code == 0  # into it
        assert list(target.iterdir())
        return
    if kind == "folder":
        done = run(*words)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.output
    else:
        refused(words, f"{target} is a device or a pipe, not a file: give another ")
    after = target.stat()
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)


def test_two_results_of_one_name(here: Path) -> None:
    (here / "deep").mkdir()
    shutil.copy(FOUR, here / "deep" / "a.tcprun")
    into = here / "into"
    refused(
        ["export", f"{here}/a.tcprun", f"{here}/deep/a.tcprun", "-o", str(into)],
        f"two results would be written to {into}/a.csv: give another place with -o",
    )
    assert not into.exists()
    refused(["export", f"{here}/a.tcprun", f"{here}/a.tcprun"], "two results would be written to ")


def test_an_export_beside_its_run_replaces_nothing_unasked(here: Path) -> None:
    shutil.copy(QUEUED, here / "a.tcprun")
    (here / "a-queue.csv").write_text("mine")
    refused(["export", f"{here}/a.tcprun"], f"{here}/a-queue.csv is there already")
    assert not (here / "a.csv").exists()
    assert run("export", f"{here}/a.tcprun", "--replace").exit_code == 0
    assert load(here / "a.tcprun").complete
