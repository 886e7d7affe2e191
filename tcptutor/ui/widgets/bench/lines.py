"""A line of the screen: a character and the name of its style for each cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from tcptutor.ui import words

Piece = tuple[str, str]
"""Text, and the name of its style."""

TEXT, STRONG, MUTED, GOOD, BAD, WARN = "text", "strong", "muted", "good", "bad", "warn"


@dataclass(frozen=True)
class Line:
    """One line; a blank has the style of what stands before it, since every change of style costs bytes."""

    text: str = ""
    styles: tuple[str, ...] = ()

    @classmethod
    def of(cls, *pieces: Piece) -> Line:
        return cls("".join(text for text, _ in pieces), tuple(style for text, style in pieces for _ in text))

    @property
    def width(self) -> int:
        return len(self.text)

    def cells(self) -> list[tuple[str, str]]:
        """Character and style of each cell."""
        return list(zip(self.text, self.styles, strict=True))

    def pieces(self) -> Iterator[Piece]:
        """Runs of cells of one style."""
        start = 0
        for style, group in groupby(self.styles):
            end = start + sum(1 for _ in group)
            yield self.text[start:end], style
            start = end

    def fitted(self, width: int) -> Line:
        """Exactly so wide: cut, or filled up with blanks."""
        missing = width - len(self.text)
        if missing <= 0:
            return Line(self.text[:width], self.styles[:width])
        return Line(self.text + " " * missing, self.styles + (self.styles[-1:] or (TEXT,)) * missing)

    def and_at(self, column: int, right: Line) -> Line:
        """With `right` from that column on."""
        left = self.fitted(column)
        return Line(left.text + right.text, left.styles + right.styles)

    def part(self, start: int, end: int) -> Line:
        """Its cells from `start` to before `end`."""
        return Line(self.text[start:end], self.styles[start:end])

    def changed(self, before: Line, start: int, end: int) -> tuple[int, int] | None:
        """From where to where, between `start` and `end`, it differs from what it was; None if it does not."""
        if self == before:
            return None
        now, then = (line.fitted(end).cells() for line in (self, before))
        differs = [at for at in range(start, end) if now[at] != then[at]]
        return (differs[0], differs[-1] + 1) if differs else None


def spread(left: Line, right: Line, width: int) -> Line:
    """One at each end; the right one gives way where both do not fit."""
    gap = width - left.width - right.width
    return left.and_at(width - right.width, right) if gap >= 2 else left.fitted(min(width, left.width))


def paragraph(what: str, style: str, text: str, width: int, indent: str = "") -> list[Line]:
    """`text` wrapped, with `what` before it in a style of its own."""
    wrapped = words.wrapped(what + text, width, indent)
    head = len(indent) + len(what)
    return [
        Line.of((line[:head], style), (line[head:], TEXT)) if number == 0 else Line.of((line, TEXT))
        for number, line in enumerate(wrapped)
    ]
