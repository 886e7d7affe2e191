"""Drawing of a time-sequence diagram: two hosts as vertical lines, time downwards, and a sloped arrow per packet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import or_
from typing import Literal, NamedTuple

from tcptutor.base import units
from tcptutor.figures import braille
from tcptutor.figures.axes import Ticks, free_rows, round_ticks
from tcptutor.figures.braille import Layer, Pattern, compose
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import ACK, BAD, DATA, FRAME, LIMIT, MUTED, STRONG, TEXT, WARN, Line, Piece

LadderKind = Literal["segment", "retransmission", "ack", "duplicate"]

_STYLES: dict[LadderKind, str] = {"segment": DATA, "retransmission": WARN, "ack": ACK, "duplicate": ACK}
_PATTERNS: dict[LadderKind, Pattern] = {
    "segment": braille.SOLID,
    "retransmission": braille.thick(braille.SOLID),
    "ack": braille.DASHED,
    "duplicate": braille.DASHED,
}
_MOST_LABELS = 6
_NARROW = 30  # columns of a panel below which it takes short texts
_GAP = 2  # columns between panels
_LEAST_WAY, _MOST_WAY = 5, 40  # columns between two hosts


class LadderArrow(NamedTuple):
    """Packet between the two hosts."""

    begin: float
    end: float
    """Seconds: departure, and arrival or death."""
    kind: LadderKind = "segment"
    to_right: bool = True
    is_lost: bool = False
    way: float = 1.0
    """Part of the way that a lost packet covers."""
    text: str = ""
    """Text where it leaves; "{}" in it is the number."""
    short: str = ""
    """Shorter text for narrow figures."""
    number: int | None = None
    detail: str = ""
    """Text after `text`, if it fits."""
    note: str = ""
    """Text where it arrives."""


class LadderWait(NamedTuple):
    """A bracket along a host's line."""

    begin: float
    end: float
    text: str
    at_left: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderPanel:
    """A diagram; several are drawn side by side."""

    label: str = ""
    hosts: tuple[str, str] = ("h1", "h2")
    arrows: tuple[LadderArrow, ...] = ()
    waits: tuple[LadderWait, ...] = ()


def draw_ladder(
    panels: tuple[LadderPanel, ...],
    width: int,
    rows: int,
    begin: float,
    end: float,
    t: float,
    *,
    times: bool = True,
) -> list[Line]:
    """Return the diagrams from `begin` to `end` with the events up to `t`, all in seconds.

    Args:
        panels: Diagrams side by side, on one axis of time.
        width: Columns.
        rows: Rows of the axis, without the one or two rows of names.
        begin: First instant.
        end: Last instant.
        t: Instant up to which arrows are drawn.
        times: Whether times are written at the left.
    """
    grid = Grid(width, rows + _head(panels))
    axis = _Axis(begin, end, rows)
    labels = _time_labels(panels, axis) if times else ()
    across = max((len(name) for _, name in labels), default=0)
    for row, name in labels:
        grid.put_right(across, _head(panels) + row, name, MUTED)
    for laid_out in _layout(panels, axis, width, across + 1 if labels else 0):
        laid_out.draw(grid, t)
    return grid.lines()


@dataclass(frozen=True, slots=True)
class _Axis:
    """Time downwards."""

    begin: float
    end: float
    rows: int

    def dot(self, t: float) -> float:
        """Return the dot of an instant, from the top."""
        return (t - self.begin) / (self.end - self.begin) * (self.rows * braille.DOWN - 1)

    def row(self, t: float) -> int:
        return max(0, min(self.rows - 1, round(self.dot(t)) // braille.DOWN))


def _head(panels: Sequence[LadderPanel]) -> int:
    return 2 if any(panel.label for panel in panels) else 1


@lru_cache(maxsize=64)
def _time_labels(panels: tuple[LadderPanel, ...], axis: _Axis) -> Ticks:
    """Return rows and names of departures and arrivals, or of round instants if they are too many."""
    arrows = [arrow for panel in panels for arrow in panel.arrows]
    instants = {arrow.begin for arrow in arrows} | {arrow.end for arrow in arrows if not arrow.is_lost}
    shown = [t for t in instants if axis.begin <= t <= axis.end]
    if len({axis.row(t) for t in shown}) > _MOST_LABELS:
        shown = [axis.begin + t for t in round_ticks(axis.end - axis.begin, _MOST_LABELS)]
    # A row stands for a span of time: more digits would say more than the place does.
    step = 10.0 ** math.floor(math.log10((axis.end - axis.begin) / axis.rows))
    rounded = [(axis.row(t), round(t / step) * step) for t in sorted(shown, reverse=True)]
    rows = {units.seconds(t) if t else "0": row for row, t in rounded}
    return free_rows(sorted((row, name) for name, row in rows.items()), axis.rows)


@lru_cache(maxsize=64)
def _layout(panels: tuple[LadderPanel, ...], axis: _Axis, width: int, column: int) -> tuple[_Panel, ...]:
    across = (width - column - _GAP * (len(panels) - 1)) // len(panels)
    sides = [[_Side(panel, axis, left, across < _NARROW) for left in (True, False)] for panel in panels]
    room = across - max(_LEAST_WAY + 2, across // 4)
    wanted = [max(side.wanted for side in same) for same in zip(*sides, strict=True)]
    left = min(wanted[0], max(room // 2, room - wanted[1]))
    right = min(wanted[1], room - left)
    return tuple(
        _Panel(panel, axis, column + number * (across + _GAP), across, _head(panels), (left, right), own)
        for number, (panel, own) in enumerate(zip(panels, sides, strict=True))
    )


class _Panel:
    """Places of a diagram on the grid, and its parts that stay constant over time."""

    def __init__(
        self,
        panel: LadderPanel,
        axis: _Axis,
        column: int,
        across: int,
        head: int,
        margins: tuple[int, int],
        sides: Sequence[_Side],
    ) -> None:
        self.panel, self.axis, self.head, self.sides = panel, axis, head, sides
        self.column, self.across = column, across
        left, right = (max(margin, len(host) // 2) for margin, host in zip(margins, panel.hosts, strict=True))
        self.left = column + left
        self.right = min(column + across - 1 - right, self.left + _MOST_WAY + 1)
        self.width = self.right - self.left - 1
        self.arrows = [(arrow, self._finished(arrow)) for arrow in _apart(panel.arrows, axis)]

    def draw(self, grid: Grid, t: float) -> None:
        axis, panel = self.axis, self.panel
        if panel.label:
            grid.put_center(self.left, self.width + 2, self.head - 2, panel.label, STRONG)
        for host, column in zip(panel.hosts, (self.left, self.right), strict=True):
            start = max(self.column, min(column - len(host) // 2, self.column + self.across - len(host)))
            grid.put(start, self.head - 1, host, STRONG)
            grid.column_of(column, self.head, self.head + axis.rows - 1, "┆", MUTED)
            grid.column_of(column, self.head, self.head + axis.row(t), "│", FRAME)
        self._draw_arrows(grid, t)
        for arrow in panel.arrows:
            if arrow.end <= t:
                self._draw_end(grid, arrow)
        for side in self.sides:
            self._write_texts(grid, side, t)
        for wait in panel.waits:
            if wait.begin <= t:
                self._draw_wait(grid, wait, min(t, wait.end))

    def _layer(self, kind: LadderKind) -> Layer:
        return Layer(
            _STYLES[kind], self.width * braille.ACROSS, self.axis.rows * braille.DOWN, _PATTERNS[kind]
        )

    def _finished(self, arrow: LadderArrow) -> list[int]:
        """Return the dots of a full arrow, by column."""
        layer = self._layer(arrow.kind)
        layer.line(self._dots(arrow, arrow.end))
        return layer.columns

    def _draw_arrows(self, grid: Grid, t: float) -> None:
        layers = {kind: self._layer(kind) for kind in _STYLES}
        for arrow, columns in self.arrows:
            layer = layers[arrow.kind]
            if arrow.end <= t:
                layer.columns = list(map(or_, layer.columns, columns))
            elif arrow.begin <= t:
                layer.line(self._dots(arrow, t))
        for row, cells in enumerate(compose([], list(layers.values()), self.width, self.axis.rows)):
            for column, cell in enumerate(cells):
                if cell:
                    grid.put(self.left + 1 + column, self.head + row, *cell)

    def _dots(self, arrow: LadderArrow, t: float) -> list[tuple[float, float]]:
        """Return both ends of the part up to `t`, from left to right, in dots from the bottom."""
        done = 1.0 if arrow.end <= arrow.begin else min(1.0, (t - arrow.begin) / (arrow.end - arrow.begin))
        across = self.width * braille.ACROSS - 1
        tip = done * (arrow.way if arrow.is_lost else 1.0) * across
        bottom = self.axis.rows * braille.DOWN - 1
        now = arrow.begin + done * (arrow.end - arrow.begin)
        start, end = bottom - self.axis.dot(arrow.begin), bottom - self.axis.dot(now)
        return [(0.0, start), (tip, end)] if arrow.to_right else [(across - tip, end), (float(across), start)]

    def _draw_end(self, grid: Grid, arrow: LadderArrow) -> None:
        row = self.head + self.axis.row(arrow.end)
        if arrow.is_lost:
            way = min(self.width - 1, int(arrow.way * self.width))
            grid.put(self.left + 1 + (way if arrow.to_right else self.width - 1 - way), row, "✗", BAD)
        elif arrow.end <= self.axis.end:
            sign, column = ("▸", self.right - 1) if arrow.to_right else ("◂", self.left + 1)
            grid.put(column, row, sign, _STYLES[arrow.kind])

    def _write_texts(self, grid: Grid, side: _Side, t: float) -> None:
        start = self.left - 1 - side.bracket if side.left else self.right + 2 + side.bracket
        room = start - self.column if side.left else self.column + self.across - start
        for row, (text, style) in side.texts(t, room).items():
            shown = text if len(text) <= room else f"{text[: max(0, room - 1)]}…"
            grid.put(start - len(shown) if side.left else start, self.head + row, shown, style)

    def _draw_wait(self, grid: Grid, wait: LadderWait, end: float) -> None:
        column = self.left - 1 if wait.at_left else self.right + 1
        first, last = self.axis.row(wait.begin), self.axis.row(end)
        top, bottom, both = ("╭", "╰", "├") if wait.at_left else ("╮", "╯", "┤")
        follows = any(other.end == wait.begin and other.at_left == wait.at_left for other in self.panel.waits)
        grid.column_of(column, self.head + first, self.head + last, "│", LIMIT)
        grid.put(column, self.head + first, both if follows else top, LIMIT)
        if end == wait.end and last > first:
            grid.put(column, self.head + last, bottom, LIMIT)
        middle = (first + self.axis.row(wait.end)) // 2
        if middle <= last:
            start = column - 1 - len(wait.text) if wait.at_left else column + 2
            grid.put(start, self.head + middle, wait.text, LIMIT)


class _Side:
    """Texts at a host's line: departures, and notes on arrivals."""

    def __init__(self, panel: LadderPanel, axis: _Axis, left: bool, short: bool) -> None:
        self.left, self._short = left, short
        leaving = [arrow for arrow in panel.arrows if arrow.to_right == left]
        self._rows = [
            (row, list(same)) for row, same in groupby(leaving, key=lambda arrow: axis.row(arrow.begin))
        ]
        self._notes = [
            (axis.row(arrow.end), arrow) for arrow in panel.arrows if arrow.note and arrow.to_right != left
        ]
        waits = [wait.text for wait in panel.waits if wait.at_left == left]
        self.bracket = 2 if waits else 0
        """Columns of the brackets."""
        everything = [text for text, _ in self.texts(axis.end, 1000).values()]
        longest = max(map(len, [*everything, *waits]), default=0)
        self.wanted = longest + 1 + self.bracket if longest else 0
        """Columns that everything would fill, with the blanks around."""

    def texts(self, t: float, room: int) -> dict[int, Piece]:
        """Return texts and their styles by row, without details that do not fit in `room` columns."""
        texts: dict[int, Piece] = {}
        for row, leaving in self._rows:
            if leaving[0].begin > t:
                break
            arrows = leaving if leaving[-1].begin <= t else [arrow for arrow in leaving if arrow.begin <= t]
            text, detail = together_text(arrows, self._short), arrows[-1].detail
            again = any(arrow.kind == "retransmission" for arrow in arrows)
            style = WARN if again else _STYLES[arrows[0].kind]
            texts[row] = (text + detail if len(text + detail) <= room else text), style
        for row, arrow in self._notes:
            if arrow.end <= t:
                texts[row] = (
                    (f"{texts[row][0]}, {arrow.note}", texts[row][1]) if row in texts else (arrow.note, TEXT)
                )
        return texts


def _apart(arrows: Sequence[LadderArrow], axis: _Axis) -> Iterator[LadderArrow]:
    """Yield the arrows to draw; of arrows closer than half a dot, only the first."""
    drawn: dict[LadderKind, float] = {}
    for arrow in arrows:
        dot = axis.dot(arrow.begin)
        if arrow.is_lost or dot - drawn.get(arrow.kind, -1.0) >= 0.5:
            drawn[arrow.kind] = dot
            yield arrow


def together_text(arrows: Sequence[LadderArrow], short: bool = False) -> str:
    """Return the texts of packets with a common departure: "1–8, 3 again", "ACK 2 ×3"."""
    parts: list[str] = []
    for text, same in groupby(arrows, key=lambda arrow: (arrow.short if short else "") or arrow.text):
        numbers = [arrow.number for arrow in same if arrow.number is not None]
        parts.append(text.format(_listed(numbers, short)) if numbers else text)
    return ", ".join(filter(None, parts))


def _listed(numbers: Sequence[int], short: bool) -> str:
    """Return numbers in order, as "1–5, 7", and repeats as "2 ×3"."""
    runs: list[tuple[int, int, int]] = []  # first, last, times
    for number in numbers:
        first, last, times = runs[-1] if runs else (0, -2, 0)
        if number == last and first == last:
            runs[-1] = (first, last, times + 1)
        elif number == last + 1 and times == 1:
            runs[-1] = (first, number, 1)
        else:
            runs.append((number, number, 1))
    if short:
        return ",".join(_run(*run).replace(", ", "–").replace(" ", "") for run in runs)
    return ", ".join(_run(*run) for run in runs)


def _run(first: int, last: int, times: int) -> str:
    if first == last:
        return f"{first} ×{times}" if times > 1 else f"{first}"
    return f"{first}, {last}" if last == first + 1 else f"{first}–{last}"
