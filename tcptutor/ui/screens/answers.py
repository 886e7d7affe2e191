"""Every answer that the student gave on a page, with the numbers that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.course.page_record import moment
from tcptutor.study.past_answers import PastAnswer
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.page.text import inline

_SIGNS = {True: ("✓ ", "bold $success"), False: ("✗ ", "bold $error"), None: ("· ", "$text-muted")}


class AnswersScreen(ModalScreen[None]):
    """List of given answers, the latest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,A", "dismiss", "close", priority=True, id="answers.close"),
    ]

    def __init__(self, answers: Sequence[PastAnswer], title: str) -> None:
        super().__init__()
        self._answers, self._title = answers, title

    def compose(self) -> ComposeResult:
        with Vertical(id="answers") as box:
            box.border_title = f"Your answers: {self._title}"
            with VerticalScroll():
                yield Static(Content("\n\n").join(self._entries()), markup=False)
            yield KeyBar(
                FooterKey((("Esc", "escape"),), "close", is_next=True),
                FooterKey((("↑", "up"), ("↓", "down")), "scroll"),
            )

    def _entries(self) -> Iterator[Content]:
        for each in self._answers:
            sign, style = _SIGNS[each.is_right]
            at = moment(each.at)
            when = f"{at.astimezone():%Y-%m-%d %H:%M}" if at else each.at
            yield Content("\n").join(
                [
                    Content.assemble((when, "$text-muted")),
                    inline(each.prompt),
                    Content.styled(sign, style) + inline(each.answer),
                ]
            )
