"""What a command is asked to write destroys nothing: not what it reads, not a device, not what is there already."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tcptutor.commands.command_line import main
from tcptutor.run import load
from tcptutor.sweep.results_file import Store
from tcptutor.sweep.results_file import load as load_sweep
from tests.cli.places import FOUR
from tests.exchange.places import FILES, ROOT
from tests.sweep.made import table_of

QUEUED = ROOT / "assets/recorded/parallel-streams/eight-flows-one-link.tcprun"

Command = Callable[[Path, Path], Sequence[str]]
"""The words that write `target` from what is in the folder."""

COMMANDS: dict[str, Command] = {
    "export csv": lambda here, target: ["export", f"{here}/a.tcprun", "-o", str(target)],
    "export json": lambda here, target: ["export", f"{here}/a.tcprun", "--format", "json", "-o", str(target)],
    "plot": lambda here, target: ["plot", f"{here}/a.tcprun", "-o", str(target)],
    "plot of two": lambda here, target: ["plot", f"{here}/b.tcprun", f"{here}/a.tcprun", "-o", str(target)],
    "import": lambda here, target: ["import", f"{here}/a.json", "-o", str(target)],
    "model --plot": lambda here, target: [
        *("model", "bdp", "rate=1Mbit/s..1Gbit/s", "rtt=20ms", "--plot", str(target)),
    ],
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
@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.endswith(" --plot")])
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
    refused([*words, *(["--replace"] if replace else [])], f"{target} is also the input: give another place")
    assert contents(here) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_there_is_replaced_when_that_is_asked_for(name: str, here: Path) -> None:
    target = here / "there.svg"
    target.write_text("precious")
    words = COMMANDS[name](here, target)
    refused(words, f"{target} already exists: give another ")
    assert target.read_text() == "precious"
    assert not (here / "new.tcpsweep").exists()
    if not name.endswith(" --plot"):
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
    refused(["export", f"{here}/a.tcprun"], f"{here}/a-queue.csv already exists")
    assert not (here / "a.csv").exists()
    assert run("export", f"{here}/a.tcprun", "--replace").exit_code == 0
    assert load(here / "a.tcprun").complete


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "nothing"])
def test_a_sweep_is_kept_in_a_file_and_nowhere_else(kind: str, here: Path) -> None:
    """It would be opened for reading and writing, which some devices take for a beginning."""
    target = here / "special.tcpsweep"
    if kind == "device":
        target.symlink_to("/dev/full")
    elif kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        target = Path()
    words = ["sweep", "random-loss", "--grid", "loss=0.1%,1%", "--backend", "replay", "-o", str(target)]
    before = target.stat()
    done = run(*words)
    assert (done.exit_code, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done.output
    assert (before.st_mode, before.st_ino) == (target.stat().st_mode, target.stat().st_ino)


@pytest.mark.parametrize("says", ["precious", '{"type":"tcpsweep"\n', "\x1f\x8b", "{}\n"])
def test_a_sweep_adds_to_nothing_but_a_sweep(says: str, here: Path) -> None:
    target = here / "there.tcpsweep"
    target.write_text(says)
    done = run(*"sweep random-loss --grid loss=0.1%,1% --backend replay -o".split(), str(target))
    assert done.exit_code in (1, 2)
    assert done.stderr.count("\n") == 1
    assert target.read_text() == says


def test_a_sweep_that_goes_on_draws_over_its_own_plot_alone(here: Path) -> None:
    """Its cells are all there, so that nothing runs."""
    file, drawn = here / "x.tcpsweep", here / "x.svg"
    words = [
        *"sweep parallel-streams/random-loss --set rate=20Mbit/s --grid loss=0.1%,1% --backend replay".split(),
        *("-o", str(file), "--plot", str(drawn)),
    ]
    assert run(*words[:-2]).exit_code == 3  # no recording has these: the file is made, with nothing in it
    table = load_sweep(file)
    cells = table_of(["loss=0.1%,1%"]).sorted_rows()
    with Store(file, table.definition) as store:
        for each in cells:
            store.add(each)
    assert run(*words).exit_code == 0
    first = drawn.read_bytes()
    shown = run(*words[:-1])
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[-1] == "⠒⠒ binding model   ● measured"
    refused([*words[:-1], "--json"], "--plot without a file draws in the terminal: omit --json")
    assert run(*words).exit_code == 0
    assert drawn.read_bytes() == first
    drawn.write_bytes(first.replace(b"</svg>", b"<!-- mine --></svg>"))
    refused(words, f"{drawn} already exists: give another --plot, or overwrite it with --replace")
    assert b"mine" in drawn.read_bytes()
    assert run(*words, "--replace").exit_code == 0
    assert drawn.read_bytes() == first


def test_an_import_replaces_no_other_run_of_the_users(here: Path, without_state: Path) -> None:
    """The same file gives the same id, whatever is said of its path."""
    words = ["import", f"{here}/a.json"]
    assert run(*words, "--set", "delay=20ms").exit_code == 0
    (kept,) = without_state.rglob("*.tcprun")
    before = kept.read_bytes()
    assert run(*words, "--set", "delay=20ms").exit_code == 0
    refused(words, f"{kept} already exists, with another path or damaged: give another place with -o")
    assert kept.read_bytes() == before
    assert run(*words, "--replace").exit_code == 0
    assert kept.read_bytes() != before


@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.endswith(" --plot")])
def test_a_link_under_the_name_of_what_is_unfinished_is_not_followed(name: str, here: Path) -> None:
    """In a folder where others can write, somebody may guess it."""
    (here / "victim").write_text("precious")
    target = here / "new.svg"
    guessed = here / f".new.svg.{os.getpid()}"
    guessed.symlink_to(here / "victim")
    assert run(*COMMANDS[name](here, target)).exit_code == 0
    assert (here / "victim").read_text() == "precious"
    assert guessed.is_symlink()
    assert target.is_file()
    assert not target.is_symlink()


@pytest.mark.parametrize("length", [200, 251])
def test_a_name_as_long_as_a_name_may_be(length: int, here: Path) -> None:
    target = here / f"{'ü' * (length // 2 - 1)}{'x' * (length % 2 + 2)}.svg"
    done = run(*COMMANDS["plot"](here, target))
    assert done.exit_code == 0, done.output
    assert target.is_file()
