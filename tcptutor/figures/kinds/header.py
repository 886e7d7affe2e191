"""Header: fields as boxes on a ruler of 32 bits, or the parts of a frame side by side, with their bytes.

[[figure]]
id = "syn"
kind = "header"
layout = "tcp"                  # or "ipv4", "udp", "syn-options", "frame"; fields of its own follow those of the layout
values = { "source port" = "51314", flags = "SYN" }     # optional: by field
marked = ["sequence number"]    # optional: fields with a heavy outline
to_scale = true                 # only for a frame: a second row has the parts in their proportions

[[figure.field]]
name = "options"
bytes = 20                      # or bits
value = "mss 1460"              # optional

[[figure.bracket]]              # only for a frame: a bracket below some parts
from = "Ethernet"
to = "TCP"
text = "66 bytes of headers"
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

import msgspec

from tcptutor.base import units
from tcptutor.figures.figure import MIN_WIDTH, Figure, Problem
from tcptutor.figures.grid import Grid
from tcptutor.figures.header_layouts import LAYOUTS, HeaderLayout, LayoutField
from tcptutor.figures.lines import DATA, FRAME, LIMIT, MUTED, STRONG, TEXT, Line, Piece

_ROW = 32
"""Bits of a row."""
_TO_SCALE = " to scale"
_WIDEST_FRAME = 60
"""Columns of a frame: its parts are not to scale anyway."""


class HeaderField(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Field after the layout's own fields: `[[figure.field]]`."""

    name: str
    """Name."""
    bits: int = 0
    """Length in bits; or `bytes`."""
    bytes: int = 0
    """Length in bytes."""
    value: str = ""
    """Value to show."""


class HeaderBracket(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bracket below the parts of a frame: `[[figure.bracket]]`."""

    first: str = msgspec.field(name="from")
    """First part."""
    last: str = msgspec.field(name="to")
    """Last part."""
    text: str
    """Label."""


class HeaderFigure(Figure, frozen=True, kw_only=True, tag_field="kind", tag="header"):
    """Fields of a header, or parts of a frame."""

    layout: Literal["", "tcp", "syn-options", "ipv4", "udp", "frame"] = ""
    """A known header; without one, `field` has all fields."""
    values: dict[str, str] = msgspec.field(default_factory=dict)
    """Values by field."""
    marked: tuple[str, ...] = ()
    """Fields to mark."""
    own: tuple[HeaderField, ...] = msgspec.field(name="field", default=())
    brackets: tuple[HeaderBracket, ...] = msgspec.field(name="bracket", default=())
    to_scale: bool = False
    """Of a frame: whether a second row has the parts in proportion."""

    @property
    def fields(self) -> tuple[LayoutField, ...]:
        """All fields, in order."""
        own = tuple(LayoutField(each.name, each.bits + 8 * each.bytes) for each in self.own)
        return self._layout.fields + own

    @property
    def in_bytes(self) -> bool:
        """True for parts of a frame; False for a ruler of bits."""
        return self._layout.in_bytes or not (self.layout or any(each.bits for each in self.own))

    def value(self, name: str) -> str:
        own = next((each.value for each in self.own if each.name == name), "")
        return self.values.get(name) or own

    def contradiction(self) -> Problem | None:
        if not self.fields:
            return "layout", "a header needs a layout or fields"
        for number, each in enumerate(self.own, start=1):
            if (each.bits > 0) == (each.bytes > 0):
                return f"field[{number}]", "a field needs either bits or bytes"
        names = {each.name for each in self.fields}
        named = (*self.values, *self.marked, *(each.first for each in self.brackets))
        for name in (*named, *(each.last for each in self.brackets)):
            if name not in names:
                return "values", f"there is no field {name!r}: write {', '.join(sorted(names))}"
        if not self.in_bytes:
            return self._row_contradiction()
        return None

    def _row_contradiction(self) -> Problem | None:
        if self.brackets or self.to_scale:
            return "bracket", "brackets and a scale belong to a frame: give all fields in bytes"
        at = 0
        for each in self.fields:
            if at % _ROW + each.bits > _ROW and at % _ROW:
                return "field", f"{each.name!r} begins in a row of {_ROW} bits and ends in the next one"
            at += each.bits
        return None

    def problems(self) -> Iterator[Problem]:
        text = "\n".join(line.text for line in self.draw(MIN_WIDTH))
        for each in self.fields:
            for word in (each.short or each.name, self.value(each.name)):
                if word not in text and each.name not in text:
                    yield "", f"has no place for {word!r} in {MIN_WIDTH} columns: shorten it"

    def draw(self, width: int, t: float = 0.0) -> list[Line]:  # noqa: ARG002
        return _draw_parts(self, width) if self.in_bytes else _draw_rows(self, width)

    def describe(self) -> str:
        title = self._layout.title
        total = sum(each.bits for each in self.fields)
        fields = "; ".join(self._in_words(each) for each in self.fields)
        sentences = [f"{title}, {_size(total)}: {fields}"]
        sentences += [f"{each.first} to {each.last}: {each.text}" for each in self.brackets]
        if self.to_scale:
            largest = max(self.fields, key=lambda field: field.bits)
            sentences.append(f"Of all bytes, {units.percent(largest.bits / total)} are {largest.name}")
        if self.marked:
            sentences.append(f"Marked: {', '.join(self.marked)}")
        return " ".join(f"{sentence}." for sentence in sentences)

    def _in_words(self, field: LayoutField) -> str:
        return f"{field.name} {self.value(field.name)}".rstrip() + f" ({_size(field.bits)})"

    @property
    def _layout(self) -> HeaderLayout:
        return LAYOUTS.get(self.layout) or HeaderLayout("Fields", ())


KIND = HeaderFigure


def _size(bits: int) -> str:
    if bits % 8:
        return "1 bit" if bits == 1 else f"{bits} bits"
    return "1 byte" if bits == 8 else f"{bits // 8} bytes"


# A ruler of bits


class _Box(NamedTuple):
    field: LayoutField
    left: int
    top: int
    """Row of its upper edge."""
    columns: int
    """Columns up to its right edge, which the next box shares."""
    height: int
    """Lines of text."""


def _draw_rows(figure: HeaderFigure, width: int) -> list[Line]:
    per_bit = 2 if width > 2 * _ROW else 1
    rows = list(_boxes(figure, per_bit))
    last = rows[-1][0]
    grid = Grid(_ROW * per_bit + 1, last.top + last.height + 2)
    for bit in (0, 8, 16, 24):
        grid.put(bit * per_bit, 0, str(bit), MUTED)
    grid.put_right(grid.width, 0, str(_ROW - 1) + " bits" * (per_bit > 1), MUTED)
    for above, below in pairwise([[], *rows, []]):
        top = below[0].top if below else grid.height - 1
        upper, lower = ({0, *(box.left + box.columns for box in row)} for row in (above, below))
        upper, lower = upper if above else set(), lower if below else set()
        for column in range(max(upper | lower) + 1):
            grid.put(column, top, _crossing(column, upper, lower), FRAME)
    boxes = [box for row in rows for box in row]
    for box in boxes:
        for edge in (box.left, box.left + box.columns):
            grid.column_of(edge, box.top + 1, box.top + box.height, "│", FRAME)
        _draw_texts(grid, figure, box)
    for box in boxes:
        if box.field.name in figure.marked:
            _outline(grid, box.left, box.top, box.columns, box.height + 2)
    return grid.lines()


def _boxes(figure: HeaderFigure, per_bit: int) -> Iterator[list[_Box]]:
    """Yield the boxes of each row, from the top."""
    top = 1
    for row in _rows(figure.fields):
        height = max(len(_texts(figure, each, _columns(each, per_bit))) for each in row)
        lefts = accumulate((_columns(each, per_bit) for each in row), initial=0)
        yield [
            _Box(each, left, top, _columns(each, per_bit), height)
            for each, left in zip(row, lefts, strict=False)
        ]
        top += height + 1


def _rows(fields: tuple[LayoutField, ...]) -> list[list[LayoutField]]:
    """Return the fields of each row; a field longer than a row gets a single row."""
    rows: list[list[LayoutField]] = []
    at = 0
    for each in fields:
        if at % _ROW == 0:
            rows.append([])
        rows[-1].append(each)
        at += min(each.bits, _ROW)
    return rows


def _columns(field: LayoutField, per_bit: int) -> int:
    return min(field.bits, _ROW) * per_bit


def _crossing(column: int, above: set[int], below: set[int]) -> str:
    """Return the character of a line between two rows with these edges of boxes."""
    first, last = 0, max(above | below)
    up, down = column in above, column in below
    if column == first:
        return "├" if up and down else "└" if up else "┌"
    if column == last:
        return "┤" if up and down else "┘" if up else "┐"
    return {(True, True): "┼", (True, False): "┴", (False, True): "┬", (False, False): "─"}[up, down]


def _texts(figure: HeaderFigure, field: LayoutField, columns: int) -> list[list[Piece]]:
    """Return the lines of a box, as pieces: name and value in the same line if they fit."""
    room, value = columns - 1, figure.value(field.name)
    size = f" ({_size(field.bits)})" if field.bits > _ROW else ""
    name = (field.name if len(field.name) <= room or not field.short else field.short) + size
    style = STRONG if field.name in figure.marked else MUTED if value else TEXT
    if not value:
        return [[(name, style)]]
    if len(name) + 1 + len(value) <= room:
        return [[(name, style), (" ", TEXT), (value, field.style)]]
    return [[(name, style)], [(value, field.style)]]


def _draw_texts(grid: Grid, figure: HeaderFigure, box: _Box) -> None:
    room = box.columns - 1
    for row, pieces in enumerate(_texts(figure, box.field, box.columns), start=box.top + 1):
        line = Line.of(*pieces).part(0, room)
        column = box.left + 1 + (room - line.width) // 2
        for text, style in line.pieces():
            grid.put(column, row, text, style)
            column += len(text)


_HEAVY_CORNERS = (
    (str.maketrans("┌┬├┼", "┏┲┢╆"), str.maketrans("┐┬┤┼", "┓┱┪╅")),
    (str.maketrans("└┴├┼", "┗┺┡╄"), str.maketrans("┘┴┤┼", "┛┹┩╃")),
)
"""Corners of a heavy outline where light lines meet: upper and lower, each left and right."""


def _outline(grid: Grid, left: int, top: int, columns: int, height: int) -> None:
    """Draw the outline of a box in heavy lines."""
    for row in (top, top + height - 1):
        grid.put(left + 1, row, "━" * (columns - 1), LIMIT)
    for column in (left, left + columns):
        grid.column_of(column, top + 1, top + height - 2, "┃", LIMIT)
        for row in (top, top + height - 1):
            corner = _HEAVY_CORNERS[row > top][column > left]
            grid.put(column, row, grid.at(column, row)[0].translate(corner), LIMIT)


# Parts of a frame


def _draw_parts(figure: HeaderFigure, width: int) -> list[Line]:
    fields = figure.fields
    widths = _part_widths(figure, width - 1)
    grid = Grid(sum(widths) + 1, 5 + 2 * bool(figure.brackets) + figure.to_scale)
    total = _size(sum(each.bits for each in fields))
    grid.put(0, 0, "├" + "─" * (grid.width - 2) + "┤", MUTED)
    grid.put_center(0, grid.width, 0, f" {total} ", MUTED)
    lefts = dict(zip((each.name for each in fields), accumulate(widths, initial=0), strict=False))
    ends = {each.name: lefts[each.name] + columns for each, columns in zip(fields, widths, strict=True)}
    for each in fields:
        left, columns = lefts[each.name], ends[each.name] - lefts[each.name]
        grid.box(left, 1, columns + 1, 4, FRAME)
        grid.put_center(left + 1, columns - 1, 2, each.name, _part_style(figure, each))
        grid.put_center(left + 1, columns - 1, 3, figure.value(each.name) or f"{each.bits // 8}", TEXT)
    for left in [*lefts.values()][1:]:
        grid.put(left, 1, "┬", FRAME)
        grid.put(left, 4, "┴", FRAME)
    for each in fields:
        if each.name in figure.marked:
            _outline(grid, lefts[each.name], 1, ends[each.name] - lefts[each.name], 4)
    for bracket in figure.brackets:
        left, end = lefts[bracket.first], ends[bracket.last]
        grid.put(left, 5, "└" + "─" * (end - left - 1) + "┘", LIMIT)
        start = min(max(0, left + (end - left + 1 - len(bracket.text)) // 2), grid.width - len(bracket.text))
        grid.put(start, 6, bracket.text, LIMIT)
    if figure.to_scale:
        _draw_scale(grid, figure)
    return grid.lines()


def _part_style(figure: HeaderFigure, field: LayoutField) -> str:
    return STRONG if field.name in figure.marked else field.style


def _part_widths(figure: HeaderFigure, room: int) -> list[int]:
    """Return the columns of each part: enough for its texts, and the rest for the largest part."""
    needed = [
        max(len(each.name), len(figure.value(each.name) or f"{each.bits // 8}")) + 3 for each in figure.fields
    ]
    if sum(needed) > room:
        needed = [columns - 2 for columns in needed]
    largest = max(range(len(needed)), key=lambda number: figure.fields[number].bits)
    needed[largest] += max(0, min(room, _WIDEST_FRAME) - sum(needed))
    return needed


def _draw_scale(grid: Grid, figure: HeaderFigure) -> None:
    """Draw the parts in their proportions, headers in dark shades and the largest part in a light shade."""
    row, total = grid.height - 1, sum(each.bits for each in figure.fields)
    grid.put_right(grid.width, row, _TO_SCALE, MUTED)
    room, column, passed = grid.width - len(_TO_SCALE), 0, 0
    largest = max(each.bits for each in figure.fields)
    for each in figure.fields:
        passed += each.bits
        end = max(round(room * passed / total), 1)
        fill, style = ("░", DATA) if each.bits == largest else ("█", LIMIT)
        grid.put(column, row, fill * (end - column), style)
        column = max(column, end)
