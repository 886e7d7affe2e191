"""A class: its tables, and below a student the pages, answers and runs."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tcptutor.grading.drill_down import ClassDetails
from tcptutor.grading.survey import Survey, anonymize
from tcptutor.grading.views import TableView, hardest_first, histogram_lines, table_views
from tcptutor.ui.screens.class_student import StudentScreen, StudentsScreen
from tcptutor.ui.screens.table_screen import TableScreen
from tcptutor.ui.widgets.bars import TopBar

_BAR_LINES, _TALL_BAR_LINES = 3, 6
_NARROWEST = 60
_OPENED = ("students", "pages", "questions")
"""Tables whose rows open with Enter."""


class ClassScreen(TableScreen):
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
        Binding(
            "h", "histogram", "histogram", id="class.histogram", tooltip="show or hide the marks' histogram"
        ),
        Binding("a", "hide", "names", id="class.names", tooltip="switch between names and numbers"),
    ]
    OTHER_KEYS = (*TableScreen.OTHER_KEYS, ("1 to 6", "a table"))
    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = (
        ("table.open", "open"),
        ("class.previous class.next", "table"),
        ("table.back", "back"),
        ("table.search", "search"),
        ("table.sort table.reverse", "sort"),
        ("class.histogram", "chart"),
        ("app.keys", "keys"),
        ("app.quit", "quit"),
        ("class.names", "names"),
    )

    def __init__(self, found: Survey, details: ClassDetails | None = None, *, hidden: bool = False) -> None:
        super().__init__()
        self._survey, self._details, self._anonymous = found, details, hidden
        self._views = table_views(self._visible_survey)
        self._index = 0
        self._has_histogram: bool | None = None
        """None: where the terminal has room for it."""

    @property
    def _visible_survey(self) -> Survey:
        return anonymize(self._survey) if self._anonymous else self._survey

    @property
    def view(self) -> TableView:
        return self._views[self._index]

    @property
    def can_open(self) -> bool:
        return self._details is not None and self.view.id in _OPENED

    def on_mount(self) -> None:
        self.query_one(TopBar).show_place(f"the class · {self._survey.title}")

    def show_lab(self) -> None:
        """Show the number of hand-ins in place of the lab."""
        for bar in self.query(TopBar):
            number = len(self._survey.students)
            bar.show_lab(f"{number} hand-in{'' if number == 1 else 's'}")

    def head(self) -> Content:
        tabs = [
            Content.styled(
                f" {number} {view.title.partition(',')[0]} ", "reverse" if view is self.view else ""
            )
            for number, view in enumerate(self._views, 1)
        ]
        return Content(" ").join(tabs)

    def show_table(self, selected: int | None = None) -> None:
        super().show_table(selected)
        self._show_histogram()

    def _show_histogram(self) -> None:
        if not self.is_attached:
            return
        chart = self.query_one("#table-chart", Static)
        tall = self.has_class("-tall")
        is_shown = tall if self._has_histogram is None else self._has_histogram
        width = min(max(self.size.width - 6, _NARROWEST), 100)
        lines = (
            histogram_lines(self._survey, width, _TALL_BAR_LINES if tall else _BAR_LINES) if is_shown else []
        )
        chart.display = bool(lines) and self.view.id == "students"
        if lines:
            chart.update(
                Content("\n").join(
                    [
                        Content.styled(lines[0], "$text-muted"),
                        *(Content.styled(line, "$flow-1") for line in lines[1:-1]),
                        Content.styled(lines[-1], "$text-muted"),
                    ]
                )
            )

    def open_row(self, row: int) -> None:
        if self._details is None:
            return
        details = self._details.without_grounds() if self._anonymous else self._details
        names = {each.number: each.name for each in self._visible_survey.students}
        if self.view.id == "students":
            number = self._survey.students[row].number
            if number in details.grades:
                self.app.push_screen(StudentScreen(details, number, names[number]))
        elif self.view.id == "pages":
            page = self._survey.pages[row]
            self.app.push_screen(StudentsScreen(details, (page.module, page.page), "", page.title, names))
        else:
            asked = hardest_first(self._survey)[row]
            prompt = " ".join(asked.prompt.split())
            place = asked.module, asked.page
            self.app.push_screen(StudentsScreen(details, place, asked.activity, prompt, names))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "histogram" and self.view.id != "students":
            return False
        if action == "back" and not (self._field.display or self._is_histogram_open):
            return False
        return super().check_action(action, parameters)

    def leave(self) -> None:
        """Close an opened histogram; the screen itself stays, as the bottom of the stack."""
        self._has_histogram = False
        self._show_histogram()
        self.refresh_bindings()
        self.schedule_keys()

    @property
    def _is_histogram_open(self) -> bool:
        return self._has_histogram is True and self.view.id == "students"

    def action_turn(self, by: int) -> None:
        self.action_show((self._index + by) % len(self._views))

    def action_show(self, number: int) -> None:
        self._index = number
        self._words.value, self._field.display = "", False
        self.show_table()

    def action_histogram(self) -> None:
        self._has_histogram = not self.query_one("#table-chart", Static).display
        self._show_histogram()
        self.refresh_bindings()
        self.schedule_keys()

    def action_hide(self) -> None:
        row = self.selected
        self._anonymous = not self._anonymous
        self._views = table_views(self._visible_survey)
        self.show_table(row)
