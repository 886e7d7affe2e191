"""Readability rules for prose in a terminal column; used only by the linter."""

from __future__ import annotations

import re
from collections.abc import Iterator

CODE_COLUMNS = 44
"""Code is not wrapped: the prose column is about 46 wide on a terminal of 120."""
MAX_WORDS = 190
MAX_WORDS_AFTER = 130

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*")


def problems(text: str, title: str, max_words: int) -> Iterator[str]:
    """Yield the reasons `text`, shown under `title`, is not readable as a page."""
    if not text.strip():
        yield "is empty"
        return
    heading = _HEADING.fullmatch(text.strip().split("\n", 1)[0])
    if heading and heading[1].lower() == title.strip().lower():
        yield "its first line repeats the title, which is shown above it: remove the line"
    words = len(re.findall(r"\w\S*", text))
    if words > max_words:
        yield f"{words} words are too many for a page: at most {max_words}"
    yield from _code(text)


def _code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence and mark and mark[1].startswith(fence):
            fence = ""
        elif fence:
            if len(line) > CODE_COLUMNS:
                yield f"code of {len(line)} columns, at most {CODE_COLUMNS}: {line.strip()[:24]!r} ..."
        elif mark:
            fence = mark[1]
    if fence:
        yield f"the code block's closing {fence} is missing"


def is_sentence(text: str) -> bool:
    """Return True if `text` contains at least a short sentence."""
    return len(text.split()) >= 3 and text.rstrip()[-1:] in {".", "!", "?", ")", "”", '"'}
