"""A question for a show of hands, and the answer of a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from tcptutor.base.printable import escaped
from tcptutor.figures.lines import GOOD, MUTED, STRONG, TEXT
from tcptutor.room.asked import LETTERS
from tcptutor.ui.present import large_text
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_text import Block, draw_blocks, sizes
from tcptutor.ui.widgets.page.text import inline

LETTER = "letter"
_AMPLE = 1.6
"""Lines that give results ample room, as a multiple of the lines they need."""
_MOST_SPARE = 2
"""Free lines to add between two choices at most."""


def draw_question(
    canvas: StageCanvas, text: str, choices: Sequence[str], zoom: int = 0, setting: str = ""
) -> None:
    """Draw a question and its choices, as large as they fit.

    Args:
        canvas: Where to draw.
        text: The question; Markdown.
        choices: The choices; Markdown.
        zoom: -1 for smaller text, 1 for larger.
        setting: Line on the run that the question is about; empty for none.
    """
    question, plain = _plain(text), [_plain(choice) for choice in choices]
    layouts = [
        _Layout(canvas, question, setting, plain, *sizes_)
        for sizes_ in _tried(zoom, has_choices=bool(choices))
    ]
    layout = next((each for each in layouts if each.fits), layouts[-1])
    row = layout.write(0, 0, question, STRONG, layout.question_size)
    spare = max(0, canvas.height - layout.height)
    if setting:
        row, spare = _draw_setting(canvas, row, setting, spare)
    gap = layout.gap + min(spare // (len(plain) + 1), _MOST_SPARE)
    row += gap
    for number, choice in enumerate(plain):
        canvas.write(0, row, LETTERS[number], LETTER, layout.letter_size)
        lines = layout.lines(choice)
        below = max(0, (layout.letter_rows - lines) // 2)
        layout.write(layout.indent, row + below, choice, TEXT, layout.size)
        row += max(lines, layout.letter_rows) + gap


def _draw_setting(canvas: StageCanvas, row: int, setting: str, spare: int) -> tuple[int, int]:
    """Draw the line on the run, larger if lines are spare; return the next row and remaining spare lines."""
    larger, one = canvas.wrap(setting, canvas.width, 2), canvas.text_height(1)
    more = len(larger) * (canvas.text_height(2) + 1) - one
    if more > spare or not (canvas.is_scaled or large_text.is_drawable(setting)):
        canvas.write(0, row, canvas.wrap(setting, canvas.width, 1)[0].rstrip(" ·"), MUTED)
        return row + one, spare
    for line in larger:
        canvas.write(0, row, line.strip(" ·"), MUTED, 2)
        row += canvas.text_height(2) + 1
    return row, spare - more


def draw_question_line(canvas: StageCanvas, text: str, fewest: int) -> int:
    """Draw a question above its results, larger on a high screen, and return the row of the results.

    Args:
        canvas: Where to draw.
        text: The question; Markdown.
        fewest: Lines that its results need; without them the question is left out.
    """
    plain, sized = escaped(_plain(text)), [(2, _AMPLE * fewest), (1, fewest)]
    for size, needed in cast("list[tuple[Size, int]]", sized):
        lines, tall = canvas.wrap(plain, canvas.width, size), canvas.text_height(size)
        is_drawable = size == 1 or canvas.is_scaled or large_text.is_drawable(plain)
        if plain and is_drawable and canvas.height - len(lines) * tall - 1 >= needed:
            for number, line in enumerate(lines):
                canvas.write(0, number * tall, line, STRONG, size)
            return len(lines) * tall + 1
    return 0


def draw_answer(
    canvas: StageCanvas, question: str, right: Sequence[str], reasons: Sequence[str], zoom: int = 0
) -> None:
    """Draw the right answer in large letters, with the question above and the reasons below; all are Markdown."""
    for smaller in dict.fromkeys((zoom, -1)):
        tried, row = canvas.blank(), 0
        for line in canvas.wrap(_plain(question), canvas.width, 1):
            tried.write(0, row, line, MUTED)
            row += canvas.text_height(1)
        row += 1
        if right:
            row = draw_blocks(tried, row, [Block(_plain(each), style=GOOD) for each in right], smaller) + 2
        row = draw_blocks(tried, row, [Block(_plain(each)) for each in reasons if each], min(smaller, 0))
        if row <= canvas.height:
            break
    canvas.place(tried, 0, 0)


def _tried(zoom: int, *, has_choices: bool) -> Iterator[tuple[Size, Size, Size, int]]:
    """Yield sizes of question, choices and letters, and the lines between choices: large choices come first."""
    for size in sizes(zoom) if has_choices else (1,):
        letters: list[tuple[Size, int]] = [(5, 1)] if size == 5 else [(3, 1), (3, 0), (size, 0)]
        tried = [(question, *letter) for question in sizes(zoom) for letter in letters]
        if size == 1:
            # Letters and blank lines separate small choices.
            tried.sort(key=lambda each: letters.index(each[1:]))
        yield from ((question, size, letter, gap) for question, letter, gap in tried)


class _Layout:
    """Sizes of a question and its choices."""

    def __init__(
        self,
        canvas: StageCanvas,
        question: str,
        setting: str,
        choices: Sequence[str],
        question_size: Size,
        size: Size,
        letter_size: Size,
        gap: int,
    ) -> None:
        self._canvas, self.question_size, self.size = canvas, question_size, size
        self.letter_size, self.gap = letter_size, gap
        self.letter_rows = canvas.text_height(self.letter_size)
        self.indent = canvas.text_width("M", self.letter_size) + 2
        height = self._rows(question, canvas.width, question_size) + self.gap
        height += canvas.text_height(1) if setting else 0
        height += sum(max(self.lines(choice), self.letter_rows) + self.gap for choice in choices)
        self.height = height - self.gap
        """Rows of all."""
        self.fits = self.height <= canvas.height and all(
            canvas.is_scaled or large_text.is_drawable(text)
            for text, own in [(question, question_size), *((choice, size) for choice in choices)]
            if own > 1
        )

    def lines(self, choice: str) -> int:
        """Return the rows of a choice."""
        return self._rows(choice, self._canvas.width - self.indent, self.size)

    def write(self, column: int, row: int, text: str, style: str, size: Size) -> int:
        """Write a text in lines, and return the row after it."""
        for line in self._canvas.wrap(text, self._canvas.width - column, size):
            self._canvas.write(column, row, line, style, size)
            row += self._canvas.text_height(size) + (size > 1)
        return row

    def _rows(self, text: str, columns: int, size: Size) -> int:
        return len(self._canvas.wrap(text, columns, size)) * (self._canvas.text_height(size) + (size > 1))


def _plain(markdown: str) -> str:
    return inline(" ".join(markdown.split())).plain
