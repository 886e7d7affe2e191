"""A class: its tables, with details of the selected row."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import DataTable, Static

from tcptutor.grading.survey import Survey, anonymize
from tcptutor.grading.views import TableView, table_views
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar


class ClassScreen(TutorScreen):
    """Tables of a class. Needs no lab and no journal."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left",
            "turn(-1)",
            "previous table",
            priority=True,
            id="class.previous",
            tooltip="the previous table",
        ),
        Binding(
            "right,tab", "turn(1)", "next table", priority=True, id="class.next", tooltip="the next table"
        ),
        *(
            Binding(str(number), f"show({number - 1})", show=False, id=f"class.show-{number}")
            for number in range(1, 7)
        ),
        Binding("a", "hide", "names", id="class.names", tooltip="switch between names and numbers"),
    ]
    OTHER_KEYS = (("↑ ↓", "select a row; its details are below"), ("1 to 6", "a table"))
    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = (
        ("class.previous class.next", "other table"),
        ("class.names", "names / numbers"),
        ("app.keys", "keys"),
        ("app.quit", "quit"),
    )

    def __init__(self, found: Survey, *, hidden: bool = False) -> None:
        super().__init__()
        self._survey, self._anonymous = found, hidden
        self._views = table_views(self._visible_survey)
        self._index = 0

    @property
    def _visible_survey(self) -> Survey:
        return anonymize(self._survey) if self._anonymous else self._survey

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield Static(id="class-tabs", markup=False)
        yield DataTable[Text](id="class-table", cursor_type="row", cell_padding=1)
        with VerticalScroll(id="class-details", can_focus=False):
            yield Static(markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TopBar).show_place(f"the class · {self._survey.title}")
        self._show()

    def show_lab(self) -> None:
        """Show the number of hand-ins in place of the lab."""
        for bar in self.query(TopBar):
            number = len(self._survey.students)
            bar.show_lab(f"{number} hand-in{'' if number == 1 else 's'}")

    @property
    def _view(self) -> TableView:
        return self._views[self._index]

    def _show(self) -> None:
        tabs = [
            Content.styled(
                f" {number} {view.title.partition(',')[0]} ", "reverse" if view is self._view else ""
            )
            for number, view in enumerate(self._views, 1)
        ]
        self.query_one("#class-tabs", Static).update(Content(" ").join(tabs))
        table = self.query_one(DataTable)
        table.clear(columns=True)
        for head, right in zip(self._view.head, self._view.right, strict=True):
            table.add_column(Text(head, justify="right" if right else "left"))
        for row in self._view.rows:
            table.add_row(
                *(
                    Text(cell, justify="right" if right else "left")
                    for cell, right in zip(row, self._view.right, strict=True)
                )
            )
        table.display = bool(self._view.rows)
        if self._view.rows:
            table.focus()
        self._show_details(0)

    def _show_details(self, row: int) -> None:
        lines = list(self._view.details[row]) if row < len(self._view.details) else []
        notes = [note for note in self._view.notes if note]
        details = Content("\n").join(
            [*map(Content, lines), *(Content.styled(note, "$text-muted") for note in notes)]
        )
        self.query_one("#class-details > Static", Static).update(details)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        self._show_details(event.cursor_row)

    def action_turn(self, by: int) -> None:
        self.action_show((self._index + by) % len(self._views))

    def action_show(self, number: int) -> None:
        self._index = number
        self._show()

    def action_hide(self) -> None:
        self._anonymous = not self._anonymous
        self._views = table_views(self._visible_survey)
        self._show()
