"""A view's table, fitted to the width of the terminal: long texts are cut, and excess columns left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.widgets import DataTable

from tcptutor.grading.views import BAR_CHARACTERS, TableView

_PADDING = 1
_SHORT = 16
"""Columns up to which a text is never shortened."""
_LEAST = 12
"""Least columns of a cut text; with less room it is left out."""
_LOOKS = {"✓": "good", "◐": "partial", "?": "partial", "✗": "bad", "○": "muted", "–": "muted"}
_NAMES = 2
"""Number of leading columns that may contain the name of a row: the first, or the second after a sign."""
_DOWN, _UP = " ▼", " ▲"


class ViewTable(DataTable[Text]):
    """The rows of a view, in an order of the screen's choice."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *DataTable.COMPONENT_CLASSES,
        *(f"view--{name}" for name in ("bar", "good", "partial", "bad", "muted")),
    }

    def __init__(self) -> None:
        super().__init__(id="table", cursor_type="row", cell_padding=_PADDING)

    def show(
        self, view: TableView, rows: Sequence[int], sorted_by: int, descends: bool, selected: int | None
    ) -> None:
        """Draw these rows.

        Args:
            view: The table.
            rows: Indexes of the rows to show, in order.
            sorted_by: The column by which they are sorted; negative for none.
            descends: Whether the order descends.
            selected: The row under the cursor; the first if it isn't shown.
        """
        heads = [
            f"{head}{(_DOWN if descends else _UP) if number == sorted_by else ''}"
            for number, head in enumerate(view.head)
        ]
        widths = column_widths(heads, view, rows, self.size.width - self.scrollbar_size_vertical)
        self.clear(columns=True)
        shown = [column for column, width in enumerate(widths) if width]
        for column in shown:
            self.add_column(
                self._cell(heads[column], view.right[column], widths[column]),
                width=widths[column],
                key=str(column),
            )
        for row in rows:
            self.add_row(
                *(
                    self._cell(view.rows[row][column], view.right[column], widths[column], is_body=True)
                    for column in shown
                )
            )
        self.display = bool(rows)
        if rows:
            self.move_cursor(row=rows.index(selected) if selected in rows else 0)

    def _cell(self, text: str, right: bool, width: int, *, is_body: bool = False) -> Text:
        cell = Text(text, style=self._style(text) if is_body else "", justify="right" if right else "left")
        cell.truncate(width, overflow="ellipsis")
        return cell

    def _style(self, text: str) -> Style | str:
        look = "bar" if text and set(text) <= BAR_CHARACTERS else _LOOKS.get(text)
        return self.get_component_rich_style(f"view--{look}", partial=True) if look else ""


def column_widths(heads: Sequence[str], view: TableView, rows: Sequence[int], room: int) -> list[int]:
    """Return the width of each column, 0 for a column that is empty or does not fit.

    Long texts share the width that the other columns leave.
    """
    bodies = [max((len(view.rows[row][column]) for row in rows), default=0) for column in range(len(heads))]
    natural = [max(len(head), body) if body else 0 for head, body in zip(heads, bodies, strict=True)]
    room -= 2 * _PADDING * sum(map(bool, natural))
    # A long text after the sign is a name, which is shown whole.
    name = next((column for column, width in enumerate(natural[:_NAMES]) if width > _SHORT), -1)
    long = [
        column
        for column, width in enumerate(natural)
        if width > _SHORT and column != name and not view.right[column]
    ]
    widths = [0 if column in long else width for column, width in enumerate(natural)]
    left = room - sum(widths)
    while long and left < sum(min(natural[column], _LEAST) for column in long):
        long.pop()
        left += 2 * _PADDING
    for number, column in enumerate(long):
        widths[column] = min(natural[column], left // (len(long) - number))
        left -= widths[column]
    if not long and left < 0 and name >= 0:
        widths[name] = max(_LEAST, widths[name] + left)
    return widths
