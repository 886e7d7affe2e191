"""Modules on the home screen: a row each, or a card each if space permits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList

from tcptutor.course import duration
from tcptutor.course.outline import Module
from tcptutor.course.paths import PATHS, CoursePath
from tcptutor.study.pages import PathProgress

HEADS: dict[CoursePath, str] = {"essential": "essentials", "everything": "everything"}
_LEAST_BAR, _MOST_BAR = 6, 40
"""Columns of a bar: fewest worth drawing, and most."""
CARD_LINES = 3
"""Lines of a module's card."""
_GAP = 3
"""Blanks between name, bars and counts."""


class ModuleList(OptionList):
    """Modules; the arrow above the first and below the last leaves the list."""

    class Left(Message):
        """The cursor left the list."""

    def __init__(self) -> None:
        super().__init__(id="modules", compact=True)

    def action_cursor_up(self) -> None:
        if self.highlighted:  # neither none nor the first
            super().action_cursor_up()
        else:
            self.post_message(self.Left())

    def action_cursor_down(self) -> None:
        if self.highlighted == self.option_count - 1:
            self.post_message(self.Left())
        else:
            super().action_cursor_down()


class PathCells(NamedTuple):
    """Progress of a module along a path, as cells of a row."""

    done: int
    total: int
    pages: str
    """"5/12", or empty while unknown or without pages."""
    left: str
    """"45 min", "done", or empty while unknown."""


def bar(done: int, total: int, width: int, *, is_plain: bool = False) -> tuple[str, str]:
    """Return the done and the open part of a continuous bar, in half cells.

    The bar is full or empty only if exactly that is so. `is_plain` avoids characters that a console's font lacks.
    """
    halves = round(2 * width * done / total) if total else 0
    if 0 < done < total:
        halves = min(max(1, halves), 2 * width - 1)
    if is_plain:
        full = min(max(halves // 2, done > 0), width - (done < total))
        return "■" * full, "·" * (width - full)
    full, half = divmod(halves, 2)
    return "━" * full + "╸" * half, "─" * (width - full - half)


def layout(
    modules: Sequence[Module],
    progress: Mapping[str, Mapping[CoursePath, PathProgress]],
    here: str,
    width: int,
    path: CoursePath,
    *,
    cards: bool = False,
    is_plain: bool = False,
) -> list[Content]:
    """Return the line of heads and an entry per module in `width` columns.

    Args:
        modules: The modules.
        progress: Progress by module and path; if any is missing, only the student's path is shown.
        here: Id of the student's module, which gets a mark; empty for none.
        width: Columns.
        path: The student's path, which is highlighted.
        cards: Return three lines per module instead of a single line, and an empty line of heads.
        is_plain: Draw bars in characters that every font has.
    """
    is_known = all(of in progress[each.id] for each in modules for of in PATHS)
    # Until the lessons are read, only the count of all pages is known: no figure for a student of the essentials.
    paths = PATHS if is_known else (path,)
    cells = {each.id: {of: _cells(progress[each.id].get(of)) for of in paths} for each in modules}
    if cards:
        drawn = (_card(each, cells[each.id], each.id == here, width, path, is_plain) for each in modules)
        lines = 1 if is_known else CARD_LINES  # so that cards keep their places
        return [Content(""), *(card + "\n" * (lines - 1 - card.plain.count("\n")) for card in drawn)]
    return _rows(modules, cells, here, width, path, is_plain)


def _rows(
    modules: Sequence[Module],
    cells: Mapping[str, Mapping[CoursePath, PathCells]],
    here: str,
    width: int,
    path: CoursePath,
    is_plain: bool,
) -> list[Content]:
    names = [_name(each, here) for each in modules]
    widest = max(map(cell_len, names), default=0)
    paths = tuple(next(iter(cells.values()), ()))
    counts = {of: _width(cells[each.id][of].pages for each in modules) for of in paths}
    times = {of: _width(cells[each.id][of].left for each in modules) for of in paths}
    shown = [of for of in paths if counts[of]]
    fixed = widest + sum(_GAP + counts[of] + (1 + times[of] if times[of] else 0) for of in shown)
    room = (width - fixed) // len(shown) - 1 if shown else 0
    across = min(_MOST_BAR, room) if room >= _LEAST_BAR else 0
    head, rows = Content(" " * widest), [Content(name.ljust(widest)) for name in names]
    for of in shown:
        column = (across + 1 if across else 0) + counts[of] + (1 + times[of] if times[of] else 0)
        head += Content(" " * _GAP) + Content.styled(HEADS[of].ljust(column)[:column], "$text-muted")
        for at, each in enumerate(modules):
            own = cells[each.id][of]
            row = Content(" " * _GAP)
            if across:
                row += _drawn(own, across, of == path, is_plain) + " "
            figures = own.pages.rjust(counts[of]) + (f" {own.left.rjust(times[of])}" if times[of] else "")
            rows[at] += row + Content.styled(figures, "" if of == path else "$text-muted")
    return [head, *rows]


def _card(
    module: Module,
    cells: Mapping[CoursePath, PathCells],
    is_here: bool,
    width: int,
    path: CoursePath,
    is_plain: bool,
) -> Content:
    lines = [Content.styled(_name(module, module.id if is_here else ""), "bold")]
    label = max(map(len, HEADS.values()))
    for of, own in cells.items():
        if not own.pages:
            continue
        across = min(width - label - 26, _MOST_BAR * 2)
        figures = f"{own.pages:>7}   {own.left:>8}"
        muted = "" if of == path else "$text-muted"
        drawn = _drawn(own, across, of == path, is_plain)
        lines.append(
            Content.assemble("    ", (HEADS[of].ljust(label), muted), "  ")
            + drawn
            + Content.styled(figures, muted)
        )
    return Content("\n").join(lines)


def _name(module: Module, here: str) -> str:
    return f"{'▸' if module.id == here else ' '} {module.number}  {module.title}"


def _drawn(cells: PathCells, width: int, is_own: bool, is_plain: bool) -> Content:
    if not cells.total:
        return Content(" " * width)
    done, left = bar(cells.done, cells.total, width, is_plain=is_plain)
    is_complete = cells.done == cells.total
    filled = "$success" if is_complete else "$foreground" if is_own else "$secondary"
    return Content.assemble((done, filled), (left, "$border"))


def _cells(of: PathProgress | None) -> PathCells:
    if of is None or not of.total:
        return PathCells(0, 0, "", "")
    left = (
        duration.in_words(of.minutes_left) if of.minutes_left else "" if of.minutes_left is None else "done"
    )
    return PathCells(of.done, of.total, f"{of.done}/{of.total}", left)


def _width(cells: Iterator[str]) -> int:
    return max(map(cell_len, cells), default=0)
