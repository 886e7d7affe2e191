"""Lines at the end of a page: the target of Enter, and pages off the student's path."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.style import Style
from textual.widget import Widget

from tcptutor.base.key_names import key_name
from tcptutor.course.outline import Module
from tcptutor.study.pages import Branch, ModulePage, offer


class OnwardLines(Widget):
    """Links to the next page of the path and to the deeper pages before it."""

    class Chosen(Message):
        """A link was clicked."""

        def __init__(self, place: ModulePage) -> None:
            self.place = place
            super().__init__()

    def __init__(self, module: Module) -> None:
        super().__init__(id="onward")
        self._module = module
        self._lines: list[tuple[str | None, Content]] = []
        self._targets: list[ModulePage] = []

    def show(self, branch: Branch) -> None:
        """Show the pages that follow, a line each, with their keys."""
        self._targets.clear()
        self._lines = [
            ("" if at else key_name("lesson.deeper"), self._link(offer(step), ModulePage(self._module, step)))
            for at, step in enumerate(branch.deeper)
        ]
        self._lines.append(self._next_line(branch))
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self.rows(width))

    def render(self) -> Content:
        return Content("\n").join(self.rows(self.content_size.width))

    def rows(self, width: int) -> list[Content]:
        """Return the lines, wrapped so that the text of all of them begins in the same column."""
        return [
            Content(_key("" if at and key else key)) + part
            for key, line in self._lines
            for at, part in enumerate(line.wrap(max(width - len(_key(key)), 1)))
        ]

    def _next_line(self, branch: Branch) -> tuple[str | None, Content]:
        place = branch.following
        if place is None:
            return None, Content(f"This is the last page{' of your path' if branch.deeper else ''}.")
        back = "back to the essentials: " if branch.is_off_path else ""
        other = f"{place.module.number} {place.module.title}: " if place.module.id != self._module.id else ""
        known = ", ".join(f"“{page.title}”" for page in branch.passed_over)
        link = self._link(f"{other}{place.step.title}", place)
        return key_name("lesson.onward"), Content.assemble(back, link, f"; you know {known}" if known else "")

    def _link(self, words: str, place: ModulePage) -> Content:
        self._targets.append(place)
        return Content.styled(words, Style.from_meta({"@click": f"open({len(self._targets) - 1})"}))

    def action_open(self, number: int) -> None:
        self.post_message(self.Chosen(self._targets[number]))


def _key(name: str | None) -> str:
    return "" if name is None else f"{name:5}  "
