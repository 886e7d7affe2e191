"""Letters of the numbers along an axis: ordinary text, or letters larger than a cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


def _one_line(text: str) -> Sequence[str]:
    return (text,)


class Lettering(NamedTuple):
    """How to write a text in cells."""

    height: int = 1
    """Lines of a text."""
    width: Callable[[str], int] = len
    """Columns of a text."""
    draw: Callable[[str], Sequence[str]] = _one_line
    """Lines of a text, all equally wide."""


PLAIN = Lettering()
