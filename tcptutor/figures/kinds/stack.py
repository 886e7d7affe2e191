"""Stack of layers that data passes on its way through a host: application, TCP, queue discipline, network card.

[[figure]]
id = "limits"
kind = "stack"
host = "h1"                                  # optional: in the outline
direction = "up"                             # optional: the way of the data; down by default

[[figure.layer]]
name = "TCP"
note = "counts data"                         # optional: next to the name
limit = "--fq-rate"                          # optional: the limit that acts here, at a bracket

[[figure.layer]]
name = "receive buffer"
parts = [                                    # optional: how its memory is used
    { text = "not read yet", share = "60 %" },
    { text = "receive window", empty = true, limit = true },     # room; a bracket shows that it limits the data
]
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError
from tcptutor.figures.figure import MIN_WIDTH, Figure, Problem
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import ACK, DATA, FRAME, LIMIT, MUTED, QUEUE, STRONG, TEXT, Line

_FILLS = (("█", DATA), ("▒", QUEUE), ("░", ACK))
_EMPTY = ("·", MUTED)
_ARROWS = {"down": "↓", "up": "↑"}
_BRACKET = 3
"""Columns between the outline and the name of a limit."""
_WIDEST = 56
"""Columns of the outline; a wider outline would separate names from limits."""


class LayerPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a layer's memory."""

    text: str
    """Label."""
    share: str = ""
    """Share of the layer, "60 %"; parts without a share divide the rest evenly."""
    empty: bool = False
    """True for memory without data."""
    limit: bool = False
    """True if its size limits the data."""


class StackLayer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Layer of the stack: `[[figure.layer]]`, from the top."""

    name: str
    """Name."""
    note: str = ""
    """Text next to the name."""
    limit: str = ""
    """Limit that acts at this layer."""
    parts: tuple[LayerPart, ...] = ()

    @property
    def shares(self) -> list[float]:
        """Shares of the parts, from 0 to 1."""
        stated = [units.parse(part.share, "ratio") if part.share else None for part in self.parts]
        open_ = stated.count(None)
        rest = max(0.0, 1 - sum(share for share in stated if share is not None)) / max(1, open_)
        return [rest if share is None else share for share in stated]


class StackFigure(Figure, frozen=True, kw_only=True, tag_field="kind", tag="stack"):
    """Layers from top to bottom, in a common outline."""

    layers: tuple[StackLayer, ...] = msgspec.field(name="layer", default=())
    host: str = ""
    """Host in the outline."""
    direction: Literal["down", "up"] = "down"
    """Way of the data."""

    def contradiction(self) -> Problem | None:
        if len(self.layers) < 2:
            return "layer", "a stack needs at least two layers"
        for number, layer in enumerate(self.layers, start=1):
            try:
                total = sum(layer.shares)
            except UnitError as error:
                return f"layer[{number}].parts", str(error)
            if total > 1 + 1e-9:
                return f"layer[{number}].parts", "the shares are more than 100 % together"
        return None

    def problems(self) -> Iterator[Problem]:
        text = " ".join(" ".join(line.text for line in self.draw(MIN_WIDTH)).split())
        for layer in self.layers:
            words = [layer.name, *layer.note.split(), *layer.limit.split()]
            words += [word for part in layer.parts for word in part.text.split()]
            for word in words:
                if word not in text:
                    yield "layer", f"has no place for {word!r} in {MIN_WIDTH} columns: shorten it"

    def draw(self, width: int, t: float = 0.0) -> list[Line]:  # noqa: ARG002
        limits = max(len(layer.limit) for layer in self.layers) + _BRACKET
        inside = max(map(_least_width, self.layers))
        # Limits stand right of the outline, or in it where that is too narrow.
        beside = limits > _BRACKET and inside + limits <= width
        outline = min(width - limits * beside, _WIDEST)
        drawings = [_LayerDrawing(layer, outline - 4, beside) for layer in self.layers]
        grid = Grid(width, sum(drawing.height + 1 for drawing in drawings) + 1)
        row = 0
        for number, drawing in enumerate(drawings):
            edge = "├" + "─" * (outline - 2) + "┤" if number else "┌" + "─" * (outline - 2) + "┐"
            grid.put(0, row, edge, FRAME)
            if number:
                grid.put_center(0, outline, row, f" {_ARROWS[self.direction]} ", MUTED)
            for edge_column in (0, outline - 1):
                grid.column_of(edge_column, row + 1, row + drawing.height, "│", FRAME)
            drawing.draw(grid, row + 1)
            row += drawing.height + 1
        grid.put(0, row, "└" + "─" * (outline - 2) + "┘", FRAME)
        if self.host:
            grid.put(2, 0, f" {self.host} ", STRONG)
        return grid.lines()

    def describe(self) -> str:
        where = f"On {self.host}, from" if self.host else "From"
        layers = "; ".join(map(_in_words, self.layers))
        return f"{where} the top, with data going {self.direction}: {layers}."


KIND = StackFigure


class _LayerDrawing:
    """Layer in an outline with `room` columns of content."""

    def __init__(self, layer: StackLayer, room: int, beside: bool) -> None:
        self._layer, self._room, self._beside = layer, room, beside
        ends = list(accumulate((room * share for share in layer.shares), initial=0.0))
        self._edges = [round(end) for end in ends]
        self._labels = [
            textwrap.wrap(part.text, max(end - start - 1, 1), break_long_words=False)
            for part, start, end in zip(layer.parts, self._edges, self._edges[1:], strict=False)
        ]
        self._has_bracket = any(part.limit for part in layer.parts)

    @property
    def height(self) -> int:
        return self._heading_lines + self._part_lines

    @property
    def _heading_lines(self) -> int:
        return 1 + bool(self._limit_inside and not self._fits_heading)

    @property
    def _limit_inside(self) -> str:
        return f"limit: {self._layer.limit}" if self._layer.limit and not self._beside else ""

    @property
    def _fits_heading(self) -> bool:
        layer = self._layer
        return not layer.note and len(layer.name) + 2 + len(self._limit_inside) <= self._room

    @property
    def _part_lines(self) -> int:
        return 1 + self._has_bracket + max(map(len, self._labels)) if self._layer.parts else 0

    def draw(self, grid: Grid, row: int) -> None:
        layer = self._layer
        grid.put(2, row, layer.name, STRONG)
        grid.put_right(2 + self._room, row, layer.note, TEXT)
        if layer.limit and self._beside:
            self._draw_limit(grid, row)
        grid.put_right(2 + self._room, row + self._heading_lines - 1, self._limit_inside, LIMIT)
        self._draw_parts(grid, row + self._heading_lines)

    def _draw_limit(self, grid: Grid, row: int) -> None:
        """Draw a bracket along the layer, with the limit at its middle."""
        column, last = self._room + 4, row + self.height - 1
        middle = (row + last) // 2
        if self.height > 1:
            grid.put(column, row, "┐", LIMIT)
            grid.column_of(column, row + 1, last - 1, "│", LIMIT)
            grid.put(column, last, "┘", LIMIT)
        corner = "◂" if self.height == 1 else "┬" if middle == row else "├"
        grid.put(column, middle, f"{corner}─ {self._layer.limit}", LIMIT)

    def _draw_parts(self, grid: Grid, row: int) -> None:
        fills = iter(_FILLS * 2)
        for part, label, start, end in zip(
            self._layer.parts, self._labels, self._edges, self._edges[1:], strict=False
        ):
            fill, style = _EMPTY if part.empty else next(fills)
            grid.put(2 + start, row, fill * (end - start), style)
            if part.limit:
                grid.put(2 + start, row + 1, "└" + "─" * (end - start - 2) + "┘", LIMIT)
            for line, text in enumerate(label, start=row + 1 + self._has_bracket):
                grid.put(
                    2 + start,
                    line,
                    text[: self._room - start],
                    LIMIT if part.limit else TEXT if part.empty else style,
                )


def _least_width(layer: StackLayer) -> int:
    """Return the columns of an outline for a layer with its limit next to it."""
    heading = len(layer.name) + (2 + len(layer.note) if layer.note else 0) + 4
    return max(heading, MIN_WIDTH) if layer.parts else heading


def _in_words(layer: StackLayer) -> str:
    details = [detail for detail in (layer.note, layer.limit and f"limit {layer.limit}") if detail]
    for part in layer.parts:
        facts = ", ".join(filter(None, [part.share, "the limit" if part.limit else ""]))
        details.append(f"{part.text} ({facts})" if facts else part.text)
    return f"{layer.name}: {', '.join(details)}" if details else layer.name
