"""A question for a show of hands, and the answer of a question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tcptutor.figures.lines import GOOD, MUTED, STRONG, TEXT
from tcptutor.ui.present import large_text
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_text import Block, draw_blocks, sizes
from tcptutor.ui.widgets.page.text import inline

_LETTERS = "ABCDEFGHIJ"
LETTER = "letter"


def draw_question(canvas: StageCanvas, text: str, choices: Sequence[str], zoom: int = 0) -> None:
    """Draw a question and its choices, as large as they fit; both are Markdown."""
    question, plain = _plain(text), [_plain(choice) for choice in choices]
    tried = [*product(sizes(min(zoom, 0)), sizes(min(zoom, 0)))]
    layouts = [
        _Layout(canvas, question, plain, question_size, size, letter_size, gap)
        for question_size, size in tried
        for letter_size, gap in _letters(size)
    ]
    layout = next((each for each in layouts if each.fits), layouts[-1])
    row = layout.write(0, 0, question, STRONG, layout.question_size)
    row += layout.gap
    for number, choice in enumerate(plain):
        canvas.write(0, row, _LETTERS[number], LETTER, layout.letter_size)
        lines = layout.lines(choice)
        layout.write(
            layout.indent, row + max(0, (layout.letter_rows - lines) // 2), choice, TEXT, layout.size
        )
        row += max(lines, layout.letter_rows) + layout.gap


def draw_answer(
    canvas: StageCanvas, question: str, right: str, reasons: Sequence[str], zoom: int = 0
) -> None:
    """Draw the right answer large, with its question above and the reasons below; all are Markdown."""
    for smaller in dict.fromkeys((zoom, -1)):
        tried, row = canvas.blank(), 0
        for line in canvas.wrap(_plain(question), canvas.width, 1):
            tried.write(0, row, line, MUTED)
            row += canvas.text_height(1)
        row += 1
        if right:
            row = draw_blocks(tried, row, [Block(_plain(right), style=GOOD)], smaller) + 2
        row = draw_blocks(tried, row, [Block(_plain(each)) for each in reasons if each], min(smaller, 0))
        if row <= canvas.height:
            break
    canvas.place(tried, 0, 0)


def _letters(size: Size) -> tuple[tuple[Size, int], ...]:
    """Return the sizes of letters to try next to choices of a size, with the lines between two choices."""
    return (3, 1), (3, 0), (size, 0)


class _Layout:
    """Sizes of a question and its choices."""

    def __init__(
        self,
        canvas: StageCanvas,
        question: str,
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
        height += sum(max(self.lines(choice), self.letter_rows) + self.gap for choice in choices)
        self.fits = height - self.gap <= canvas.height and all(
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
