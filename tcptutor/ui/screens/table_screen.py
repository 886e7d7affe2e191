"""Base of screens with a table that is sorted and searched, with details of the selected row below."""

from __future__ import annotations

import re
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Key, Paste
from textual.widgets import DataTable, Input, Static

from tcptutor.grading.views import TableView
from tcptutor.ui.bindings import Entries, FooterKey, priority
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.widgets.view_table import ViewTable

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3, "u": 1e-6, "µ": 1e-6}
_TYPING = (
    FooterKey((("Enter", "enter"),), "accept", is_next=True),
    FooterKey((("Esc", "escape"),), "clear"),
)


class TableScreen(TutorScreen):
    """A table with details of the selected row. Subclasses set `view` and open rows."""

    AUTO_FOCUS = "DataTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        priority("enter", "open", "open", "table.open", "open the row"),
        priority("slash", "search", "search", "table.search", "only rows with these words"),
        priority("s", "sort", "sort", "table.sort", "sort by the next column"),
        priority("S", "reverse", "reverse", "table.reverse", "reverse the order"),
        priority("escape", "back", "back", "table.back", "clear the search, or go back"),
    ]
    OTHER_KEYS: ClassVar[Entries] = (
        ("↑ ↓ PgUp PgDn", "select a row; its details are below"),
        ("click on a head", "sort by its column"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._words = Entry("words", self._accept, self.action_back)
        self._field = Horizontal(Static("Search ", classes="label"), self._words, classes="entry")
        self._field.display = False
        self._table = ViewTable()
        self._sorting: dict[str, tuple[int, bool]] = {}
        """Column and whether it descends, by table; without an entry, the table's own order."""
        self._shown: list[int] = []
        """Rows of the view that are shown, in order."""

    @property
    def view(self) -> TableView:
        raise NotImplementedError

    @property
    def can_open(self) -> bool:
        """Whether Enter opens the selected row."""
        return True

    def open_row(self, row: int) -> None:
        """Open a row of the view."""
        raise NotImplementedError

    def head(self) -> Content:
        """Return the line above the table."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield Static(id="table-head", markup=False)
        yield self._field
        yield self._table
        yield Static(id="table-chart", markup=False)
        with VerticalScroll(id="table-details", can_focus=False):
            yield Static(markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        self.show_table()

    def fit(self, wide: bool, tall: bool) -> None:
        super().fit(wide, tall)
        self.call_after_refresh(lambda: self.show_table(self.selected) if self.is_attached else None)

    def show_table(self, selected: int | None = None) -> None:
        """Draw the table, with the cursor on the row `selected` of the view."""
        view = self.view
        self.query_one("#table-head", Static).update(self.head())
        words = self._words.value.casefold().split()
        rows = [
            row
            for row in range(len(view.rows))
            if all(word in " ".join((*view.rows[row], *view.details[row])).casefold() for word in words)
        ]
        column, descends = self._sorting.get(view.id, (-1, False))
        if column >= 0:
            rows.sort(key=lambda row: sort_key(view.rows[row][column]), reverse=descends)
        self._shown = rows
        self._table.show(view, rows, column, descends, selected)
        if rows and not self._is_typing:
            self._table.focus()
        self._show_details()
        self.refresh_bindings()
        self.schedule_keys()

    @property
    def selected(self) -> int | None:
        """The row of the view under the cursor."""
        at = self._table.cursor_row
        return self._shown[at] if 0 <= at < len(self._shown) else None

    def _show_details(self) -> None:
        view, row = self.view, self.selected
        lines = list(view.details[row]) if row is not None else []
        if not self._shown and view.rows:
            lines = [f"no row has “{self._words.value}”"]
        notes = [Content.styled(note, "$text-muted") for note in view.notes if note]
        details = Content("\n").join([*map(Content, lines), *notes])
        self.query_one("#table-details > Static", Static).update(details)
        self.query_one("#table-details", VerticalScroll).scroll_home(animate=False)

    # Keys

    @property
    def _is_typing(self) -> bool:
        return self.focused is self._words

    @property
    def takes_text(self) -> bool:
        return self._is_typing

    async def take(self, event: Key | Paste) -> bool:
        return await self._words.take(event) if self._is_typing else False

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return _TYPING if self._is_typing else super().footer_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "open" and not (self.can_open and self._shown):
            return False
        return super().check_action(action, parameters)

    def action_open(self) -> None:
        if (row := self.selected) is not None:
            self.open_row(row)

    def action_search(self) -> None:
        self._field.display = True
        self.set_focus(self._words)
        self.schedule_keys()

    def _accept(self) -> None:
        self._field.display = bool(self._words.value)
        self.set_focus(self._table)
        self.schedule_keys()

    def action_back(self) -> None:
        if self._field.display:
            row = self.selected
            self._words.value, self._field.display = "", False
            self.set_focus(self._table)
            self.show_table(row)
        else:
            self.leave()

    def leave(self) -> None:
        """Go back to the screen before."""
        self.dismiss()

    @on(Input.Changed)
    def _search_changed(self) -> None:
        self.show_table(self.selected)

    def action_sort(self) -> None:
        columns = [column for column, head in enumerate(self.view.head) if head]
        column = self._sorting.get(self.view.id, (-1, False))[0]
        self._sort_by(next((each for each in columns if each > column), -1))

    def _sort_by(self, column: int) -> None:
        view, row = self.view, self.selected
        if column < 0:
            self._sorting.pop(view.id, None)
        else:
            self._sorting[view.id] = column, view.right[column]
        self.show_table(row)

    def action_reverse(self) -> None:
        if found := self._sorting.get(self.view.id):
            self._sorting[self.view.id] = found[0], not found[1]
            self.show_table(self.selected)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        column = int(event.column_key.value or 0)
        if self._sorting.get(self.view.id, (-1, False))[0] == column:
            self.action_reverse()
        else:
            self._sort_by(column)

    def on_data_table_row_highlighted(self) -> None:
        self._show_details()
        self.refresh_bindings()
        self.schedule_keys()

    def on_data_table_row_selected(self) -> None:
        self.action_open()  # by a click: Enter is a key of the screen


def sort_key(cell: str) -> tuple[int, float, str]:
    """Return the key by which cells are sorted: empty, then numbers with their units, then texts."""
    text = cell.strip()
    if not text:
        return (0, 0.0, "")
    found = _NUMBER.match(text)
    if found is None:
        return (2, 0.0, text.casefold())
    minutes = re.fullmatch(r"(\d+):(\d\d)", text)
    if minutes:
        return (1, 60.0 * int(minutes[1]) + int(minutes[2]), "")
    prefix = re.match(r"\s*([kMGmuµ])(?:bit|B|b|s\b)", text[found.end() :])
    return (1, float(found[0]) * (_PREFIXES[prefix[1]] if prefix else 1.0), text.casefold())
