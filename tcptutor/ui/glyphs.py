"""Textual's filter of characters that a terminal cannot show."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tcptutor.base.glyphs import Glyphs, substitute

NOTICES: dict[Glyphs, str] = {
    "console": "The Linux console's font has no fine dots: charts are drawn in blocks. A terminal window shows them.",
    "ascii": "The locale is not UTF-8: charts are drawn in ASCII. `export LC_ALL=C.UTF-8`, "
    "in GNU screen `screen -U`, shows them whole.",
}


class GlyphFilter(LineFilter):
    """Filter that substitutes characters without moving any cell."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            Segment(substitute(segment.text, self._glyphs), segment.style, segment.control)
            for segment in segments
        ]


@lru_cache
def glyph_filter(glyphs: Glyphs) -> GlyphFilter:
    """Return the shared filter: Textual caches its results per filter."""
    return GlyphFilter(glyphs)
