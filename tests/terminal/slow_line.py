"""The app behind a slow line: its output arrives at a given rate, and the terminal answers when questions arrive."""

from __future__ import annotations

import os
import re
import select
import time

from tcptutor.ui.line_meter import QUESTION
from tests import patience
from tests.benchmarks.pty_app import PtyApp

_STEP_S = 0.02


class SlowLine(PtyApp):
    """A terminal at the end of a line of `rate` bytes per second; None for a fast one."""

    rate: float | None = None
    answers = True
    """False for a terminal that never answers questions."""
    _answered = 0

    def carry(self, seconds: float) -> None:
        """Let the line work for that long."""
        deadline, credit = time.monotonic() + seconds, 0.0
        while (now := time.monotonic()) < deadline:
            room = 65536 if self.rate is None else int(credit)
            if room and select.select([self._fd], [], [], _STEP_S)[0]:
                arrived = os.read(self._fd, room)
                self.output += arrived
                credit -= len(arrived)
                self._answer()
            if self.rate is not None:
                time.sleep(_STEP_S)
                credit = min(credit + self.rate * (time.monotonic() - now), self.rate * 5 * _STEP_S)

    def see(self, pattern: str, seconds: float = 30, since: int = 0) -> float:
        """Carry output until its text after byte `since` matches, and return how many seconds it took."""
        began, deadline = time.monotonic(), patience.Deadline(seconds)
        while not re.search(pattern, _text(self.output[since:])):
            assert deadline.left, f"{pattern!r} did not arrive:\n{_text(self.output[since:])[-2000:]}"
            self.carry(0.1)
        return time.monotonic() - began

    def _answer(self) -> None:
        asked = self.output.count(QUESTION.encode())
        for _ in range(asked - self._answered if self.answers else 0):
            self.key("\x1b[1;1R")
        self._answered = asked


def _text(output: bytes | bytearray) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode(errors="replace"))
