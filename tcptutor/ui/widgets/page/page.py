"""The page of a step: prose, what the student does, and what was to be seen; it scrolls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from tcptutor.course.activity import Activity, Stage
from tcptutor.course.model import Step
from tcptutor.run import Run
from tcptutor.ui.live import EarlierRun
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.prose import Prose
from tcptutor.ui.widgets.page.runs import RunsTable


class Page(VerticalScroll, inherit_bindings=False):
    """One step. A new step is a new page."""

    # Without the base's own left and right: they turn pages here.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", show=False),
        Binding("down", "scroll_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown,space", "page_down", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
    ]

    def __init__(self, step: Step, boxes: Sequence[ActivityBox[Any]], onward: str) -> None:
        super().__init__()
        self._step, self._onward = step, onward
        self.boxes = tuple(boxes)
        """In the order of the page."""
        self._after, self._runs = After(step.after), RunsTable()

    def compose(self) -> ComposeResult:
        """Only title and text, which are read first: `complete` adds the rest once they are on the screen."""
        yield Prose(f"# {self._step.title}\n\n{self._step.prose}")

    async def complete(self) -> None:
        """Mount everything below the text: the boxes, the text after the run, and the title of the next page."""
        await self.mount(
            *(box for box in self.boxes if box.activity.stage < Stage.AFTER_RUN),
            self._after,
            self._runs,
            *(box for box in self.boxes if box.activity.stage >= Stage.AFTER_RUN),
            Static(Content(self._onward), id="onward"),
        )

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Nothing of a page looks otherwise with the focus: Textual's own styles all of it anew."""

    def box(self, activity: Activity) -> ActivityBox[Any]:
        return next(box for box in self.boxes if box.activity.id == activity.id)

    def box_at_hand(self) -> ActivityBox[Any] | None:
        """The one that has the focus."""
        return next((box for box in self.boxes if box.at_hand), None)

    def shows(self, box: ActivityBox[Any]) -> bool:
        """Whether a part of it is on the screen."""
        return self.region.overlaps(box.region)

    @on(ActivityBox.InView)
    def _bring(self, event: ActivityBox.InView) -> None:
        """Scroll no further than it takes to have the box whole on the screen."""
        event.stop()
        box, view, here = (
            event.box.virtual_region,
            self.scrollable_content_region.height,
            self.scroll_offset.y,
        )
        if not view or not box.height:
            return
        longer = box.height > view
        if longer and event.end:
            target = box.bottom - view
        elif longer or box.y < here:
            target = box.y
        else:
            target = max(here, box.bottom - view)
        self.scroll_to(y=target, animate=False)

    def saw_run(self, run: Run) -> None:
        """A whole run is there; nothing when the page was left meanwhile."""
        if self.is_attached:
            for box in self.boxes:
                box.saw_run(run)

    def show_runs(self, rows: Sequence[tuple[str, EarlierRun | None]], spread: str) -> None:
        """The run among others: which each is and its numbers, None for one that is not there; and their spread."""
        if self.is_attached:
            self._runs.show(rows, spread)

    def show_after(self, scroll: bool) -> None:
        """The run is there: say what was to be seen; go there unless the student is busy elsewhere, or has left."""
        if self._step.after and self.is_attached:
            busy = isinstance(self.screen.focused, Input | ActivityBox)
            self._after.appear(go_there=scroll and not busy)


_FRAME = 7
"""Columns that a page in a column of its own takes around a drawing: border, padding, scroll bar, the drawing's own."""
_AFTER = 2
"""Those that the text after the run takes besides."""
_FENCES = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def least_width(step: Step) -> int:
    """Return the columns that a page of `step` needs so that no line of a drawing in its texts is wrapped."""
    drawn = [widest_line(step.prose), widest_line(step.after) + _AFTER]
    return max(drawn) + _FRAME


def widest_line(text: str) -> int:
    """Return the columns of the widest line of the drawings, fenced blocks, in a Markdown text; 0 without any."""
    lines = (line for block in _FENCES.findall(text) for line in block.splitlines())
    return max((cell_len(line.rstrip()) for line in lines), default=0)


class After(Prose):
    """What was to be seen, once the run is there."""

    def __init__(self, text: str) -> None:
        super().__init__(text, id="after")
        self.display = False
        self._go_there = False

    def appear(self, go_there: bool) -> None:
        if not self.display:
            self.display = True
            self._go_there = go_there

    def on_resize(self) -> None:
        # Only now has it a place that can be scrolled to.
        if self._go_there and self.size.height:
            self._go_there = False
            # The page may be just coming back from behind the chart, and have no length to scroll yet.
            self.call_after_refresh(self.scroll_visible, animate=False, top=True)
