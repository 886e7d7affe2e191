"""The installed command as users start it: with a terminal or without, as another user, with other programs about."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import patience

TCPTUTOR = [sys.executable, "-m", "tcptutor"]
NOBODY = ["unshare", "--user"]
"""In a user namespace that maps nobody: neither root nor able to become it, and our files stay readable."""
ROOT = ["unshare", "--user", "--map-root-user"]
"""Root of a user namespace, who can mount and still cannot change this machine."""

needs_user_namespaces = pytest.mark.skipif(
    subprocess.run([*ROOT, "--mount", "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine forbids user namespaces, in which the test is another user",
)


def run(
    words: Sequence[str | Path], timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, timeout=patience.seconds(timeout), check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip


def in_terminal(
    words: Sequence[str], typed: str = "", size: tuple[int, int] = (120, 40), **environment: str
) -> tuple[int, str]:
    """The exit code and all that was shown in a terminal of `size` (columns, lines) in which `typed` is typed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    process = subprocess.Popen(
        words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # how Linux says that the other side has closed
    os.close(ours)
    return process.wait(), shown.decode(errors="replace").replace("\r\n", "\n")


def programs(folder: Path, *names: str) -> str:
    """A PATH on which there is `names` and nothing else (the sbin folders apart, which tcptutor looks into anyway)."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None, f"the test needs {name}"
        (folder / name).symlink_to(found)
    return str(folder)
