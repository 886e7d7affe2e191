"""Scrolling page of a step: prose, activities, the text after the run, and the table of its runs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.base.key_names import key_name
from tcptutor.course.activity import Activity, Stage
from tcptutor.course.outline import Module
from tcptutor.course.page_record import TeacherComment
from tcptutor.course.page_references import references
from tcptutor.course.step import OTHERS, Step
from tcptutor.run import Run
from tcptutor.study.live import EarlierRun
from tcptutor.ui.widgets.page import paging
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.folded import FoldedText
from tcptutor.ui.widgets.page.note import NoteText
from tcptutor.ui.widgets.page.onward import OnwardLines
from tcptutor.ui.widgets.page.scrolling import ScrollRequested
from tcptutor.ui.widgets.page.teacher import TeacherText
from tcptutor.ui.widgets.page.text import linked_pages
from tcptutor.ui.widgets.prose.illustrated import illustrated
from tcptutor.ui.widgets.prose.markdown import Prose
from tcptutor.ui.widgets.prose.moving import MovingView
from tcptutor.ui.widgets.prose.player import FigurePlayer

"""Key that opens published measurements."""


class Page(VerticalScroll, inherit_bindings=False):
    """Page of a single step; a different step gets a new page."""

    # Without the base class's left and right, which turn pages here.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", show=False),
        Binding("down", "scroll_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("space", "read_on", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
    ]

    def __init__(self, module: Module, step: Step, boxes: Sequence[ActivityBox[Any]]) -> None:
        super().__init__()
        self._step = step
        self.onward = OnwardLines(module)
        self.note, self._teacher = NoteText(), TeacherText()
        self.player = FigurePlayer(self)
        self.boxes = tuple(boxes)
        """In order of the page."""
        self._after, self._runs = TextAfterRun(step), RunsTable()
        self._others = (
            FoldedText(OTHERS, key_name("lesson.others"), *illustrated(step.published, step.figures))
            if step.published
            else None
        )
        if self._others and step.experiments:
            self._others.display = False  # until the run

    def compose(self) -> ComposeResult:
        """Compose the text only, which is read first; `complete` mounts the rest."""
        # The header shows the title.
        head = f"*{self._step.subtitle}*\n\n" if self._step.subtitle else ""
        yield from illustrated(self._step.prose, self._step.figures, head)

    async def complete(self) -> None:
        """Mount the boxes, the text after the run, and the lines that lead on."""
        others = [self._others] if self._others else []
        await self.mount(
            *([] if self._step.experiments else others),
            *(box for box in self.boxes if box.activity.stage <= Stage.OBSERVE),
            self._after,
            *(others if self._step.experiments else []),
            self._runs,
            *(box for box in self.boxes if box.activity.stage > Stage.OBSERVE),
            self._teacher,
            self.note,
            self.onward,
        )

    def action_page_down(self) -> None:
        self.scroll_to(y=paging.next_screen(self), immediate=True)

    def action_page_up(self) -> None:
        self.scroll_to(y=paging.previous_screen(self), immediate=True)

    def action_read_on(self) -> None:
        """Show the next screen; at the end of the text, play or pause the figure in view."""
        if self.screens_below:
            self.action_page_down()
        else:
            self.player.toggle()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """No-op: focus does not change a page's style, and Textual's own handler restyles all of it."""

    def box(self, activity: Activity) -> ActivityBox[Any]:
        return next(box for box in self.boxes if box.activity.id == activity.id)

    def active_box(self) -> ActivityBox[Any] | None:
        return next((box for box in self.boxes if box.is_active), None)

    def linked_pages(self) -> dict[str, str]:
        """Return the words of the page references in the displayed texts, by MODULE/PAGE, in page order."""
        found: dict[str, str] = {}
        for widget in self.query("*").results():
            if not all(each.display for each in widget.ancestors_with_self):
                continue
            if isinstance(widget, Prose):
                linked = [*references(widget.source)]
            elif isinstance(widget, Static) and isinstance(widget.content, Content):
                linked = [*linked_pages(widget.content)]
            else:
                continue
            for each in linked:
                found.setdefault(each.page, " ".join(each.words.split()))
        return found

    @property
    def screens_below(self) -> int:
        """Screens of text below the visible part."""
        height = self.scrollable_content_region.height
        rest = self.max_scroll_y - self.scroll_offset.y
        return math.ceil(rest / height) if height > 0 and rest > 0 else 0

    def shows(self, box: ActivityBox[Any]) -> bool:
        """Whether part of the box is on the screen."""
        return self.region.overlaps(box.region)

    @on(MovingView.Clicked)
    def _toggle_figure(self, event: MovingView.Clicked) -> None:
        event.stop()
        self.player.toggle(event.view)

    @on(ScrollRequested)
    def _scroll_to_box(self, event: ScrollRequested) -> None:
        """Scroll to the complete box, unless the student is answering in a different box."""
        event.stop()
        if event.box.is_active or not self._is_busy:
            event.scroll(self)

    @property
    def has_others(self) -> bool:
        """True if the page shows the heading of published measurements."""
        return self._others is not None and self._others.display

    def toggle_others(self) -> None:
        """Open or close the published measurements."""
        if self._others:
            self._others.toggle()

    def show_run(self, run: Run) -> None:
        """Pass a complete run to the boxes; no-op if the page was left meanwhile."""
        if self.is_attached:
            for box in self.boxes:
                box.show_run(run)

    def show_runs(self, rows: Sequence[tuple[str, EarlierRun | None]], spread: str) -> None:
        """Show the table of runs: name and figures of each, None for a missing run, and their spread."""
        if self.is_attached:
            self._runs.show(rows, spread)

    def show_comments(self, comments: Sequence[TeacherComment]) -> None:
        """Show the teacher's comments on the page and its activities."""
        self._teacher.show(comments, self.boxes)

    def explain_signs(self) -> None:
        """Explain the signs of the models next to the result; called before the page is composed."""
        self._after.explains_signs = True

    def show_after(self, scroll: bool) -> None:
        """Show the texts after the run; scroll to them unless the student is busy elsewhere or has left."""
        if self._others:
            self._others.display = True
        if self._step.after_run and self.is_attached:
            self._after.appear(scroll=scroll and not self._is_busy)

    def scroll_to_question(self, activity: Activity) -> None:
        """Scroll to a question unless the student is busy elsewhere or has left."""
        if self.is_attached and not self._is_busy:
            self.box(activity).scroll_into_view()

    @property
    def _is_busy(self) -> bool:
        return isinstance(self.screen.focused, Input | ActivityBox)


_FRAME = 7
"""Columns around a drawing on a page in a column of its own: border, padding, scroll bar, fence."""
_AFTER = 2
"""Additional columns around the text after the run."""
_FENCES = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def least_width(step: Step) -> int:
    """Return the columns that a page of `step` needs to show its drawings without wrapping."""
    widths = [
        widest_line(step.prose),
        *(widest_line(text) + _AFTER for text in (step.after_run, step.published)),
    ]
    return max(widths) + _FRAME


def widest_line(text: str) -> int:
    """Return the columns of the widest line of the drawings (fenced blocks) in a Markdown text; 0 without any."""
    lines = (line for block in _FENCES.findall(text) for line in block.splitlines())
    return max((cell_len(line.rstrip()) for line in lines), default=0)


_LIMITS = re.compile(r"^(\*\*Where [^*\n]* stops\.\*\*.*(?:\n.+)*)", re.MULTILINE)
"""Paragraph about the limits of a model."""


MODEL_SIGNS = "±: a model's tolerance   ✓ within   ✗ outside   – no verdict"


class TextAfterRun(Vertical):
    """Text after the run, hidden until then."""

    def __init__(self, step: Step) -> None:
        super().__init__(id="after")
        self._step = step
        self.display = False
        self.explains_signs = False
        """True if the signs of the models are explained."""
        self._scroll_pending = False

    def compose(self) -> ComposeResult:
        if not self._step.after_run:
            return
        title = Content.styled("■ Result", "bold $secondary")
        if self.explains_signs and self._step.experiment:
            title += Content.assemble("   ", (MODEL_SIGNS, "$text-muted"))
        yield Static(title, classes="title", markup=False)
        for at, part in enumerate(_LIMITS.split(self._step.after_run)):
            for widget in illustrated(part, self._step.figures) if part.strip() else ():
                widget.set_class(at % 2 == 1, "limits")
                yield widget

    def appear(self, scroll: bool) -> None:
        if not self.display:
            self.display = True
            self._scroll_pending = scroll

    def on_resize(self) -> None:
        # Only now does the text have a position to scroll to.
        if self._scroll_pending and self.size.height:
            self._scroll_pending = False
            # The page may have been hidden by the chart, and have no height to scroll yet.
            self.call_after_refresh(self.scroll_visible, animate=False, top=True)


HEAD = ("Your runs", "throughput", "RTT", "retrans")
SEVERAL = ("Jain", "CoV")
"""Additional columns for runs of several flows: fairness and steadiness."""
NOT_YET = "not run yet"
GAPS = (4, 2, 1)
"""Blanks between columns, widest that fits."""


class RunsTable(Static):
    """Table of runs, hidden until runs can be compared."""

    def __init__(self) -> None:
        super().__init__(id="runs", markup=False)
        self.display = False
        self._rows: Sequence[tuple[str, EarlierRun | None]] = ()
        self._spread = ""

    def show(self, rows: Sequence[tuple[str, EarlierRun | None]], spread: str) -> None:
        """Show a row per run, the displayed run last, and a line about their spread."""
        self._rows, self._spread = rows, spread
        self.display = len(rows) > 1
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self._rows:
            return
        has_flows = any(run and run.jain_index is not None for _, run in self._rows)
        head = (*HEAD, *SEVERAL) if has_flows else HEAD
        cells = [head, *(_cells(*row)[: len(head)] for row in self._rows)]
        # Names left-aligned, figures right-aligned.
        width = max(len(name) for name, *_ in cells)
        cells = [(name.ljust(width), *numbers) for name, *numbers in cells]
        for gap in GAPS:
            lines = table(cells, indent=0, gap=gap, right=True)
            if max(map(len, lines)) <= self.content_size.width:
                break
        first, *others, last = lines
        styled = [Content.styled(first, "bold"), *map(Content, others), Content.styled(last, "bold")]
        self.update(Content("\n").join([*styled, *([Content(self._spread)] if self._spread else [])]))


def _cells(name: str, run: EarlierRun | None) -> tuple[str, ...]:
    if run is None:
        return name, NOT_YET, "", "", "", ""
    rtt = units.seconds(run.mean_rtt_s) if run.mean_rtt_s else "–"
    jain = "–" if run.jain_index is None else f"{run.jain_index:.3f}"
    cov = "–" if run.cov is None else f"{run.cov:.2f}"
    return name, units.rate(run.throughput_bps), rtt, units.or_dash(run.retransmits), jain, cov
