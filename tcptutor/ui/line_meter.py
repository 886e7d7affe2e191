"""Measurement of the line to the terminal, so that charts and figures leave room for keys.

After a frame the terminal is asked where its cursor is. It answers once all output before the question has arrived: a
late answer means that output queues up on the way, over a slow SSH line for example. The next frame waits for the
answer, and then as long again as the line was busy, so that frames fill at most half of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

QUESTION = "\x1b[6n"
"""Asks for the cursor's position, which every terminal since the VT100 answers."""
_ASK_EVERY_S = 0.25
_LATE_S = 0.8
"""Seconds after which an answer is late. A line across the world takes 0.3 s."""
_GIVE_UP_S = 10.0
"""Seconds after which an answer is not expected any more, for example from a window that was detached."""
_LOOK_AGAIN_S = 0.05
_LONGEST_REST_S = 5.0
_BUSY_S = 0.1
"""Seconds of delay from which the line, and not the computer, is the cause."""
_LEAST_BYTES = 100
"""Bytes between two questions from which a rate is computed."""


class LineMeter:
    """Delay and rate of the line, from the answers to questions in the output."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wants_question = False
        self._asked: float | None = None
        """Time of the open question; None without an open question."""
        self._last_asked = -math.inf
        self._has_answered = False
        self._shortest = math.inf
        self._free_at = -math.inf
        self._busy_since: float | None = None
        """Time of the first output after the last question, or of the last answer if that is later."""
        self._bytes = 0
        """Bytes of output since the last question."""
        self._sample: tuple[int, float] = 0, 0.0
        """Bytes up to the open question, and since when the line carries them."""
        self.bytes_per_s: float | None = None
        """Rate of the line, bytes/s; None while the line keeps up."""

    def ask(self) -> None:
        """Ask after the next output, unless a question is open or was asked a moment ago."""
        if not self.is_waiting and self._clock() - self._last_asked >= _ASK_EVERY_S:
            self._wants_question = True

    def with_question(self, output: str) -> str:
        """Count output for the terminal, and append a question if it is due."""
        now = self._clock()
        self._bytes += len(output.encode(errors="replace"))
        if self._busy_since is None:
            self._busy_since = now
        if not self._wants_question or not output:
            return output
        self._sample, self._bytes, self._busy_since = (self._bytes, self._busy_since), 0, None
        self._wants_question, self._asked, self._last_asked = False, now, now
        return output + QUESTION

    def take_answer(self) -> None:
        """Take the terminal's answer."""
        if self._asked is None:
            return
        now, self._has_answered = self._clock(), True
        delay, self._asked = now - self._asked, None
        self._shortest = min(self._shortest, delay)
        busy = delay - self._shortest
        if busy > _BUSY_S:
            self._free_at = now + min(busy, _LONGEST_REST_S)
            sent, since = self._sample
            if sent >= _LEAST_BYTES:
                rate = sent / max(now - since - self._shortest, _BUSY_S)
                self.bytes_per_s = rate if self.bytes_per_s is None else (self.bytes_per_s + rate) / 2
        if self._busy_since is not None:
            self._busy_since = now

    @property
    def is_waiting(self) -> bool:
        """True while a question is open that the terminal should answer."""
        if self._asked is not None and self._clock() - self._asked > _GIVE_UP_S:
            self._asked = None
        return self._asked is not None

    @property
    def will_answer(self) -> bool:
        """True while an answer is on its way, from a terminal that has answered before."""
        return self._has_answered and self.is_waiting

    @property
    def is_late(self) -> bool:
        """True while the answer of a terminal that has answered before is late."""
        return self.will_answer and self._asked is not None and self._clock() - self._asked > _LATE_S

    @property
    def pause_s(self) -> float:
        """Seconds until the next frame of a chart or a figure may be drawn; 0 for now."""
        if self.will_answer:
            return _LOOK_AGAIN_S
        return max(0.0, self._free_at - self._clock())
