"""A question that is answered with a number."""

from __future__ import annotations

from textual.content import Content

from tcptutor.course.activities.numeric import Numeric
from tcptutor.ui.widgets.page.entry_box import EntryBox
from tcptutor.ui.widgets.page.text import paragraphs


class NumericBox(EntryBox[Numeric]):
    """The number is typed with its unit."""

    def ask(self) -> Content:
        return paragraphs(self.activity.ask)

    def unit(self) -> str:
        return self.activity.plain_unit
