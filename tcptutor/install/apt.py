"""Installs Debian packages, as root or through sudo."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tcptutor.errors import SetupError
from tcptutor.install import system

_INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends")
_PATIENCE = ("-o", "DPkg::Lock::Timeout=180")
"""A new machine updates itself in its first minutes and holds apt's lock meanwhile."""


def privilege() -> list[str] | None:
    """What stands before apt-get so that it runs as root; None when nothing does."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    # Without a terminal nobody can type a password: better a refusal than a wait.
    return ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]


def possible() -> bool:
    """Whether we can try: on Debian or Ubuntu, as root or with sudo."""
    return privilege() is not None and shutil.which("apt-get") is not None and system.here().debian


def command(packages: Sequence[str]) -> str:
    """The line to type as root."""
    return f"apt-get update; {' '.join([*_INSTALL, *packages])}"


def install(packages: Sequence[str], log: Path) -> None:
    """Install `packages`, with all that apt says in `log`. Raises SetupError: one line with apt's last error."""
    before = privilege()
    if before is None or not possible():
        raise SetupError(f"this user cannot install packages: type as root: {command(packages)}")
    before = [*before, "env", "DEBIAN_FRONTEND=noninteractive"]
    with log.open("wb") as output:
        # A source that does not answer is not fatal: what counts is whether the packages can be had.
        _run([*before, "apt-get", "update"], output.fileno())
        code = _run([*before, *_INSTALL, *_PATIENCE, *packages], output.fileno())
    if code:
        raise SetupError(
            f"apt-get failed: {last_error(log)} (all of it: {log}); to try by hand, as root: {command(packages)}"
        )


def _run(words: list[str], output: int) -> int:
    process = subprocess.Popen(words, stdout=output, stderr=output)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # apt-get ends by itself where that does no harm; killing it could leave a package half-installed.
        with contextlib.suppress(OSError):
            process.send_signal(signal.SIGINT)
        process.wait()
        raise


def last_error(log: Path) -> str:
    """apt's last error in `log`, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "sudo:"))] or lines
    return errors[-1].removeprefix("E: ") if errors else "it said nothing"
