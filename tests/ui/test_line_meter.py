"""Measuring the line to the terminal: frames wait for answers, and leave room for keys."""

from __future__ import annotations

import pytest

from tcptutor.ui.line_meter import QUESTION, LineMeter


class Line:
    """A meter at the end of a line of `rate` bytes per second and `delay` seconds, on a clock of its own."""

    def __init__(self, rate: float, delay: float = 0.05) -> None:
        self.now, self._free, self._rate, self._delay = 0.0, 0.0, rate, delay
        self.meter = LineMeter(lambda: self.now)

    def draw(self, size: int) -> float:
        """Draw a frame, wait until the next may be drawn, and return how long that took."""
        began = self.now
        self.meter.ask()
        output = self.meter.with_question("x" * size)
        self._free = max(self._free, self.now) + size / self._rate
        if output.endswith(QUESTION):
            while self.now < self._free + self._delay:
                self.now += 0.05
            self.meter.take_answer()
        while pause := self.meter.pause_s:
            self.now += pause
        return self.now - began


def test_a_fast_line_never_waits() -> None:
    line = Line(1e6)
    for _ in range(5):
        assert line.draw(2000) < 0.2
        line.now += 0.5
    assert line.meter.bytes_per_s is None


@pytest.mark.parametrize("rate", [1200, 8000])
def test_frames_fill_half_of_a_slow_line(rate: int) -> None:
    line = Line(rate)
    line.draw(1)
    line.now += 1
    took = [line.draw(2400) for _ in range(4)]
    assert all(2 * 2400 / rate * 0.7 < each < 2 * 2400 / rate * 1.5 for each in took[1:])
    assert line.meter.bytes_per_s == pytest.approx(rate, rel=0.4)


def test_a_terminal_that_never_answers_is_not_waited_for() -> None:
    meter = LineMeter(lambda: 0.0)
    meter.ask()
    assert meter.with_question("frame").endswith(QUESTION)
    assert meter.pause_s == 0
    meter.ask()
    assert meter.with_question("frame") == "frame", "one question at a time"


def test_an_answer_that_is_lost_is_given_up() -> None:
    now = [0.0]
    meter = LineMeter(lambda: now[0])
    for _ in range(2):
        meter.ask()
        meter.with_question("frame")
        if now[0] == 0:
            meter.take_answer()
        now[0] += 1
    assert meter.is_late
    assert meter.pause_s > 0
    now[0] += 60
    assert meter.pause_s == 0
