"""Lecture files, which one teacher gives to another."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tcptutor.base.printable import is_printable
from tcptutor.course import outline
from tcptutor.course.outline import Course
from tcptutor.room.lecture_file import MOST_SLIDES, read_lecture, write_lecture
from tests.fuzz.reader import Reader

_LECTURE = """
title = "Größer"
minutes = 45
[[slide]]
title = "Own"
text = '''
- one

```
code
```
'''
notes = "Wait."
[[slide]]
page = "parallel-streams/one-lossy-flow"
minutes = 8
ask = ["predict", "less-loss"]
[[slide]]
page = "3.12"
steps = ["opening", "ask predict", "run 1", "run 16", "verdict", "figure corner", "idea"]
[[slide]]
module = "pacing"
hide = ["how-fast-to-pace"]
add = ["token-buckets"]
[[slide]]
title = "Who?"
flows = "parallel-streams/one-window"
algorithms = ["bbr", "reno"]
"""


@cache
def _course() -> Course:
    return outline.load()


def _lecture(path: Path) -> None:
    lecture = read_lecture(path, _course())
    assert 1 <= len(lecture.slides) <= MOST_SLIDES
    for slide in lecture.slides:
        assert slide.minutes >= 0
        assert is_printable(slide.headline)
        assert is_printable(slide.notes, lines=True)
        for step in slide.steps:
            assert is_printable(str(getattr(step, "markdown", "")), lines=True)


READERS = (
    Reader(
        "lecture",
        ".toml",
        lambda: [_LECTURE.encode(), write_lecture(_course(), "broken-labs").encode()],
        _lecture,
    ),
)
