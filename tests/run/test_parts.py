"""A damaged part of a run never ends anything: what can be recovered is, the rest is set aside and told once."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.base.printable import is_printable
from tcptutor.run import load
from tcptutor.runs.store import RunStore
from tests.command import here as tcptutor
from tests.fuzz.mutate import CONTROL

SEED = (Path(__file__).parent / "files" / "cut.tcprun.part").read_bytes()
HEAD, *EVENTS = SEED.splitlines(keepends=True)
LINES = [HEAD, *EVENTS]


def _line(number: int, old: bytes, new: bytes) -> bytes:
    assert old in LINES[number]
    return b"".join([*LINES[:number], LINES[number].replace(old, new, 1), *LINES[number + 1 :]])


def _file(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _zeros(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def _recovered(folder: Path) -> tuple[list[int], list[str], list[str]]:
    """Samples of each run that was recovered, what was told, and what is there now."""
    told: list[str] = []
    runs = RunStore(folder).recover(told.append)
    for run in runs:
        assert load(folder / "x.tcprun").samples.column("bytes_acked") == run.samples.column("bytes_acked")
    return [len(run.samples) for run in runs], told, sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        _file(b"".join(EVENTS)),
        _file(b"\xff" + SEED),
        _file(_line(0, b'"started":"', b'"started":"2025-13-45')),
        _file(_line(0, b'"started":"', b'"started":"' + CONTROL.encode())),
        _file(_line(0, b'"id":"', b'"id":"../')),
        _file(_line(0, b'"seed":', b'"seed":-')),
        _file(_line(0, b'"seed":', b'"seed":' + b"9" * 5000)),
        _file(b"[" * 100_000 + b"\n" + SEED),
        _file(bytes(1000)),
        _zeros,
        os.mkfifo,
        Path.mkdir,
    ],
    ids=range(12),
)
def test_a_part_of_which_nothing_can_be_recovered_is_set_aside(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    part = tmp_path / "x.tcprun.part"
    damage(part)
    runs, (told,), there = _recovered(tmp_path)
    assert (runs, there) == ([], ["x.tcprun.part.damaged"])
    assert is_printable(told) and len(told) < 600 + len(str(tmp_path))
    assert str(tmp_path / "x.tcprun.part.damaged") in told
    assert _recovered(tmp_path) == ([], [], there)  # once


@pytest.mark.parametrize(
    "damaged",
    [
        _line(3, b"[", b"\xff"),
        _line(3, b"{", b"{{"),
        _line(3, b'"t":', b'"t":-'),
        _line(3, b'"t":', b'"t":1e999,"t":'),
        _line(3, b'"rows":[[0,', b'"rows":[[7,'),
        _line(3, b'"rows":[[0,', b'"rows":[[' + b"9" * 30 + b","),
        b"".join([*LINES[:3], b"\0" * 4096, *LINES[3:]]),
        b"".join([*LINES[:3], LINES[1], *LINES[3:]]),
    ],
    ids=range(8),
)
def test_what_was_before_the_damage_is_recovered(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "x.tcprun.part").write_bytes(b"".join(LINES[:3]))
    wanted = _recovered(tmp_path / "y")[0]
    part = tmp_path / "x" / "x.tcprun.part"
    part.parent.mkdir()
    part.write_bytes(damaged)
    runs, (told,), there = _recovered(part.parent)
    assert runs == wanted
    assert there == ["x.tcprun", "x.tcprun.part.damaged"]
    assert "line 4" in told and "the run before the damage is saved" in told and is_printable(told)
    assert (part.parent / "x.tcprun.part.damaged").read_bytes() == damaged


def test_none_is_written_over(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "x.tcprun.part").write_bytes(b"damage %d" % number)
        RunStore(tmp_path).recover()
    assert sorted(path.read_bytes() for path in tmp_path.glob("*.damaged*")) == [
        b"damage 0",
        b"damage 1",
        b"damage 2",
    ]
    assert len(list(tmp_path.iterdir())) == 3


def test_what_a_killed_program_leaves_is_no_damage(tmp_path: Path) -> None:
    chance = random.Random(3)
    for cut in (0, 1, 5, 9, len(HEAD) - 1, len(HEAD), *(chance.randrange(len(SEED)) for _ in range(20))):
        (tmp_path / "x.tcprun.part").write_bytes(SEED[:cut])
        runs, told, there = _recovered(tmp_path)
        assert (told, there) == ([], ["x.tcprun"] if runs else [])
        (tmp_path / "x.tcprun").unlink(missing_ok=True)


def test_other_parts_and_commands_suffer_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    from tcptutor.base import places

    folder = places.runs()
    folder.mkdir(parents=True)
    (folder / "a.tcprun.part").write_bytes(bytes(100))
    (folder / "cut.tcprun.part").write_bytes(SEED)
    (folder / "b.tcprun").write_bytes(b"damaged")
    made = tcptutor("runs")
    assert made.returncode == 0
    assert "cut" in made.stdout
    assert [line.partition(":")[0] for line in made.stderr.splitlines()] == ["tcptutor"] * 2
    assert "a.tcprun.part" in made.stderr and "b.tcprun" in made.stderr
    assert "damaged" not in tcptutor("show", "cut", "--text").stderr
