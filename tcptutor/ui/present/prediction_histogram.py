"""Histogram of the room's numeric predictions, with models and measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from tcptutor.base import units
from tcptutor.figures.lines import LIMIT, MUTED, STRONG, TEXT
from tcptutor.room.talk import MarkedValue, PollView, Tally
from tcptutor.ui.present.block_raster import BOTH
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.prediction_bins import PredictionBins, bins_for, count_within
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_chart import AXIS
from tcptutor.ui.present.stage_figures import GROUND, MODEL, ROOM
from tcptutor.ui.present.stage_question import draw_question_line

FIRST_VOTE, MEASURED = LIMIT, STRONG
"""Styles of an earlier vote's predictions, and of the measurement."""

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_MOST_ROWS = 3.0
"""Rows of a single prediction at most."""
_WIDE_BIN = 6
"""Columns of a bin from which the line of the measurement is set off from its bar."""
_FEWEST_ROWS = 3
"""Rows of a round's bars, for which models' lines make room."""
_MOST_MODELS = 3
_FEWEST_LINES = 14
"""Lines of key figures, bars and axis, for which the question makes room."""
_GAP = 4
"""Columns between key figures."""
_CLOSE = 0.1
"""Relative difference from the measurement within which a prediction counts as close."""


def draw_histogram(canvas: StageCanvas, poll: PollView) -> None:
    """Draw the question, and the numbers of the rounds below each other, with lines for models and measurement."""
    row = draw_question_line(canvas, poll.text, _FEWEST_LINES)
    below = StageCanvas(canvas.width, canvas.height - row, is_scaled=canvas.is_scaled)
    _draw_numbers(below, poll)
    canvas.place(below, 0, row)


def _draw_numbers(canvas: StageCanvas, poll: PollView) -> None:
    tallies = [tally for tally in poll.results if tally.values]
    values = [value for tally in tallies for value in tally.values]
    marked = [mark.value for mark in poll.models] + [poll.measured or 0.0]
    marked += [tally.right_value or 0.0 for tally in tallies]
    bins = bins_for(values, marked, canvas.width) if values else None
    if bins is None:
        canvas.write(0, 0, "All answers are 0." if values else "Nobody has answered.", STRONG)
        return
    _Histogram(canvas, poll, tallies, bins).draw()


class _Histogram:
    def __init__(
        self, canvas: StageCanvas, poll: PollView, tallies: Sequence[Tally], bins: PredictionBins
    ) -> None:
        self._canvas, self._tallies, self._bins = canvas, tallies, bins
        self._kind, self._measured = poll.unit, poll.measured
        self._right = tallies[-1].right_value if poll.measured is None else None
        self._left = (canvas.width - bins.columns) // 2
        self._median = median(tallies[-1].values)
        self._scale, self._unit = units.axis_unit(poll.measured or self._median, poll.unit)
        self._models = [mark for mark in poll.models if bins.column(mark.value) is not None][:_MOST_MODELS]
        is_large = canvas.width >= 100 and canvas.height >= 20
        self._figure_size: Size = 5 if is_large else 3 if canvas.height >= 16 else 1
        self._label_size: Size = 3 if is_large else 1
        self._label_rows, self._name_rows = canvas.text_height(1), 0

    def draw(self) -> None:
        canvas, rows = self._canvas, self._label_rows
        top = self._draw_key_figures()
        axis = canvas.height - rows - canvas.text_height(self._label_size) - 1
        count = len(self._tallies)
        models, references = self._models, self._measured is not None or self._right is not None
        while models and axis - top - rows * (len(models) + references) < count * (rows + _FEWEST_ROWS):
            models = models[:-1]
        first = top + rows * (len(models) + references)
        # Which round is which stays clear from their order where names do not fit.
        has_names = count > 1 and (axis - first) // count >= rows + 2
        self._name_rows = rows if has_names else 0
        edges = [first + (axis - first) * number // count for number in range(count + 1)]
        panels = list(zip(self._tallies, pairwise(edges), strict=True))
        for tally, (above, below) in panels:
            self._draw_bars(tally, above, below)
        for row, mark in enumerate(models):
            self._draw_model(mark, top + rows * row, axis)
        if self._measured is not None:
            self._draw_reference("measured", self._measured, first - rows, axis)
        elif self._right is not None:
            # Each round has numbers of its own.
            for tally, (above, below) in panels:
                self._draw_reference(
                    "right", tally.right_value or 0.0, above - (above == first) * rows, below
                )
        for tally, (above, below) in panels:
            self._draw_counts(tally, above, below)
        self._draw_axis(axis)
        self._draw_remark(canvas.height - rows)

    def _draw_key_figures(self) -> int:
        """Draw the figures that fit next to each other, and return their rows, including a blank row."""
        canvas, size = self._canvas, self._figure_size
        figures = [("measured", self._measured, MEASURED), ("right", self._right, MEASURED)]
        figures += [("median of the room", self._median, ROOM)]
        figures += [(mark.label, mark.value, MODEL) for mark in self._models]
        rows = self._label_rows + max(size, self._label_rows)
        column = 0
        for label, value, style in figures:
            if value is None:
                continue
            number, _, unit = units.rounded(value, self._kind).partition(" ")
            taken = canvas.text_width(number, size)
            end = column + max(canvas.text_width(label, 1), taken + 1 + canvas.text_width(unit, 1))
            if end > canvas.width:
                break
            canvas.write(column, 0, label, style)
            canvas.write(column, self._label_rows, number, style, size)
            canvas.write(column + taken + 1, rows - self._label_rows, unit, style)
            column = end + _GAP
        return rows + 1

    def _draw_bars(self, tally: Tally, above: int, below: int) -> None:
        """Draw the bars of a vote between two rows, the second excluded."""
        style, bar = self._style(tally), self._bins.bin_columns - 1
        for column, _, eighths in self._bars(tally, above, below):
            full, part = divmod(eighths, 8)
            for row in range(full):
                self._canvas.put(column, below - 1 - row, "█" * bar, style)
            if part:
                self._canvas.put(column, below - 1 - full, _EIGHTHS[part] * bar, style)

    def _draw_counts(self, tally: Tally, above: int, below: int) -> None:
        """Name the round, and write the number of predictions above each bar, where no line is in its way."""
        if self._name_rows:
            style = self._style(tally)
            name = "before the discussion" if style == FIRST_VOTE else "after the discussion"
            self._write_over(self._left, above, name, style)
        step = self._bins.bin_columns
        for column, count, eighths in self._bars(tally, above, below):
            row, text = below - 1 - (eighths + 7) // 8, str(count)
            middle = column + (step - 1 - len(text)) // 2
            for start in (middle, middle + 1, middle - 1):
                cells = [self._canvas.at(at, row)[0] for at in range(start, start + len(text))]
                if len(text) < step and not "".join(cells).strip():
                    self._canvas.put(start, row, text, STRONG)
                    break

    def _bars(self, tally: Tally, above: int, below: int) -> Iterator[tuple[int, int, int]]:
        """Yield the column, the number of predictions and the height in eighths of each bar."""
        counts, _, _ = self._bins.counted(tally.values)
        rows = below - above - 1 - self._name_rows
        unit = min(_MOST_ROWS, max(0.5, rows) / max(*counts, 1))
        for number, count in enumerate(counts):
            if count:
                yield self._left + number * self._bins.bin_columns, count, max(round(8 * unit * count), 1)

    def _draw_model(self, mark: MarkedValue, row: int, axis: int) -> None:
        """Draw the model's band, its name, and its line down to the axis."""
        at = self._left + self._bins.nearest_column(mark.value)
        low, high = (
            self._left + self._bins.nearest_column(mark.value * factor)
            for factor in (max(0.01, 1 - mark.tolerance), 1 + mark.tolerance)
        )
        if high - low > 2:
            self._canvas.put(low, row, f"├{'─' * (high - low - 1)}┤", MODEL)
            self._canvas.put(at, row, "┼", MODEL)
        else:
            low = high = at
            self._canvas.put(at, row, "┬", MODEL)
        self._draw_line(at, row + 1, axis)
        self._write_name(mark.label, low, high, row, MODEL)

    def _draw_reference(self, name: str, value: float, row: int, below: int) -> None:
        """Draw a heavy line from a row to the row before `below`, with its name."""
        column = self._bins.column(value)
        if column is None:
            return
        at = self._left + column
        for covered in range(row, below):
            if self._bins.bin_columns >= _WIDE_BIN and self._is_bar(at, covered):
                self._canvas.put(at - 1, covered, "   ")
            self._canvas.put(at, covered, "█", MEASURED)
        self._write_name(name, at, at, row, MEASURED)

    def _draw_line(self, column: int, top: int, end: int) -> None:
        """Draw a model's line, which leaves a notch in the bars that it crosses."""
        for row in range(top, end):
            if self._is_bar(column, row):
                _, style = self._canvas.at(column, row)
                self._canvas.put(column, row, "┃", f"{GROUND}{BOTH}{style}")
            else:
                self._canvas.put(column, row, "╏", MODEL)

    def _is_bar(self, column: int, row: int) -> bool:
        character, style = self._canvas.at(column, row)
        return character == "█" and style in (ROOM, FIRST_VOTE)

    def _write_name(self, name: str, low: int, high: int, row: int, style: str) -> None:
        width = self._canvas.text_width(name, 1)
        start = high + 2 if high + 2 + width <= self._canvas.width else low - 1 - width
        self._write_over(start, row, name, style)

    def _write_over(self, column: int, row: int, text: str, style: str) -> None:
        """Write a text in place of the lines that cross its cells."""
        for covered in range(row, row + self._label_rows):
            self._canvas.put(column, covered, " " * self._canvas.text_width(text, 1))
        self._canvas.write(column, row, text, style)

    def _draw_axis(self, row: int) -> None:
        canvas, bins, size = self._canvas, self._bins, self._label_size
        canvas.put(self._left, row, "━" * bins.columns, AXIS)
        for column, label in bins.ticks(
            self._scale, canvas.text_width("00", size) - canvas.text_width("0", size)
        ):
            at, width = self._left + column, canvas.text_width(label, size)
            start = at - width // 2
            if start >= 0 and start + width <= canvas.width:
                canvas.put(at, row, "┯", AXIS)
                canvas.write(start, row + 1, label, TEXT, size)

    def _draw_remark(self, row: int) -> None:
        """Write how many answered and how many were close, and the unit of the axis."""
        values = self._tallies[-1].values
        _, low, high = self._bins.counted(values)
        parts = [f"{len(values)} answer{'s' * (len(values) != 1)}"]
        if self._measured is not None:
            close = count_within(values, self._measured, _CLOSE)
            parts.append(f"{close} within {units.percent(_CLOSE)} of the measurement")
        parts += [f"{count} {side} of the axis" for count, side in ((low, "left"), (high, "right")) if count]
        width = self._canvas.width
        texts = [", ".join(parts[:number]) for number in range(len(parts), 0, -1)]
        remark = next((text for text in texts if self._canvas.text_width(text, 1) <= width), "")
        self._canvas.write(0, row, remark, TEXT)
        for name in (f"{self._unit}, logarithmic", self._unit):
            start = width - self._canvas.text_width(name, 1)
            if self._unit and start >= self._canvas.text_width(remark, 1) + 2:
                self._canvas.write(start, row, name, MUTED)
                break

    def _style(self, tally: Tally) -> str:
        return ROOM if tally is self._tallies[-1] else FIRST_VOTE
