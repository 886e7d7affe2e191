"""Line breaks in all texts of the app: a number and its unit stay on the same line."""

from __future__ import annotations

import textual.content
from rich._wrap import divide_line

from tcptutor.base.columns import QUANTITY_BLANK


def keep_quantities_whole() -> None:
    """Let Textual break no line between a number and its unit.

    Textual has no setting for it, and it breaks lines at no-break spaces too.
    """
    textual.content.divide_line = _breaks  # type: ignore[attr-defined]


def _breaks(text: str, width: int, fold: bool = True) -> list[int]:
    """Return the places at which `text` is broken into lines of `width` columns, as rich does."""
    return divide_line(QUANTITY_BLANK.sub("_", text), width, fold)
