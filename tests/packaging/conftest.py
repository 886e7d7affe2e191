"""The wheel, built once, and an ordinary user with an empty home."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.ordinary_user import IS_ROOT, NOBODY_ID, OrdinaryUser

ROOT = Path(__file__).parents[2]


def build_wheel(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("tcptutor-*.whl")
    return built


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def user(wheel: Path) -> Iterator[OrdinaryUser]:
    # Not below pytest's folder, which others cannot enter.
    with tempfile.TemporaryDirectory(prefix="tcptutor-user-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for empty in (folder / "home", folder / "empty"):
            empty.mkdir()
            if IS_ROOT:
                shutil.chown(empty, NOBODY_ID, NOBODY_ID)
        (folder / "bin").mkdir()
        # Another user may not look into this environment.
        shutil.copy(Path(sys.executable).with_name("uv"), folder / "bin" / "uv")
        shutil.copy(wheel, folder)
        yield OrdinaryUser(folder, folder / wheel.name)
