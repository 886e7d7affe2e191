"""`tcptutor runs`: what is kept, and how one of it is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from tcptutor.course import experiments
from tcptutor.journal import Journal
from tcptutor.run import Run, load, save
from tests.cli.places import FOUR, RUNS
from tests.command import here


def keep(folder: Path, file: Path, id_: str, **changed: object) -> Run:
    run = load(file)
    run.id = id_
    run.started = f"{id_[:4]}-{id_[4:6]}-{id_[6:8]}T{id_[9:11]}:{id_[11:13]}:{id_[13:15]}+00:00"
    for name, value in changed.items():
        setattr(run, name, value)
    folder.mkdir(parents=True, exist_ok=True)
    save(run, folder / f"{id_}.tcprun")
    return run


@pytest.fixture
def kept(without_state: Path) -> Path:
    """Three runs: of the course, of the course with other settings and on a page, of no experiment of the course."""
    folder = without_state / "tcptutor" / "runs"
    own = experiments.build("random-loss")
    keep(folder, RUNS / "cubic-loss.tcprun", "20260101-100000-aaa111", experiment=own)
    changed = experiments.build("random-loss", {"streams": "4", "rate": "60Mbit/s"}, seed=9)
    run = keep(folder, FOUR, "20260102-110000-aab222", experiment=changed)
    by_hand = msgspec.structs.replace(load(RUNS / "pacing.tcprun").experiment, name="by-hand")
    keep(folder, RUNS / "pacing.tcprun", "20260103-120000-ccc333", experiment=by_hand)
    journal = Journal.open()
    journal.begin_run(run, "parallel-streams", "four-lossy-flows")
    journal.finish_run(run, folder / "20260102-110000-aab222.tcprun")
    journal.close()
    return folder


def test_newest_first_with_what_differs_from_the_experiment(kept: Path) -> None:
    lines = here("runs").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "ccc333", "aab222", "aaa111"]
    assert "2026-01-02 11:00  random-loss" in lines[2]
    # The queue is one BDP: it follows from the rate, and nobody has set it.
    assert lines[2].endswith("  9  rate 60 Mbit/s, streams 4")
    assert lines[3].endswith("  1")
    found = json.loads(here("runs", "--json").stdout)["runs"]
    assert [run["short"] for run in found] == ["ccc333", "aab222", "aaa111"]
    assert found[1]["settings"] == {"rate": "60 Mbit/s", "streams": "4"}
    assert (found[1]["module"], found[1]["page"]) == ("parallel-streams", "four-lossy-flows")
    assert found[2]["page"] is None
    shown = json.loads(here("show", "aab222", "--json").stdout)
    assert found[1]["throughput_bps"] == shown["aggregate"]["throughput_bps"]
    assert found[1]["limited_by"] == shown["verdict"]["limited_by"]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("-n 1", ["ccc333"]),
        ("-n 0", ["ccc333", "aab222", "aaa111"]),
        ("--experiment random-loss", ["aab222", "aaa111"]),
        ("--experiment random-loss -n 1", ["aab222"]),
        ("random-loss", ["aab222", "aaa111"]),
        ("--module parallel-streams", ["aab222", "aaa111"]),
        ("--page 5", ["aab222"]),
        ("--page four-lossy-flows --module parallel-streams", ["aab222"]),
        ("--page 3", []),
    ],
)
def test_filters(kept: Path, words: str, ids: list[str]) -> None:
    found = json.loads(here("runs", *words.split(), "--json").stdout)["runs"]
    assert [run["short"] for run in found] == ids


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("last", "20260103-120000-ccc333"),
        ("last-2", "20260101-100000-aaa111"),
        ("ccc", "20260103-120000-ccc333"),
        ("aab", "20260102-110000-aab222"),
        ("20260102", "20260102-110000-aab222"),
    ],
)
def test_a_run_by_what_is_unique_of_its_id(kept: Path, name: str, means: str) -> None:
    assert json.loads(here("show", name, "--json").stdout)["file"].endswith(f"{means}.tcprun")
    assert here("export", name, "--json").returncode == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("aa", "2 runs begin with 'aa': aab222, aaa111: give more of the id"),
        ("last-3", "no run 3 before the last, only 3 are saved"),
        ("zzz", "no run file 'zzz', and no run id begins with it: `tcptutor runs` lists the runs"),
    ],
)
def test_what_means_no_run_or_several_is_told(kept: Path, name: str, says: str) -> None:
    done = here("show", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_damaged_one_is_left_out_and_named(kept: Path) -> None:
    (kept / "20260104-120000-ddd444.tcprun").write_bytes(b"nothing")
    shutil.copy(kept / "20260103-120000-ccc333.tcprun", kept / "20260105-120000-eee555.tcprun")
    done = here("runs", "--json")
    assert done.returncode == 0
    assert "ddd444" in done.stderr
    assert next(run["short"] for run in json.loads(done.stdout)["runs"]) == "eee555"


def test_without_any_run_it_says_how_to_make_one(without_state: Path) -> None:
    done = here("runs")
    assert (done.returncode, done.stderr) == (0, "")
    assert "make one with `tcptutor run random-loss`" in done.stdout
    assert here("runs", "--json").stdout == '{"runs": []}\n'
    assert not (without_state / "tcptutor" / "journal.db").exists()


def test_on_a_narrow_terminal_the_settings_stand_below(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcptutor.commands.runs.width", lambda: 80)
    lines = here("runs").stdout.splitlines()
    assert "        seed 9, rate 60 Mbit/s, streams 4" in lines
    assert max(map(len, lines)) <= 80


def test_a_run_that_was_cut_short_says_so(kept: Path) -> None:
    keep(kept, FOUR, "20260109-120000-fff999", complete=False)
    assert "cut short" in here("runs", "-n", "1").stdout
    assert msgspec.json.decode(here("runs", "-n", "1", "--json").stdout)["runs"][0]["complete"] is False
