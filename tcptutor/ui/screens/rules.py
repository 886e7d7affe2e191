"""Rules of marking in the student's course."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.course.marks import MarkScheme
from tcptutor.course.rules import rules
from tcptutor.journal.fold import Enrolment
from tcptutor.ui.widgets.page.text import hanging

_NOT_ENROLLED = "You are not enrolled. Your teacher has a code for you: tcptutor enrol CODE STUDENT"


class RulesScreen(ModalScreen[None]):
    """Table of the rules. Any of its own keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,space,M", "dismiss", "close", id="rules.close")
    ]

    def __init__(self, enrolment: Enrolment | None, scheme: MarkScheme) -> None:
        super().__init__()
        self._enrolment, self._scheme = enrolment, scheme

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Marks"
            box.border_subtitle = "Esc closes"
            yield Static()

    def on_resize(self) -> None:
        """Lay out subjects and sentences in two columns."""
        room = self.query_one(VerticalScroll).scrollable_content_region.width
        self.query_one(Static).update(Content("\n").join(self._lines(room)))

    def _lines(self, room: int) -> Iterator[Content]:
        student = self._enrolment
        who = f"{student.student}, in the course {student.course}" if student else _NOT_ENROLLED
        yield from hanging(Content(), who, room)
        yield Content()
        rows = list(rules(self._scheme))
        column = max(len(name) for name, _ in rows)
        for name, sentence in rows:
            yield from hanging(Content.assemble((f"{name:<{column}}", "bold"), "  "), sentence, room)
