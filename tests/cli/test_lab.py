"""`tcptutor lab`: what the lab is made of, a run's lab beside it, and a file to carry it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.run import load, save
from tests.command import here as tcptutor

RUN = ["run", "parallel-streams/random-loss", "--backend", "guest", "--set", "duration=1s", "--json"]


@pytest.fixture
def made(without_state: object, snapshots: Snapshots) -> Path:
    """A run in the guest that is here."""
    return Path(json.loads(tcptutor(*RUN, "--clock", "virtual").stdout)["file"])


@pytest.mark.guest
def test_the_lab_here_is_told_in_short_and_whole(snapshots: Snapshots) -> None:
    short = tcptutor("lab", "show").stdout
    mark = snapshots.manifest("virtual").id
    assert short.startswith(f"lab {mark}\n")
    assert "packages and tools that it was built from: --all shows them" in short
    assert "package iperf3" not in short
    assert "package iperf3" in tcptutor("lab", "show", "--all").stdout
    told = json.loads(tcptutor("lab", "show", "--json").stdout)
    assert told == {"fingerprint": mark, "parts": snapshots.composition("virtual")}


@pytest.mark.guest
def test_a_run_of_this_lab_says_so_and_one_of_another_says_in_what_it_differs(
    made: Path, tmp_path: Path
) -> None:
    assert (
        "the lab here has the same parts: equal runs are identical"
        in tcptutor("lab", "show", str(made)).stdout
    )
    run = load(made)
    parts = {**run.environment.lab, "package iperf3": "3.17-1", "image base.cpio": "0" * 64}
    run.environment = replace(run.environment, lab=parts)
    other = tmp_path / "other.tcprun"
    save(run, other)
    told = tcptutor("lab", "show", str(other)).stdout
    here = Snapshots().composition("virtual")["package iperf3"]
    assert told.endswith(
        "the lab here differs, so equal runs agree only within chance. Differences:\n"
        f"  package iperf3: {here} here, 3.17-1 there\n  image base.cpio: another one\n"
    )
    differences = json.loads(tcptutor("lab", "show", str(other), "--json").stdout)["differences"]
    assert [each["name"] for each in differences] == ["package iperf3", "image base.cpio"]


@pytest.mark.guest
def test_a_run_on_the_real_clock_is_not_called_repeatable(
    without_state: object, snapshots: Snapshots
) -> None:
    made = json.loads(tcptutor(*RUN, "--clock", "real").stdout)["file"]
    told = tcptutor("lab", "show", made).stdout
    assert "the lab here has the same parts, but this run cannot be reproduced exactly" in told


@pytest.mark.guest
def test_what_is_packed_replaces_nothing_unasked(snapshots: Snapshots, tmp_path: Path) -> None:
    file = tmp_path / "x.lab"
    assert tcptutor("lab", "pack", str(file)).stdout.startswith(f"wrote {file}, 6")
    again = tcptutor("lab", "pack", str(file))
    assert (again.returncode, again.stdout) == (2, "")
    assert "already exists: give another name, or overwrite it with --replace" in again.stderr
    file.unlink()


def test_without_a_lab_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for words in (["lab", "show"], ["lab", "pack", str(tmp_path / "x")]):
        told = tcptutor(*words)
        assert (told.returncode, told.stdout) == (3, "")
        assert told.stderr == "tcptutor: the guest image is not built yet: run `tcptutor setup`\n"


def test_setup_takes_one_lab(without_state: object) -> None:
    both = tcptutor("setup", "--yes", "--from", "x", "--lab", "y")
    assert (both.returncode, both.stderr) == (
        2,
        "tcptutor: --from and --lab both choose the lab: use only one of them\n",
    )
    none = tcptutor("setup", "--yes", "--lab", "no-such")
    assert none.returncode == 2
    assert "no stored run is from the lab 'no-such': name a run file from it, or a run's id" in none.stderr
