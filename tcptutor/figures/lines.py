"""Line of cells: text, with a style name per cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from tcptutor.base.columns import wrapped

Piece = tuple[str, str]
"""Text and name of its style."""

TEXT, STRONG, MUTED, GOOD, BAD, WARN = "text", "strong", "muted", "good", "bad", "warn"
DATA, OTHER, ACK, QUEUE, RTT = "data", "other", "ack", "queue", "rtt"
"""Hues of segments and throughput, of a second flow, of ACKs, queue and RTT; the same everywhere."""
LIMIT, FRAME = "limit", "frame"
"""Acting limit, and outline of a drawing."""
STYLES = (TEXT, STRONG, MUTED, GOOD, BAD, WARN, DATA, OTHER, ACK, QUEUE, RTT, LIMIT, FRAME)
"""Styles of figures."""


@dataclass(frozen=True)
class Line:
    """Line of styled characters; blanks take the style to their left, since every change of style costs output."""

    text: str = ""
    styles: tuple[str, ...] = ()

    @classmethod
    def of(cls, *pieces: Piece) -> Line:
        return cls("".join(text for text, _ in pieces), tuple(style for text, style in pieces for _ in text))

    @property
    def width(self) -> int:
        return len(self.text)

    def cells(self) -> list[tuple[str, str]]:
        return list(zip(self.text, self.styles, strict=True))

    def pieces(self) -> Iterator[Piece]:
        """Yield runs of cells with the same style."""
        start = 0
        for style, group in groupby(self.styles):
            end = start + sum(1 for _ in group)
            yield self.text[start:end], style
            start = end

    def fit(self, width: int) -> Line:
        """Cut or pad to exactly `width` cells."""
        padding = width - len(self.text)
        if padding <= 0:
            return Line(self.text[:width], self.styles[:width])
        return Line(self.text + " " * padding, self.styles + (self.styles[-1:] or (TEXT,)) * padding)

    def append_at(self, column: int, right: Line) -> Line:
        """Append `right`, starting at `column`."""
        left = self.fit(column)
        return Line(left.text + right.text, left.styles + right.styles)

    def part(self, start: int, end: int) -> Line:
        return Line(self.text[start:end], self.styles[start:end])

    def changed_range(self, before: Line, start: int, end: int) -> tuple[int, int] | None:
        """Return the range of cells that differ from `before` between `start` and `end`; None if equal."""
        if self == before:
            return None
        now, then = (line.fit(end).cells() for line in (self, before))
        differs = [at for at in range(start, end) if now[at] != then[at]]
        return (differs[0], differs[-1] + 1) if differs else None


def spread(left: Line, right: Line, width: int) -> Line:
    """Align two lines to both ends; `right` is dropped if they do not fit."""
    gap = width - left.width - right.width
    return left.append_at(width - right.width, right) if gap >= 2 else left.fit(min(width, left.width))


def paragraph(lead: str, style: str, text: str, width: int, indent: str = "") -> list[Line]:
    """Wrap `text` after `lead`, which has a style of its own."""
    lines = wrapped(lead + text, width, indent)
    head = len(indent) + len(lead)
    return [
        Line.of((line[:head], style), (line[head:], TEXT)) if number == 0 else Line.of((line, TEXT))
        for number, line in enumerate(lines)
    ]
