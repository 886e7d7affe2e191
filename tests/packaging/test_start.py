"""`sh tcptutor/start`, the one command for a new machine, against a checkout of a program that is quick to install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.command import NOBODY, ROOT, needs_user_namespaces

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
        main = "def main(): sys.stdout.write(' '.join(['tcptutor', *sys.argv[1:]]) + chr(10))"
        wheel.writestr("small_command.py", f"import sys\\n{main}\\n")
        wheel.writestr("tcptutor/install/setup_plan.py", "import os, sys; sys.exit('READY' not in os.environ)")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: tcptutor\\nVersion: 1\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
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


def _run(words: list[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def _start(checkout: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    # The tests may run inside a virtual environment whose python3 is first on PATH: so may a student's.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "TMPDIR": str(checkout.parent), **more}
    environment.pop("PYTHONPATH", None)  # it would put another tcptutor before the checkout's
    return _run(["sh", checkout / "tcptutor" / "start", *words], **environment)


def _logs(checkout: Path) -> list[Path]:
    return list(checkout.parent.glob("tcptutor-start.*"))


@pytest.mark.host
def test_installs_once_and_replaces_what_is_unfinished_or_moved(checkout: Path) -> None:
    venv = checkout / ".venv"
    venv.mkdir()
    (venv / "unfinished").touch()
    (venv / "old").touch()
    (checkout / "small.py").write_text("raise RuntimeError('no such thing')\n")
    done = _start(checkout, "--yes")
    assert done.returncode == 1
    assert "replacing .venv" in done.stdout
    assert not (venv / "old").exists()
    (log,) = _logs(checkout)
    assert done.stderr.startswith("start: pip failed: ")
    assert done.stderr.endswith(f" (all of it: {log})\n")
    assert done.stderr.count("\n") == 1
    assert "no such thing" in log.read_text()
    log.unlink()

    (checkout / "small.py").write_text(BACKEND)
    done = _start(checkout, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "start: installing the Python packages into .venv",
        "tcptutor setup --yes",
        f"start: from now on {checkout}/.venv/bin/tcptutor is enough",
    ]
    assert _start(checkout).stdout.splitlines()[0] == "tcptutor setup"
    # Everything is there: it goes to the app at once, which needs a terminal.
    assert _start(checkout, READY="yes").stdout == ""
    (checkout / "pyproject.toml").write_text(PROJECT + "\n# an update\n")
    assert _start(checkout).stdout.startswith("start: installing the Python packages")

    moved = checkout.rename(checkout.with_name("moved"))
    done = _start(moved)
    assert done.returncode == 0
    assert done.stdout.startswith("start: replacing .venv")
    assert done.stdout.endswith(f"start: from now on {moved}/.venv/bin/tcptutor is enough\n")
    assert _logs(moved) == []


@pytest.mark.host
def test_without_what_plots_need_it_goes_on(checkout: Path) -> None:
    """It is installed where it can be had; where not, one line says so, once."""
    asked = 'Version: 1\\nProvides-Extra: plot\\nRequires-Dist: what-draws; extra == "plot"\\n'
    (checkout / "small.py").write_text(
        BACKEND.replace('Name: tcptutor\\nVersion: 1\\n"', f"Name: tcptutor\\n{asked}'").replace(
            '"Metadata-Version', "'Metadata-Version"
        )
    )
    done = _start(checkout, "--yes", PIP_NO_INDEX="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "start: going on without plots: " in done.stdout
    assert "what-draws" in done.stdout
    assert "packages" not in _start(checkout, READY="yes").stdout
    assert _logs(checkout) == []


@pytest.mark.host
def test_every_check_and_every_test_runs_whatever_fails(checkout: Path, tmp_path: Path) -> None:
    assert _start(checkout, READY="yes").returncode == 0  # so that there is a .venv to put programs into
    for name in ("ruff", "mypy", "lint-imports", "pytest", "tmux", "tshark", "chromium", "nginx", "buildah"):
        program = checkout / ".venv" / "bin" / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"; case "{name} $*" in *"$FAILING"*) exit 1 ;; esac\n')
        program.chmod(0o755)
    path = os.pathsep.join([str(checkout / ".venv" / "bin"), os.environ["PATH"]])

    def tested(*words: str, failing: str = "nothing") -> tuple[int, list[str]]:
        environment = {**os.environ, "PATH": path, "TMPDIR": str(tmp_path), "FAILING": failing}
        done = _run(["sh", checkout / "tcptutor" / "start", "test", *words], **environment)
        return done.returncode, done.stdout.splitlines()

    code, said = tested()
    assert code == 0
    assert said[0] == "start: part 1 of 3: Debian and Python packages"
    assert said[-1] == "pytest"
    # Setup goes on beside the checks: it may write between any of them.
    programs = [line for line in said if not line.startswith("start: ")]
    assert "setup: tcptutor setup --yes" in programs
    assert [line for line in programs if not line.startswith("setup: ")] == [
        "ruff check",
        "mypy",
        "lint-imports",
        "tcptutor lint",
        "pytest",
    ]
    assert tested("full")[1][-1] == "pytest --full"
    # Whatever fails, the rest is done as well, and the end says so.
    code, said = tested(failing="ruff")
    assert (code, said[-2:]) == (1, ["pytest", "start: FAILED: ruff"])
    code, said = tested(failing="pytest")
    assert (code, said[-2:]) == (1, ["start: FAILED: pytest", "start: FAILED: pytest"])
    assert _logs(checkout) == []


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


def test_an_old_python_is_said(checkout: Path, tmp_path: Path) -> None:
    # What an older Python does with the script's questions: the version, and "no" to new enough.
    old = "#!/bin/sh\ncase $2 in *print*) echo 3.10 ;; *) exit 1 ;; esac\n"
    path = _programs(tmp_path / "bin", python=old)
    done = _run(["sh", checkout / "tcptutor" / "start", "--yes"], PATH=path, TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("start: python3 is 3.10, and tcptutor needs 3.11 or newer: ")
    assert not (checkout / ".venv").exists()


def test_without_apt_the_packages_are_named(checkout: Path, tmp_path: Path) -> None:
    done = _run(
        ["sh", checkout / "tcptutor" / "start", "--yes"],
        PATH=_programs(tmp_path / "bin"),
        TMPDIR=str(tmp_path),
    )
    assert done.returncode == 1
    assert done.stderr == (
        "start: Python is missing; install the equivalent of the Debian packages python3 python3-venv\n"
    )
    assert _logs(checkout) == []


@needs_user_namespaces
def test_who_cannot_become_root_reads_what_to_type(checkout: Path, tmp_path: Path) -> None:
    path = _programs(tmp_path / "bin", "apt-get", "unshare")
    nobody = [*NOBODY, "sh", checkout / "tcptutor" / "start", "--yes"]
    done = _run(nobody, PATH=path, TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == (
        "start: Python is missing; as root, type: apt-get update; "
        "apt-get install --no-install-recommends python3 python3-venv\n"
    )


@needs_user_namespaces
def test_nothing_is_installed_without_being_asked(checkout: Path, tmp_path: Path) -> None:
    path = _programs(tmp_path / "bin", "apt-get", "unshare")
    root = [*ROOT, "sh", checkout / "tcptutor" / "start"]
    done = _run(root, PATH=path, TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == (
        "start: it would ask first, and there is no terminal here: run sh tcptutor/start --yes\n"
    )


def test_a_wrong_word_is_wrong_usage(checkout: Path) -> None:
    done = _start(checkout, "--please")
    assert (done.returncode, done.stderr) == (
        2,
        "usage: sh tcptutor/start [--yes] | sh tcptutor/start test [full]\n",
    )
