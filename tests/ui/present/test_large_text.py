"""Large letters: every character of the course's titles, sizes in cells, and the question to the terminal."""

from __future__ import annotations

import os
import pty
import threading

import pytest

from tcptutor.course.outline import Course
from tcptutor.ui.present import large_text, text_sizing
from tcptutor.ui.present.large_glyphs import ROWS, glyphs


def test_digits_have_the_promised_height() -> None:
    for size in (3, 5):
        lines = large_text.draw("1234567890", size)
        drawn = [line for line in lines if line.strip()]
        assert len(drawn) == size
        assert {len(line) for line in lines} == {large_text.width("1234567890", size)}


def test_no_two_glyphs_look_alike() -> None:
    shapes = {name: rows for name, rows in glyphs().items() if name not in "–—"}
    assert len(set(shapes.values())) == len(shapes)
    assert all(len(rows) == ROWS and len({len(row) for row in rows}) == 1 for rows in shapes.values())


def test_titles_of_the_course_are_drawable(course: Course) -> None:
    titles = [step.title for module in course.modules for step in module.steps]
    assert [title for title in titles if not large_text.is_drawable(title)] == []


def test_accents_and_quotes_fold_to_plain_letters() -> None:
    assert large_text.draw("Žižkov’s é", 3) == large_text.draw("Zizkov's e", 3)
    assert not large_text.is_drawable("輻輳")


def test_lines_keep_to_the_width() -> None:
    lines = large_text.wrap("Flow control: the receive window decides", 100, 3)
    assert " ".join(lines) == "Flow control: the receive window decides"
    assert len(lines) > 1
    assert all(large_text.width(line, 3) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        (b"\x1b[5;1R\x1b[5;3R\x1b[?62c", True),
        (b"\x1b[5;1R\x1b[5;1R\x1b[?62c", False),  # ignored
        (b"\x1b[5;1R\x1b[5;12R\x1b[?62c", False),  # printed
        (b"\x1b[?62c", False),
        (b"", False),
    ],
)
def test_the_terminal_is_asked_once_and_left_as_it_was(answer: bytes, supported: bool) -> None:
    controller, terminal = pty.openpty()
    try:
        before = text_sizing.termios.tcgetattr(terminal)

        def respond() -> None:
            asked = b""
            while not asked.endswith(b"\x1b[c"):
                asked += os.read(controller, 1024)
            os.write(controller, answer or b"\x1b[?62c")

        responding = threading.Thread(target=respond)
        responding.start()
        assert text_sizing.is_supported({"TERM": "xterm-256color"}, terminal) is supported
        responding.join()
        assert text_sizing.termios.tcgetattr(terminal) == before
    finally:
        os.close(controller)
        os.close(terminal)


def test_scaled_text_holds_no_control_characters() -> None:
    assert text_sizing.sequence("9.4\x1b]0;x\x07", 3) == "\x1b]66;s=3;9.4]0;x\x07"


@pytest.mark.parametrize("environment", [{"TERM": "linux"}, {"TERM": "xterm-kitty", "NO_TEXT_SIZING": "1"}])
def test_a_terminal_that_cannot_scale_text_is_not_asked(environment: dict[str, str]) -> None:
    controller, terminal = pty.openpty()
    try:
        assert not text_sizing.is_supported(environment, terminal)
        os.set_blocking(controller, False)
        with pytest.raises(BlockingIOError):
            os.read(controller, 1)
    finally:
        os.close(controller)
        os.close(terminal)
