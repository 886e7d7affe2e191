"""The teacher's comments at the end of a page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from textual.content import Content
from textual.widgets import Static

from tcptutor.course.page_record import TeacherComment
from tcptutor.ui.widgets.page.box import ActivityBox

_QUESTION_LENGTH = 44
"""Characters of a question that a comment on it repeats."""


class TeacherText(Static):
    """Comments of the teacher on the page; hidden without any."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, comments: Sequence[TeacherComment], boxes: Sequence[ActivityBox[Any]]) -> None:
        """Show the comments; a comment on an activity of `boxes` begins with its question."""
        self.display = bool(comments)
        names = ", ".join(dict.fromkeys(comment.by for comment in comments if comment.by))
        heading = Content.assemble(("» Your teacher", "bold $secondary"), (f"  {names}", "$text-muted"))
        of_activity = {box.activity.id: box for box in boxes}
        lines = [_line(comment, of_activity.get(comment.activity)) for comment in comments]
        self.update(Content("\n").join([heading, Content("\n\n").join(lines)]))


def _line(comment: TeacherComment, box: ActivityBox[Any] | None) -> Content:
    if box is None:
        return Content(comment.text)
    question = textwrap.shorten(box.ask().plain, _QUESTION_LENGTH, placeholder=" …")
    return Content.assemble((f"{box.TITLE}: {question}\n", "$text-muted"), comment.text)
