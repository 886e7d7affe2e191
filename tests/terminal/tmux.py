"""A real terminal: tmux with a server of its own, typed into and read."""

from __future__ import annotations

import os
import re
import subprocess
import time
import uuid
from pathlib import Path

from tests import patience


class Tmux:
    """One session with one window; `close` ends it as closing the terminal does."""

    def __init__(self, command: str, folder: Path, width: int = 120, height: int = 36) -> None:
        self._socket = str(folder / f"tmux-{uuid.uuid4().hex[:6]}")
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        # Some shells export a size, and it is not that of the terminal.
        environment |= {"COLUMNS": "80", "LINES": "24"}
        subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", self._socket, "new-session", "-d", "-s", "t",
             "-x", str(width), "-y", str(height), command],
            check=True, env=environment,
        )  # fmt: skip
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=patience.seconds(10),
        )
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Press keys by tmux's names ("Enter", "Right"), or type a text."""
        self._tmux("send-keys", "-t", "t", *keys)

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "t")

    @property
    def colored_screen(self) -> str:
        """The screen with the escape sequences of its colors."""
        return self._tmux("capture-pane", "-e", "-p", "-t", "t")

    def wait_for(self, pattern: str, seconds: float = 20) -> re.Match[str]:
        """The first match of `pattern` on the screen; fails with the screen when it does not come."""
        deadline = patience.Deadline(seconds)
        while deadline.left:
            if match := re.search(pattern, self.screen):
                return match
            time.sleep(0.1)
        raise AssertionError(f"{pattern!r} did not appear in {seconds} s:\n{self.screen}")

    def wait_for_exit(self, seconds: float = 20) -> None:
        """Return when the command has ended; fails with the screen when it goes on.

        tmux does not always write its notice of a dead pane, so the pane itself is asked.
        """
        deadline = patience.Deadline(seconds)
        while deadline.left:
            if self._tmux("list-panes", "-t", "t", "-F", "#{pane_dead}").strip() == "1":
                return
            time.sleep(0.1)
        raise AssertionError(f"the command did not end in {seconds} s:\n{self.screen}")

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-t", "t", "-x", str(width), "-y", str(height))

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)
