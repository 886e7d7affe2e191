"""The app in a pseudo-terminal, 120 x 36 unless told: keys in, bytes out, with the time at which they came."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tcptutor.ui.start import TEXTUAL_OPTIONS
from tests import patience
from tests.cli.command import TCPTUTOR

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class PtyApp:
    """A running app; `output` grows while one of the methods reads. A `with` block leaves no app behind."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        command: tuple[str, ...] = (TCPTUTOR,),
        size: tuple[int, int] = (120, 36),
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        """environment: what is otherwise than usual; None takes a name away."""
        self.started = time.monotonic()
        self.output = bytearray()
        pid, fd = pty.fork()
        if pid == 0:
            os.environ |= {
                "TERM": "xterm-256color",
                "XDG_DATA_HOME": str(data),
                "LC_ALL": "C.UTF-8",
                "COLORTERM": "truecolor",
                **TEXTUAL_OPTIONS,  # also for programs that don't start as the command does
            }
            for name, value in (environment or {}).items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            os.execv(command[0], [*command, *arguments])
        self.pid, self._fd, self._open, self._ended = pid, fd, True, False
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        if not self._ended:
            self.signal(signal.SIGKILL)
            self.reap()
        if self._open:
            self.hang_up()

    def read(self, seconds: float) -> None:
        """Read for that long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                try:
                    self.output += os.read(self._fd, 65536)
                except OSError:  # the app has ended and closed its side
                    return

    def wait_for(self, pattern: str, seconds: float = 30, since: int = 0) -> float:
        """The time at which text that matches `pattern` had been written, after byte `since` of the output."""
        deadline = patience.Deadline(seconds)
        while not re.search(pattern, _STYLE.sub("", self.output[since:].decode(errors="replace"))):
            if not select.select([self._fd], [], [], deadline.left)[0]:
                raise TimeoutError(f"{pattern!r} was not written in {seconds} s")
            self.output += os.read(self._fd, 65536)
        return time.monotonic()

    def processor_seconds(self) -> float:
        """What the app has taken of the processor since it began: the same whatever else the machine does."""
        words = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def key(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Close the terminal under the app."""
        self._open = False
        os.close(self._fd)

    def reap(self, seconds: float = 10) -> int:
        """Wait, once, for the app to end; it is killed after that time. Its exit code, negative for a signal."""
        deadline = patience.Deadline(seconds)
        while (ended := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if not deadline.left:
                os.kill(self.pid, signal.SIGKILL)
            if self._open:
                self.read(0.02)  # who is not read from may wait for it
            time.sleep(0.02)
        self._ended = True
        return os.waitstatus_to_exitcode(ended[1])

    def close(self) -> None:
        self.signal(signal.SIGTERM)
        self.reap()
        self.hang_up()
