"""Headlines and texts of slides, each as large as fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tcptutor.base.columns import table
from tcptutor.figures.lines import FRAME, MUTED, STRONG, TEXT
from tcptutor.ui.present import large_text
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.widgets.page.text import inline

_BULLET = re.compile(r"(?:[-*+]|\d+[.)]) +")
_HEADING = re.compile(r"#{1,6} +")
_RULE = re.compile(r":?-+:?")
"""Cell of the line below the head of a table."""
_MOST_HEADLINE_LINES = 2
_ROOMY = 30
"""Lines of a screen from which a blank line follows the headline."""


class Block(NamedTuple):
    """A paragraph, bullet, or line as it is written."""

    text: str
    lead: str = ""
    """Mark before the first line, such as that of a bullet."""
    style: str = TEXT
    is_literal: bool = False
    """True for a line of code or of a table, which is never wrapped or enlarged."""


def sizes(zoom: int) -> tuple[Size, ...]:
    """Return the sizes to try, the largest first; `zoom` is -1, 0 or 1."""
    if zoom < 0:
        return (1,)
    return (5, 3, 2, 1) if zoom else (3, 2, 1)


def draw_headline(canvas: StageCanvas, text: str, zoom: int, rows: int) -> int:
    """Draw a headline at the top in at most `rows` lines, underlined, and return the lines used."""
    large = [size for size in sizes(min(zoom, 0)) if size > 1]
    # Narrow letters on one line leave more to the slide than wide ones on two.
    tried = [(size, most) for most in range(1, _MOST_HEADLINE_LINES + 1) for size in large]
    for size, most in [*tried, (1, _MOST_HEADLINE_LINES)]:
        lines = canvas.wrap(text, canvas.width, size)
        tall = canvas.text_height(size)
        if len(lines) <= most and len(lines) * tall <= rows and _fits(canvas, lines, size):
            break
    for number, line in enumerate(lines):
        canvas.write(0, number * tall, line, STRONG, size)
    canvas.put(0, len(lines) * tall, "▔" * canvas.width, FRAME)
    return len(lines) * tall + 1 + (canvas.height >= _ROOMY)


def draw_title(canvas: StageCanvas, text: str, subtitle: str = "") -> None:
    """Draw a text in the middle, as large as it fits."""
    for size in sizes(1):
        lines = canvas.wrap(text, canvas.width, size)
        line_height = canvas.text_height(size) + (size > 1)
        height = len(lines) * line_height
        if height <= canvas.height * 2 // 3 and _fits(canvas, lines, size):
            break
    row = max(0, (canvas.height - height) // 2 - 1)
    for line in lines:
        canvas.write((canvas.width - canvas.text_width(line, size)) // 2, row, line, STRONG, size)
        row += line_height
    for line in canvas.wrap(subtitle, canvas.width, 1) if subtitle else ():
        canvas.write((canvas.width - canvas.text_width(line, 1)) // 2, row + 1, line, MUTED)
        row += canvas.text_height(1)


def blocks_of(markdown: str) -> list[Block]:
    """Return the blocks of a Markdown text."""
    return [*_blocks(markdown)]


def draw_blocks(canvas: StageCanvas, row: int, blocks: Sequence[Block], zoom: int = 0) -> int:
    """Draw blocks from `row` on, as large as all of them fit, and return the row after them."""
    for size in sizes(zoom):
        drawn = [*_place(canvas, row, blocks, size)]
        end = max((each.end for each in drawn), default=row)
        if end <= canvas.height and all(each.fits(canvas) for each in drawn):
            break
    if canvas.is_scaled and end > canvas.height:
        plain = StageCanvas(canvas.width, canvas.height)
        end = draw_blocks(plain, row, blocks, -1)
        canvas.place(plain, 0, 0)
        return end
    for each in drawn:
        if each.is_literal:
            canvas.put(each.column, each.row, each.text, each.style)
        else:
            canvas.write(each.column, each.row, each.text, each.style, each.size)
    return end


class _Placed(NamedTuple):
    column: int
    row: int
    end: int
    """Row after the text."""
    text: str
    style: str
    size: Size
    is_literal: bool

    def fits(self, canvas: StageCanvas) -> bool:
        """Return True if the text can be drawn in the canvas's width."""
        if self.is_literal:
            return True  # wider lines are cut off at any size
        is_drawable = self.size == 1 or canvas.is_scaled or large_text.is_drawable(self.text)
        return is_drawable and self.column + canvas.text_width(self.text, self.size) <= canvas.width


def _place(canvas: StageCanvas, row: int, blocks: Sequence[Block], size: Size) -> Iterator[_Placed]:
    gap = 1 if size > 1 else 0
    for at, block in enumerate(blocks):
        if at and not (block.is_literal and blocks[at - 1].is_literal):
            row += 1
        if block.is_literal:
            yield _Placed(0, row, row + 1, block.text, block.style, 1, True)
            row += 1
            continue
        tall = canvas.text_height(size)
        indent = canvas.text_width(f"{block.lead}n", size) + 1 if block.lead else 0
        if block.lead:
            yield _Placed(0, row, row + tall, block.lead, MUTED, size, False)
        lines = canvas.wrap(block.text, canvas.width - indent, size)
        for number, line in enumerate(lines):
            yield _Placed(indent, row, row + tall, line, block.style, size, False)
            row += tall + (gap if number + 1 < len(lines) else 0)


def _blocks(markdown: str) -> Iterator[Block]:
    paragraph: list[str] = []
    rows: list[str] = []
    """Lines of a table."""
    lead, is_code = "", False

    def finished() -> Iterator[Block]:
        if paragraph:
            yield Block(inline(" ".join(paragraph)).plain, lead)
            paragraph.clear()
        yield from _table_blocks(rows)
        rows.clear()

    for line in markdown.strip("\n").split("\n"):
        text = line.strip()
        if text.startswith("|") and not is_code:
            if not rows:
                yield from finished()
            rows.append(text)
            continue
        if rows:
            yield from finished()
        if text.startswith("```"):
            yield from finished()
            is_code, lead = not is_code, ""
        elif is_code or (line.startswith("    ") and not paragraph):
            yield from finished()
            yield Block(line.rstrip(), is_literal=True)
        elif not text:
            yield from finished()
            lead = ""
        elif heading := _HEADING.match(text):
            yield from finished()
            lead = ""
            yield Block(inline(text[heading.end() :]).plain, style=STRONG)
        elif bullet := _BULLET.match(text):
            yield from finished()
            lead = bullet[0].strip() if text[0].isdigit() else "•"
            paragraph.append(text[bullet.end() :])
        else:
            paragraph.append(text)
    yield from finished()


def _table_blocks(rows: Sequence[str]) -> Iterator[Block]:
    """Yield the lines of a table in columns, the head first."""
    cells = [[inline(cell.strip()).plain for cell in row.strip("|").split("|")] for row in rows]
    shown = [row for row in cells if not all(_RULE.fullmatch(cell) for cell in row)]
    columns = max((len(row) for row in shown), default=0)
    lines = table([[*row, *[""] * (columns - len(row))] for row in shown], indent=0, gap=3)
    for number, line in enumerate(lines):
        yield Block(line, style=TEXT if number else STRONG, is_literal=True)


def _fits(canvas: StageCanvas, lines: Sequence[str], size: Size) -> bool:
    is_drawable = size == 1 or canvas.is_scaled or all(large_text.is_drawable(line) for line in lines)
    return is_drawable and all(canvas.text_width(line, size) <= canvas.width for line in lines)
