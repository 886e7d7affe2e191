"""Courses of any number of modules, made of the shipped ones, and the app with such a course.

`python -m tests.benchmarks.courses FOLDER` opens the app with the course in FOLDER.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tcptutor.base import places
from tcptutor.course import OpenedCourse
from tcptutor.ui import run_app


def made(folder: Path, modules: int) -> Path:
    """A course of so many modules in `folder`: the shipped ones in order, and copies of them under other ids."""
    course = OpenedCourse().course
    ids = []
    shutil.copytree(places.lessons(), folder, ignore=lambda _, names: [n for n in names if n[:2].isdigit()])
    for number in range(modules):
        of = course.modules[number % len(course.modules)]
        id_ = of.id if number < len(course.modules) else f"{of.id}-{number + 1}"
        shutil.copytree(places.lessons() / f"{of.number:02}-{of.id}", folder / f"{number + 1:02}-{id_}")
        ids.append(id_)
    (folder / "course.toml").write_text(
        f"format_version = 1\ntitle = {json.dumps(course.title)}\nmodules = {json.dumps(ids)}\n"
    )
    return folder


if __name__ == "__main__":
    sys.exit(run_app(lessons=Path(sys.argv[1])))
