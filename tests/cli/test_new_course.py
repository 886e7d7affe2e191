"""A course begun with `tcptutor new-course`: what it shows, and what the linter says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.course import load
from tcptutor.course.outline import Course
from tcptutor.figures.kinds import KINDS
from tests.command import here as tcptutor


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    folder = tmp_path / "a new course"
    done = tcptutor("new-course", folder, "--title", 'Netze "I": Übung')
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def shown() -> Course:
    return load(places.assets() / "example-course")


def test_the_linter_finds_nothing(begun: Path) -> None:
    done = tcptutor("lint", begun)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_has_the_teachers_title_and_an_id_of_its_own(begun: Path) -> None:
    course = load(begun)
    assert (course.id, course.title) == ("netze-i-ubung", 'Netze "I": Übung')
    assert tcptutor("list", "--course", begun).returncode == 0
    pack = begun.parent / "x.tcpcourse"
    assert tcptutor("course", "pack", begun, "-o", pack).returncode == 0
    assert "one-link" in tcptutor("list", "--course", pack).stdout


def test_each_kind_of_activity_and_figure_is_shown(shown: Course) -> None:
    shipped = load().modules
    pages = [step for module in shown.modules for step in module.steps]
    every = [step for module in shipped for step in module.steps]
    assert {type(each) for step in pages for each in step.activities} >= {
        type(each) for step in every for each in step.activities
    }
    text = (shown.root / "01-one-link" / "07-figures.md").read_text()
    kinds = {kind.__struct_config__.tag for kind in KINDS}
    assert set(re.findall(r'^kind = "(.*?)"', text, re.M)) >= kinds


@pytest.mark.parametrize("title", ["", "Übung", "日本語"])
def test_any_title_gives_an_id(title: str, tmp_path: Path) -> None:
    words = ["--title", title] if title else []
    assert tcptutor("new-course", tmp_path / "x", *words).returncode == 0
    assert load(tmp_path / "x").id in {"x", "ubung", "my-course"}


def test_files_are_never_overwritten(begun: Path) -> None:
    before = {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}
    done = tcptutor("new-course", begun)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()} == before


def test_a_folder_that_cannot_be_made_is_one_line() -> None:
    done = tcptutor("new-course", "/proc/no/such")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.guest
def test_the_claims_of_the_example_hold() -> None:
    done = tcptutor("lint", places.assets() / "example-course", "--run")
    assert done.returncode == 0, done.stdout
