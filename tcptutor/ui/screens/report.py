"""The dialog to report a mistake on a page to the teacher."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tcptutor.base.errors import UsageError
from tcptutor.journal.texts import LONGEST_REPORT, check_report
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar


class ReportScreen(ModalScreen[str]):
    """A single-line field, dismissed with the student's report; None if closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", priority=True, id="report.close"),
    ]

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page
        self._state = Static(
            "Your line goes into a file with the page, your latest run and your answers, and into your hand-in.",
            id="report-state",
            markup=False,
        )

    def compose(self) -> ComposeResult:
        with Vertical(id="report") as box:
            box.border_title = f"What is wrong on {self._page}?"
            yield Input(max_length=LONGEST_REPORT, compact=True)
            yield self._state
            yield KeyBar(
                FooterKey((("Enter", "enter"),), "report", is_next=True),
                FooterKey((("Esc", "escape"),), "close"),
            )

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        try:
            check_report(event.value)
        except UsageError as error:
            self._state.update(f"{error}.")
        else:
            self.dismiss(event.value.strip())
