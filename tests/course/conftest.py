"""A copy of the shipped course that a test may damage."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.course import Course, Module
from tcptutor.run import Run, load

MODULE = "03-parallel-streams"


def module_of(course: Course) -> Module:
    """That module of a course, wherever it stands in it."""
    return next(module for module in course.modules if module.id == "parallel-streams")


def page(id: str, module: str = MODULE) -> str:
    """The file of a page of that module, whatever its number."""
    return f"{module}/{next((places.lessons() / module).glob(f'[0-9][0-9]-{id}.md')).name}"


STEP = page("one-lossy-flow")
EXPERIMENT = f"{MODULE}/experiments/random-loss.toml"
EXAMPLES = Path(__file__).parent / "examples"
"""A course with a page of what ours does not ask yet."""


def whole_run() -> Run:
    """A run of one lossy flow, to its end."""
    return load(places.assets() / "recorded/parallel-streams/one-lossy-flow.tcprun")


Edit = Callable[[str, str, str], Path]


def only(root: Path, file: str) -> Path:
    """Remove every module but that of `file`: a lint of the whole course takes four times as long."""
    for module in root.iterdir():
        if module.is_dir() and module.name != file.partition("/")[0]:
            shutil.rmtree(module)
    return root


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    return Path(shutil.copytree(places.lessons(), tmp_path / "lessons"))


@pytest.fixture
def edit(lessons: Path) -> Edit:
    """Replaces text that must be there once or more: the first place only."""

    def replace(file: str, old: str, new: str) -> Path:
        path = lessons / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return lessons

    return replace
