"""A user with no rights, an empty home, and the wheel in a folder of somebody else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests import patience

IS_ROOT = os.geteuid() == 0
NOBODY_ID = 65534
_SYSTEM = "/usr/local/bin:/usr/bin:/bin"


class OrdinaryUser(NamedTuple):
    """The user "nobody" where the tests run as root, otherwise who runs them, with another home."""

    folder: Path
    wheel: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a login, with what this machine needs to reach package indexes and what marks a test."""
        ours = ("HOME", "PATH", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ours and not name.startswith(("XDG_", "PYENV_", "PYTEST_"))
        }
        home = self.folder / "home"
        path = f"{home}/.local/bin:{self.folder}/bin:{_SYSTEM}"
        # Programs come from the system: uv must not fetch a Python of its own.
        return {**kept, "HOME": str(home), "PATH": path, "UV_PYTHON_DOWNLOADS": "never", "LC_ALL": "C.UTF-8"}

    def words(self, *words: str | Path) -> list[str]:
        """The words as this user."""
        as_user = [
            "setpriv",
            f"--reuid={NOBODY_ID}",
            f"--regid={NOBODY_ID}",
            "--clear-groups",
            "--no-new-privs",
        ]
        return [*(as_user if IS_ROOT else []), *map(str, words)]

    def run(self, *words: str | Path, timeout: float = 300, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the words in an empty folder."""
        return subprocess.run(
            self.words(*words), cwd=self.folder / "empty", env={**self.environment, **more}, text=True,
            capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=patience.seconds(timeout),
        )  # fmt: skip

    def succeed(self, *words: str | Path, timeout: float = 300, **more: str) -> str:
        """Run the words and return what they print; fail with what they print otherwise."""
        done = self.run(*words, timeout=timeout, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
