"""Drawing of a time-sequence diagram: two hosts as vertical lines, time downwards, and a sloped arrow per packet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from tcptutor.base import units
from tcptutor.figures import braille
from tcptutor.figures.axes import free_rows, round_ticks
from tcptutor.figures.braille import Layer, Pattern, compose
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import ACK, BAD, DATA, FRAME, LIMIT, MUTED, STRONG, TEXT, WARN, Line

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
_LEAST_WAY = 5  # columns between two hosts


class LadderArrow(NamedTuple):
    """A packet from one host to the other."""

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
    """Text in its place where there is little room."""
    number: int | None = None
    detail: str = ""
    """Text behind `text`, if there is room."""
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
    panels: Sequence[LadderPanel],
    width: int,
    rows: int,
    begin: float,
    end: float,
    t: float,
    *,
    times: bool = True,
) -> list[Line]:
    """Return the diagrams from `begin` to `end` with what has happened up to `t`, all in seconds.

    Args:
        panels: Diagrams side by side, on one axis of time.
        width: Columns.
        rows: Rows of the axis; one or two more have the names.
        begin: First instant.
        end: Last instant.
        t: Instant up to which arrows are drawn.
        times: Whether times are written at the left.
    """
    head = 2 if any(panel.label for panel in panels) else 1
    grid = Grid(width, head + rows)
    axis = _Axis(begin, end, rows)
    column = _write_times(grid, panels, axis, head) if times else 0
    across = (width - column - _GAP * (len(panels) - 1)) // len(panels)
    for panel in panels:
        _Panel(grid, panel, axis, column, across, head).draw(t)
        column += across + _GAP
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


def _write_times(grid: Grid, panels: Sequence[LadderPanel], axis: _Axis, head: int) -> int:
    """Write times at the left; return the first column behind them."""
    arrows = [arrow for panel in panels for arrow in panel.arrows]
    instants = {arrow.begin for arrow in arrows} | {arrow.end for arrow in arrows if not arrow.is_lost}
    shown = sorted(t for t in instants if axis.begin <= t <= axis.end)
    if len({axis.row(t) for t in shown}) > _MOST_LABELS:
        shown = [axis.begin + t for t in round_ticks(axis.end - axis.begin, _MOST_LABELS)]
    # Of the instants in a row, the roundest.
    texts = sorted(
        ((units.seconds(t) if t else "0", axis.row(t)) for t in shown), key=lambda text: -len(text[0])
    )
    names = {row: text for text, row in texts}
    labels = free_rows(sorted(names.items()), axis.rows)
    across = max(len(name) for _, name in labels)
    for row, name in labels:
        grid.put_right(across, head + row, name, MUTED)
    return across + 1


class _Panel:
    """Places of one diagram on the grid."""

    def __init__(
        self, grid: Grid, panel: LadderPanel, axis: _Axis, column: int, across: int, head: int
    ) -> None:
        self.grid, self.panel, self.axis, self.head = grid, panel, axis, head
        self.column, self.across = column, across
        self.short = across < _NARROW
        self.bracket = [
            2 if any(wait.at_left == left for wait in panel.waits) else 0 for left in (True, False)
        ]
        room = across - max(_LEAST_WAY + 2, across // 3)
        wanted = [self._wanted(left) for left in (True, False)]
        left = min(wanted[0], max(room // 2, room - wanted[1]))
        right = min(wanted[1], room - left)
        self.left = column + max(left, len(panel.hosts[0]) // 2)
        self.right = column + across - 1 - max(right, len(panel.hosts[1]) // 2)

    def _wanted(self, left: bool) -> int:
        """Return the columns that the texts at a host would fill, with the blanks around them."""
        texts = self._texts(left, self.axis.end, 1000).values()
        waits = [wait.text for wait in self.panel.waits if wait.at_left == left]
        longest = max(map(len, [*texts, *waits]), default=0)
        return longest + 1 + self.bracket[0 if left else 1] if longest else 0

    def draw(self, t: float) -> None:
        grid, axis, panel = self.grid, self.axis, self.panel
        if panel.label:
            grid.put_center(self.column, self.across, self.head - 2, panel.label, STRONG)
        for host, column in zip(panel.hosts, (self.left, self.right), strict=True):
            start = max(self.column, min(column - len(host) // 2, self.column + self.across - len(host)))
            grid.put(start, self.head - 1, host, STRONG)
            grid.column_of(column, self.head, self.head + axis.rows - 1, "┆", MUTED)
            grid.column_of(column, self.head, self.head + axis.row(t), "│", FRAME)
        self._draw_arrows(t)
        for left in (True, False):
            self._write_texts(left, t)
        for wait in panel.waits:
            if wait.begin <= t:
                self._draw_wait(wait, min(t, wait.end))

    def _draw_arrows(self, t: float) -> None:
        width, height = self.right - self.left - 1, self.axis.rows
        layers = {
            kind: Layer(_STYLES[kind], width * braille.ACROSS, height * braille.DOWN, pattern)
            for kind, pattern in _PATTERNS.items()
        }
        visible = [arrow for arrow in self.panel.arrows if arrow.begin <= t]
        drawn: dict[LadderKind, float] = {}
        for arrow in visible:
            # Of arrows closer than half a dot, the first stands for all.
            dot = self.axis.dot(arrow.begin)
            if dot - drawn.get(arrow.kind, -1.0) >= 0.5 or arrow.is_lost:
                layers[arrow.kind].line(self._dots(arrow, t, width))
                drawn[arrow.kind] = dot
        for row, cells in enumerate(compose([], list(layers.values()), width, height)):
            for column, cell in enumerate(cells):
                if cell:
                    self.grid.put(self.left + 1 + column, self.head + row, *cell)
        for arrow in visible:
            if arrow.end <= t:
                self._draw_end(arrow, width)

    def _dots(self, arrow: LadderArrow, t: float, width: int) -> list[tuple[float, float]]:
        """Return both ends of the part up to `t`, from left to right, in dots from the bottom."""
        done = 1.0 if arrow.end <= arrow.begin else min(1.0, (t - arrow.begin) / (arrow.end - arrow.begin))
        across = width * braille.ACROSS - 1
        tip = done * (arrow.way if arrow.is_lost else 1.0) * across
        bottom = self.axis.rows * braille.DOWN - 1
        now = arrow.begin + done * (arrow.end - arrow.begin)
        start, end = bottom - self.axis.dot(arrow.begin), bottom - self.axis.dot(now)
        return [(0.0, start), (tip, end)] if arrow.to_right else [(across - tip, end), (float(across), start)]

    def _draw_end(self, arrow: LadderArrow, width: int) -> None:
        row = self.head + self.axis.row(arrow.end)
        if arrow.is_lost:
            way = min(width - 1, int(arrow.way * width))
            self.grid.put(self.left + 1 + (way if arrow.to_right else width - 1 - way), row, "✗", BAD)
        elif arrow.end <= self.axis.end:
            head, column = ("▸", self.right - 1) if arrow.to_right else ("◂", self.left + 1)
            self.grid.put(column, row, head, _STYLES[arrow.kind])

    def _write_texts(self, left: bool, t: float) -> None:
        start = self.left - 1 - self.bracket[0] if left else self.right + 2 + self.bracket[1]
        room = start - self.column if left else self.column + self.across - start
        for row, text in self._texts(left, t, room).items():
            shown = text if len(text) <= room else f"{text[: max(0, room - 1)]}…"
            style = self._text_style(left, row, t)
            self.grid.put(start - len(shown) if left else start, self.head + row, shown, style)

    def _texts(self, left: bool, t: float, room: int) -> dict[int, str]:
        """Return the texts at a host's line by row: what leaves there, and notes on what has arrived."""
        texts: dict[int, str] = {}
        leaving = [arrow for arrow in self.panel.arrows if arrow.to_right == left and arrow.begin <= t]
        for row, together in groupby(leaving, key=lambda arrow: self.axis.row(arrow.begin)):
            arrows = list(together)
            text, detail = together_text(arrows, self.short), arrows[-1].detail
            texts[row] = text + detail if len(text + detail) <= room else text
        for arrow in self.panel.arrows:
            if arrow.note and arrow.to_right != left and arrow.end <= t:
                row = self.axis.row(arrow.end)
                texts[row] = f"{texts[row]}, {arrow.note}" if row in texts else arrow.note
        return texts

    def _text_style(self, left: bool, row: int, t: float) -> str:
        kinds = {
            arrow.kind
            for arrow in self.panel.arrows
            if arrow.to_right == left and arrow.begin <= t and self.axis.row(arrow.begin) == row
        }
        return WARN if "retransmission" in kinds else _STYLES[kinds.pop()] if kinds else TEXT

    def _draw_wait(self, wait: LadderWait, end: float) -> None:
        column = self.left - 1 if wait.at_left else self.right + 1
        first, last = self.axis.row(wait.begin), self.axis.row(end)
        top, bottom, both = ("╭", "╰", "├") if wait.at_left else ("╮", "╯", "┤")
        follows = any(other.end == wait.begin and other.at_left == wait.at_left for other in self.panel.waits)
        self.grid.column_of(column, self.head + first, self.head + last, "│", LIMIT)
        self.grid.put(column, self.head + first, both if follows else top, LIMIT)
        if end == wait.end and last > first:
            self.grid.put(column, self.head + last, bottom, LIMIT)
        middle = (first + self.axis.row(wait.end)) // 2
        if middle <= last:
            start = column - 1 - len(wait.text) if wait.at_left else column + 2
            self.grid.put(start, self.head + middle, wait.text, LIMIT)


def together_text(arrows: Sequence[LadderArrow], short: bool = False) -> str:
    """Return the texts of packets that leave together: "1–8, 3 again", "ACK 2 ×3"."""
    parts: list[str] = []
    for text, same in groupby(arrows, key=lambda arrow: (arrow.short if short else "") or arrow.text):
        numbers = [arrow.number for arrow in same if arrow.number is not None]
        parts.append(text.format(_listed(numbers)) if numbers else text)
    return ", ".join(filter(None, parts))


def _listed(numbers: Sequence[int]) -> str:
    """Return numbers in order, as "1–5, 7", and repeated ones as "2 ×3"."""
    runs: list[tuple[int, int, int]] = []  # first, last, times
    for number in numbers:
        first, last, times = runs[-1] if runs else (0, -2, 0)
        if number == last and first == last:
            runs[-1] = (first, last, times + 1)
        elif number == last + 1 and times == 1:
            runs[-1] = (first, number, 1)
        else:
            runs.append((number, number, 1))
    return ", ".join(_run(*run) for run in runs)


def _run(first: int, last: int, times: int) -> str:
    if first == last:
        return f"{first} ×{times}" if times > 1 else f"{first}"
    return f"{first}, {last}" if last == first + 1 else f"{first}–{last}"
