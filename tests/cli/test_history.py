"""`tcptutor runs name`, `delete`, `restore`, `compare`, and the filter of the list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_runs import kept  # noqa: F401
from tests.command import here


def ids(*words: str) -> list[str]:
    return [run["short"] for run in json.loads(here("runs", *words, "-n", "0", "--json").stdout)["runs"]]


@pytest.mark.usefixtures("kept")
def test_a_run_is_found_by_its_name_its_verdict_and_its_settings() -> None:
    assert here("runs", "name", "aaa", "the first").returncode == 0
    assert ids("--filter", "FIRST") == ["aaa111"]
    assert ids("--filter", "streams 4") == ["aab222"]
    assert ids("list", "--filter", "random loss aaa") == ["aaa111"]
    assert "“the first”" in here("runs").stdout
    assert here("runs", "name", "aaa", "").returncode == 0
    assert ids("--filter", "first") == []


@pytest.mark.usefixtures("kept")
def test_deleted_runs_are_restored() -> None:
    assert here("runs", "delete", "aaa", "ccc").returncode == 0
    assert ids() == ["aab222"]
    assert "aaa111" in here("runs", "restore").stdout
    assert here("runs", "restore", "aaa111").returncode == 0
    assert ids() == ["aab222", "aaa111"]
    assert here("runs", "restore", "aaa111").returncode == 1


def test_a_run_that_a_page_is_marked_by_stays(kept: Path) -> None:  # noqa: F811
    done = here("runs", "delete", "aaa", "aab")
    assert (done.returncode, done.stdout) == (2, "")
    assert "parallel-streams/four-lossy-flows is marked by it" in done.stderr
    assert len(list(kept.glob("*.tcprun"))) == 3


def test_a_file_elsewhere_is_not_deleted(kept: Path, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "my.tcprun"
    file.write_bytes(next(kept.glob("*.tcprun")).read_bytes())
    assert here("runs", "delete", str(file)).returncode == 2
    assert file.exists()


@pytest.mark.usefixtures("kept")
def test_two_runs_are_compared() -> None:
    found = json.loads(here("runs", "compare", "aaa", "aab", "--json").stdout)
    settings = {each["name"]: (each["one"], each["other"]) for each in found["settings"]}
    assert settings["streams"] == ("1", "4")
    assert "algorithm" not in settings
    rows = here("runs", "compare", "aaa", "aab").stdout.splitlines()
    assert any(row.split() == ["streams", "1", "4"] for row in rows)
    assert any(row.startswith("throughput") and "Mbit/s" in row for row in rows)
    assert here("runs", "compare", "aaa", "aaa").returncode == 2
