"""Stack of layers that data passes on its way through a host: application, TCP, queue discipline, network card.

[[figure]]
id = "limits"
kind = "stack"

[[figure.layer]]
name = "TCP"
note = "counts data"                         # optional, at the right edge
parts = [{ text = "in flight", share = "60 %" }, { text = "room" }]   # optional: how the layer's memory is used
limit = "--fq-rate"                          # optional: the limit that acts here
"""

from __future__ import annotations

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError
from tcptutor.figures.figure import Figure, Problem
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import ACK, DATA, FRAME, LIMIT, MUTED, QUEUE, STRONG, TEXT, Line

_FILLS = ("█", "▒", "░", "·")
_PART_STYLES = (DATA, QUEUE, ACK, MUTED)


class LayerPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """LayerPart of a layer's memory."""

    text: str
    share: str = ""
    """Share of the layer, "60 %"; those without one divide the rest."""


class StackLayer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """StackLayer of the stack: `[[figure.layer]]`, from the top."""

    name: str
    note: str = ""
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
    """Layers from the top to the bottom, with an arrow between two of them."""

    layers: tuple[StackLayer, ...] = msgspec.field(name="layer", default=())

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

    def draw(self, width: int, t: float = 0.0) -> list[Line]:  # noqa: ARG002
        grid = Grid(width, sum(3 + (2 if layer.parts else 0) for layer in self.layers) + len(self.layers) - 1)
        row = 0
        for number, layer in enumerate(self.layers):
            if number:
                grid.put_center(0, width, row, "↓", MUTED)
                row += 1
            row += _draw_layer(grid, layer, row)
        return grid.lines()

    def describe(self) -> str:
        return f"From the top: {'; '.join(_in_words(layer) for layer in self.layers)}."


KIND = StackFigure


def _draw_layer(grid: Grid, layer: StackLayer, row: int) -> int:
    height = 5 if layer.parts else 3
    grid.box(0, row, grid.width, height, FRAME)
    grid.put(2, row + 1, layer.name, STRONG)
    note = " · ".join(filter(None, (layer.note, layer.limit)))
    grid.put_right(grid.width - 2, row + 1, note, LIMIT if layer.limit else TEXT)
    if layer.parts:
        _draw_parts(grid, layer, row + 2)
    return height


def _draw_parts(grid: Grid, layer: StackLayer, row: int) -> None:
    room, column = grid.width - 4, 2
    for number, (part, share) in enumerate(zip(layer.parts, layer.shares, strict=True)):
        columns = round(room * share)
        style = _PART_STYLES[number % len(_PART_STYLES)]
        grid.put(column, row, _FILLS[number % len(_FILLS)] * columns, style)
        grid.put(column, row + 1, part.text[: max(0, columns - 1)], style)
        column += columns


def _in_words(layer: StackLayer) -> str:
    details = [detail for detail in (layer.note, layer.limit and f"limit {layer.limit}") if detail]
    details += [
        f"{part.text} ({units.percent(share)})" for part, share in zip(layer.parts, layer.shares, strict=True)
    ]
    return f"{layer.name}: {', '.join(details)}" if details else layer.name
