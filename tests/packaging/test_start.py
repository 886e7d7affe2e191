"""`sh tcptutor/start`, the one command for a new machine, against a checkout of a program that is quick to install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

START = Path(__file__).parents[2] / "tcptutor" / "start"
PROJECT = """
[build-system]
requires = []
build-backend = "small"
backend-path = ["."]
[project]
name = "tcptutor"
version = "1"
"""
BACKEND = """
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "tcptutor-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        info = "tcptutor-1.dist-info"
        wheel.writestr("small_command.py", "import sys\\ndef main(): print('tcptutor', *sys.argv[1:])\\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: tcptutor\\nVersion: 1\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: small\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\ntcptutor = small_command:main\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name

build_wheel = build_editable
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "check out"
    (root / "tcptutor").mkdir(parents=True)
    shutil.copy(START, root / "tcptutor" / "start")
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "small.py").write_text(BACKEND)
    return root


def _start(checkout: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # The tests may run inside a virtual environment whose python3 is first on PATH: so may a student's.
    python = str(Path(sys.executable).parent)
    path = os.pathsep.join([python, os.environ["PATH"]])
    return subprocess.run(
        ["sh", checkout / "tcptutor" / "start", *words], cwd=checkout.parent, stdin=subprocess.DEVNULL, text=True,
        env={**os.environ, "PATH": path, "TMPDIR": str(checkout.parent), **environment}, capture_output=True, check=False,
    )  # fmt: skip


def _logs(checkout: Path) -> list[Path]:
    return list(checkout.parent.glob("tcptutor-start.*"))


def test_installs_once_and_replaces_what_is_unfinished_or_moved(checkout: Path) -> None:
    done = _start(checkout, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "start: installing the Python packages into .venv",
        "tcptutor setup --yes",
        f"start: from now on {checkout}/.venv/bin/tcptutor is enough",
    ]
    assert _start(checkout).stdout.splitlines()[0] == "tcptutor setup"

    (checkout / "pyproject.toml").write_text(PROJECT + "\n# an update\n")
    assert "installing the Python packages" in _start(checkout).stdout

    (checkout / ".venv" / "unfinished").touch()
    (checkout / ".venv" / "old").touch()
    assert "replacing .venv" in _start(checkout).stdout
    assert not (checkout / ".venv" / "old").exists()

    moved = checkout.rename(checkout.with_name("moved"))
    done = _start(moved)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        f"start: from now on {moved}/.venv/bin/tcptutor is enough",
    )
    assert "replacing .venv" in done.stdout
    assert _logs(moved) == []


def test_packages_that_cannot_be_installed_are_one_line_and_a_log(checkout: Path) -> None:
    (checkout / "small.py").write_text("raise RuntimeError('no such thing')\n")
    done = _start(checkout, "--yes")
    assert done.returncode == 1
    (log,) = _logs(checkout)
    assert done.stderr.startswith("start: pip failed: ")
    assert done.stderr.endswith(f" (all of it: {log})\n")
    assert done.stderr.count("\n") == 1
    assert "no such thing" in log.read_text()


def _programs(folder: Path, *names: str, python: str = "") -> str:
    """A PATH with the shell's usual tools, `names`, and a python3 that is the script `python`, and nothing else."""
    folder.mkdir()
    for name in ("sh", "dirname", "mktemp", "rm", "id", "grep", "tail", "cat", "env", *names):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    if python:
        (folder / "python3").write_text(python)
        (folder / "python3").chmod(0o755)
    return str(folder)


def _start_with(checkout: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", checkout / "tcptutor" / "start", *words], env={"PATH": path, "TMPDIR": str(checkout.parent)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_an_old_python_is_said(checkout: Path, tmp_path: Path) -> None:
    # What an older Python does with the script's questions: the version, and "no" to new enough.
    old = "#!/bin/sh\ncase $2 in *print*) echo 3.10 ;; *) exit 1 ;; esac\n"
    done = _start_with(checkout, _programs(tmp_path / "bin", python=old), "--yes")
    assert done.returncode == 1
    assert done.stderr.startswith("start: python3 is 3.10, and tcptutor needs 3.11 or newer: ")
    assert not (checkout / ".venv").exists()


def test_without_python_and_without_apt_or_root_the_packages_are_named(
    checkout: Path, tmp_path: Path
) -> None:
    done = _start_with(checkout, _programs(tmp_path / "bin"), "--yes")
    assert (done.returncode, done.stderr) == (
        1, "start: Python is missing; install the equivalent of the Debian packages python3 python3-venv\n",
    )  # fmt: skip
    path = _programs(tmp_path / "apt", "apt-get", "unshare")
    nobody = subprocess.run(
        ["unshare", "--user", "sh", checkout / "tcptutor" / "start", "--yes"], env={"PATH": path, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert nobody.returncode == 1
    assert nobody.stderr == (
        "start: Python is missing; as root, type: apt-get update; "
        "apt-get install --no-install-recommends python3 python3-venv\n"
    )
    assert _logs(checkout) == []


def test_nothing_is_installed_without_being_asked(checkout: Path, tmp_path: Path) -> None:
    path = _programs(tmp_path / "bin", "apt-get", "unshare")
    root = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", checkout / "tcptutor" / "start"], env={"PATH": path, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert root.returncode == 1
    assert (
        root.stderr
        == "start: it would ask first, and there is no terminal here: run sh tcptutor/start --yes\n"
    )


def test_a_wrong_word_is_wrong_usage(checkout: Path) -> None:
    done = _start(checkout, "--please")
    assert (done.returncode, done.stderr) == (
        2,
        "usage: sh tcptutor/start [--yes] | sh tcptutor/start test\n",
    )
