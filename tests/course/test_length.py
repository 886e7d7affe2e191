"""Lines of prose before there is something to do."""

from __future__ import annotations

import pytest

from tcptutor.authoring.texts import length_problems, line_count

LINE = "word " * 15 + "\n"
"""75 columns: a line by itself, with nothing of the next one."""


@pytest.mark.parametrize(
    ("prose", "lines"),
    [
        ("", 0),
        ("Short.\nStill the same line.", 1),
        ("One.\n\nTwo.\n\n- three\n- four\n1. five", 5),
        ("One.\n\n```\na drawing\nof two lines\n```\n\nTwo.", 2),
        ("One.\n\n| a | table |\n| --- | --- |\n| 1 | 2 |", 1),
        (LINE * 3, 3),
        (f"[{'w' * 20}](page:tcp-basics/a-larger-window) " * 3, 1),
    ],
)
def test_lines_are_those_of_text_at_78_columns(prose: str, lines: int) -> None:
    assert line_count(prose) == lines


def test_sixteen_lines_are_the_most() -> None:
    assert not list(length_problems(LINE * 16))
    (reason,) = length_problems(LINE * 17)
    assert reason.startswith("17 lines of prose at 78 columns, at most 16")
