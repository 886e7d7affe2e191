"""The list of runs: a line each, drawn only where visible, so that a thousand cost no more than twenty."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.experiments import short_name
from tcptutor.history.listing import ListedRun

LETTERS = "ABCDEFGH"
"""Names of ticked runs, in the order of ticking."""
_GAP = "  "
_WHEN, _RATE, _CAUSE, _PAGE = 12, 12, 21, 5
"""Columns of the time, throughput, limiting cause and page."""
_LEAST_WITH_SETTINGS = 96
"""Columns from which the settings have a column."""


class RunTable(ScrollView):
    """Lines of runs with a cursor; a click moves the cursor, a second click opens the run."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "runs--row",
        "runs--cursor",
        "runs--muted",
        "runs--bad",
        "runs--tick",
    }

    class Chosen(Message):
        """The cursor moved to a different row."""

    class Opened(Message):
        """The run at the cursor was clicked once more."""

    def __init__(self) -> None:
        super().__init__(id="run-table")
        self._rows: Sequence[ListedRun] = ()
        self._ticked: Sequence[str] = ()
        self.cursor = 0

    def show(self, rows: Sequence[ListedRun], ticked: Sequence[str], cursor: int) -> None:
        """Show the runs, with the cursor on the row of that index."""
        self._rows, self._ticked = rows, ticked
        self.virtual_size = Size(self.columns, len(rows))
        self.move_to(cursor)
        self.refresh()

    @property
    def row(self) -> ListedRun | None:
        """The run at the cursor; None in an empty list."""
        return self._rows[self.cursor] if self._rows else None

    def move_to(self, row: int) -> None:
        """Put the cursor on a row, or on the nearest existing row."""
        self.cursor = max(0, min(row, len(self._rows) - 1))
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if not top <= self.cursor < top + height:
            self.scroll_to(
                y=self.cursor if self.cursor < top else self.cursor - height + 1,
                animate=False,
                immediate=True,
            )
        self.refresh()
        self.post_message(self.Chosen())

    @property
    def columns(self) -> int:
        """Columns of a row, without the scroll bar."""
        return self.scrollable_content_region.width

    @property
    def page_rows(self) -> int:
        """Rows of a screenful."""
        return max(1, self.size.height - 1)

    def head(self) -> str:
        """Return the heads of the columns."""
        run, settings = _flexible(self.columns)
        cells = [f"{'':2}{'when':{_WHEN}}", f"{'run':{run}}"]
        cells += [f"{'page':{_PAGE}}", f"{'set differently':{settings}}"] if settings else []
        return _GAP.join([*cells, f"{'throughput':>{_RATE}}", "limited by"])

    def on_resize(self) -> None:
        self.virtual_size = Size(self.columns, len(self._rows))
        self.move_to(self.cursor)

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if row == self.cursor:
            self.post_message(self.Opened())
        elif row < len(self._rows):
            self.move_to(row)

    def render_line(self, y: int) -> Strip:
        row, width = y + self.scroll_offset.y, self.columns
        if row >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        ground = self._style("cursor" if row == self.cursor else "row")
        segments = [
            Segment(text, ground + self._hue(name)) for text, name in self._cells(self._rows[row], width)
        ]
        return Strip(segments).adjust_cell_length(width, ground)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"runs--{name}")

    def _hue(self, name: str) -> Style:
        style = self._style(name or "row")
        return Style(bold=style.bold, color=style.color if name else None)

    def _cells(self, run: ListedRun, width: int) -> list[tuple[str, str]]:
        """Return the texts of a row, each with its style; empty for the default style."""
        columns, settings = _flexible(width)
        letter = LETTERS[self._ticked.index(run.id)] if run.id in self._ticked else ""
        rate, cause, style = results(run)
        cells = [
            (f"{letter:2}", "tick"),
            (_fit(when(run), _WHEN) + _GAP, "muted"),
            (_fit(title(run), columns) + _GAP, ""),
        ]
        if settings:
            page = run.page.number if run.page else ""
            cells += [
                (_fit(page, _PAGE) + _GAP, "muted"),
                (_fit(settings_of(run), settings) + _GAP, "muted"),
            ]
        return [*cells, (f"{rate:>{_RATE}}{_GAP}", style), (_fit(cause, _CAUSE), style)]


def _flexible(width: int) -> tuple[int, int]:
    """Return the columns of the run's title and of its settings; 0 for no column."""
    rest = width - 2 - _WHEN - _RATE - _CAUSE - 3 * len(_GAP)
    if width < _LEAST_WITH_SETTINGS:
        return max(8, rest), 0
    rest -= _PAGE + 2 * len(_GAP)
    run = min(36, rest * 2 // 5)
    return run, rest - run


def _fit(text: str, width: int) -> str:
    """Cut or pad a text to that many columns."""
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def when(run: ListedRun) -> str:
    """Return the local time of a run's start, of earlier years the day; its id if the time is unknown."""
    started = run.started
    if started is None:
        return run.id
    is_recent = started.year == datetime.now(started.tzinfo).year
    return f"{started:%d %b %H:%M}" if is_recent else f"{started:%d %b %Y}"


def title(run: ListedRun) -> str:
    """Return the name of a run with its experiment, or the experiment."""
    experiment = short_name(run.summary.experiment) if run.summary else run.id
    return f"“{run.name}” {experiment}" if run.name else experiment


def settings_of(run: ListedRun) -> str:
    """Return the settings that differ from the experiment's own."""
    return ", ".join(f"{name} {text}" for name, text in run.summary.settings.items()) if run.summary else ""


def results(run: ListedRun) -> tuple[str, str, str]:
    """Return throughput, limiting cause and the name of their style."""
    if run.problem:
        return "", "cannot be read", "bad"
    if run.summary is None:
        return "", "reading …", "muted"
    rates = (run.summary.throughput_bps, run.summary.udp_bps)
    rate = next((units.rate(each) for each in rates if each is not None), units.UNKNOWN)
    if not run.summary.complete:
        return rate, "cut short", "muted"
    if run.summary.fidelity == "invalid":
        return rate, "invalid", "bad"
    return rate, CAUSE_NAMES[run.summary.limited_by] if run.summary.limited_by else "nothing measured", ""


def about(run: ListedRun) -> Content:
    """Describe a run in two lines: where and when it was made, and its settings."""
    if run.problem:
        return Content.styled(run.problem, "$text-muted")
    summary = run.summary
    if summary is None:
        return Content.styled(run.file.name, "$text-muted")
    page = f", page {run.page.number or run.page.step}" if run.page else ""
    fidelity = "" if summary.fidelity == "valid" else f", fidelity {summary.fidelity}"
    first = f"{summary.experiment}{page}, seed {units.or_dash(summary.seed)}, {summary.backend}{fidelity}"
    return Content.assemble(
        first, "\n", (settings_of(run) or "settings as in the experiment's file", "$text-muted")
    )
