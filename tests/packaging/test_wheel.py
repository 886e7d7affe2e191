"""The wheel holds the course, and works like the checkout."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, build_wheel

pytestmark = pytest.mark.host


def test_course_and_assets_are_inside(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("lessons", "assets"):
        here = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert here
        assert {f"tcptutor/_content/{name}" for name in here} <= inside
    assert "tcptutor/start" in inside
    assert not any(name.startswith(("tests/", "lessons/")) or ".pyc" in name for name in inside)


def test_the_license_and_the_man_page_come_with_it(wheel: Path) -> None:
    inside = zipfile.ZipFile(wheel)
    license_file, manual = (
        next(name for name in inside.namelist() if name.endswith(end))
        for end in ("dist-info/licenses/assets/LICENSE", "data/share/man/man1/tcptutor.1")
    )
    assert inside.read(license_file) == (ROOT / "assets" / "LICENSE").read_bytes()
    assert b".SH NAME" in inside.read(manual)


def test_built_again_it_is_the_same_file(wheel: Path, tmp_path: Path) -> None:
    assert build_wheel(tmp_path).read_bytes() == wheel.read_bytes()


def _installed(wheel: Path, folder: Path) -> Path:
    """The command of a fresh environment with the wheel; what it depends on is borrowed from this one."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "bin" / "tcptutor"


def _list(command: Path, where: Path, **environment: str) -> object:
    done = subprocess.run(
        [command, "list", "--json"],
        cwd=where,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_lists_the_same_course_as_the_checkout(wheel: Path, tmp_path: Path) -> None:
    # A folder on PYTHONPATH gives its packages; its .pth files, so the editable install of the checkout, stay unread.
    borrowed = os.pathsep.join(site.getsitepackages())
    installed = _installed(wheel, tmp_path / "venv")
    from_wheel = _list(installed, tmp_path, PYTHONPATH=borrowed)
    where = subprocess.run(
        [installed.with_name("python"), "-c", "import tcptutor; print(tcptutor.__file__)"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": borrowed}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert where.startswith(str(tmp_path))
    from_checkout = _list(Path(sys.executable).with_name("tcptutor"), tmp_path)
    assert from_wheel == from_checkout
    assert from_wheel["modules"]  # type: ignore[index]
