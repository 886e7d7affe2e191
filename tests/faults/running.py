"""`tcptutor run` in the background, with what it showed, for a test that kills parts of it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Sequence

from tests import leftovers, patience
from tests.cli.command import TCPTUTOR

EXPERIMENT = [
    "parallel-streams/random-loss",
    "--set",
    "duration=2s",
    "--set",
    "warmup=0s",
    "--set",
    "rate=5Mbit/s",
]
WHERE = {
    # Where a host's kernel has no netem the rate alone is shaped.
    "host": ["--backend", "host", "--set", "delay=0", "--set", "loss=0"],
    "guest": ["--backend", "guest", "--clock", "virtual", "--set", "delay=20ms", "--set", "loss=0"],
}
VICTIMS = {"host": ("command", "tcptutor.agent.agent"), "guest": ("command", "qemu-system")}
"""What is killed, as it stands in its command line; "command" is `tcptutor run` itself."""


class Running:
    """One command. `shown` is the lab time that its progress line told last, s: so much had arrived."""

    def __init__(
        self, backend: str, command: Sequence[str] = (TCPTUTOR,), env: dict[str, str] | None = None
    ) -> None:
        # A terminal, so that there is a progress line.
        self._here, there = pty.openpty()
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "run", *EXPERIMENT, *WHERE[backend], "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=there,
            text=True,
            env=env,
        )
        os.close(there)
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other side is closed
            while data := os.read(self._here, 4096):
                self._output += data

    def end(self, seconds: float = 90) -> str:
        """Wait for it; what it wrote to standard output."""
        output, _ = self.process.communicate(timeout=patience.seconds(seconds))
        self._reader.join()
        os.close(self._here)
        return output

    @property
    def errors(self) -> str:
        """What it wrote to standard error, beside progress."""
        return self._output.decode(errors="replace").rpartition("\x1b[K")[2].replace("\r\n", "\n")

    @property
    def shown(self) -> float:
        told = re.findall(rb"([\d.]+) of 2 s", self._output)
        return float(told[-1]) if told else 0.0

    def kill(self, victim: str, mark: str, which: float) -> str:
        """SIGKILL to the victim as soon as there is one; its command line, or empty when all was over before.

        `which`, from 0 to 1, chooses among several.
        """
        while self.process.poll() is None:
            if victim == "command":
                self.process.kill()
                return TCPTUTOR
            if found := [line for line in leftovers.marked(mark) if victim in line]:
                line = found[int(which * len(found))]
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(line.split()[0]), signal.SIGKILL)
                    return line
            time.sleep(0.01)
        return ""
