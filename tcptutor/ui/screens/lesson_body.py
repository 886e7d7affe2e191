"""Body of a page: its text, the panels of its activities, its terminal, and a line about hidden parts."""

from __future__ import annotations

from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Static

from tcptutor.base.key_names import key_name
from tcptutor.course.activities.shell import ShownCommand
from tcptutor.figures.kinds.network import NetworkFigure
from tcptutor.spec import Experiment
from tcptutor.study.study import Study
from tcptutor.study.tally import QuestionProgress, question_progress
from tcptutor.ui import lab_network
from tcptutor.ui.bench import Bench
from tcptutor.ui.messages import GoalsUpdated, RunUpdated, SessionUpdated, SweepUpdated
from tcptutor.ui.screens.activities import SIDES
from tcptutor.ui.screens.base import TALL, WIDE
from tcptutor.ui.screens.lesson_layout import Layout, View
from tcptutor.ui.screens.side import Side
from tcptutor.ui.widgets.chart.line_panel import LinePanel
from tcptutor.ui.widgets.page.page import Page, least_width
from tcptutor.ui.widgets.page.shell import ShellBox
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.prose.network import NetworkView
from tcptutor.ui.widgets.terminal.terminal import HostTabs, Terminal
from tcptutor.wire.kernel_state import SessionState

_MIN_SIDE_COLUMNS = 56
"""Minimum columns of the panel next to the text."""


class LessonBody(Container):
    """Parts of a page, shown and hidden by width and use. Sets the CSS classes of its screen."""

    class LaidOut(Message):
        """The visible parts or the part that gets the keys changed."""

    class TerminalReplaced(Message):
        """The terminal has ended, and a new terminal can be opened."""

    def __init__(self, study: Study, page: Page, bench: Bench) -> None:
        super().__init__(id="body")
        self._study, self._bench, self.page = study, bench, page
        self.sides: dict[str, Side] = {
            each.id: SIDES[type(each)](each, study, page, bench)
            for each in study.step.activities
            if type(each) in SIDES
        }
        """Panels by activity."""
        self.side = next(iter(self.sides.values()), None)
        """Panel of the activity used last; None if the page has no panel."""
        self.shell_box = next((box for box in page.boxes if isinstance(box, ShellBox)), None)
        self.terminal = Terminal(study, bench, self.shell_box)
        self.layout_state = Layout()
        self.columns_elsewhere = 0
        """Columns of the screen next to the page's parts."""
        self._status, self._shown_status = Static(id="status", markup=False), Content("")

    def compose(self) -> ComposeResult:
        yield self.page
        self.page.set_class(not self.sides, "-alone")
        for side in self.sides.values():
            side.widget.add_class("side")
            side.widget.set_class(side is not self.side, "-unused")
            yield side.widget
        yield self._status

    # Facts

    @property
    def terminal_open(self) -> bool:
        """True while this page's terminal is open or starting."""
        return self.terminal.is_open

    @property
    def other_terminal_open(self) -> bool:
        """True while a session of a different page prevents runs on this page."""
        return not self.terminal_open and self.session_open

    @property
    def session_open(self) -> bool:
        return self._bench.session.stage in ("starting", "open")

    @property
    def in_pane(self) -> bool:
        """True while the shell gets the keys."""
        return self.is_attached and self.screen.focused is self.terminal.pane

    @property
    def chart(self) -> RunPanel | None:
        if self.terminal_open:
            return self.terminal.chart
        return self.side.chart if self.side else None

    @property
    def panel(self) -> LinePanel | None:
        """The visible panel of a run or a sweep; None if the page has none, or hides it."""
        if not self.layout_state.shows_chart:
            return None
        widget = self.terminal.chart if self.terminal_open else self.side.widget if self.side else None
        return widget if isinstance(widget, LinePanel) else None

    @property
    def bench_experiment(self) -> Experiment | None:
        """Settings of the shown experiment; None while a prediction is due."""
        if self.terminal_open:
            return self._bench.session.bench_experiment
        return self.side.bench_experiment if self.side else None

    @property
    def next_experiment(self) -> Experiment | None:
        """The first run's experiment, for prefetching."""
        return next(filter(None, (side.next_experiment for side in self.sides.values())), None)

    @property
    def has_commands(self) -> bool:
        """True if the page has commands, even after the last command: F9 must not reach the shell."""
        return self.shell_box is not None and bool(self.shell_box.activity.commands)

    @property
    def command(self) -> ShownCommand | None:
        """The page's next command; None after the last command, or on a page without commands."""
        return self.shell_box.command if self.shell_box is not None else None

    def can(self, action: str) -> bool | None:
        """Return True if a key that concerns a part works now; None for other keys."""
        shows_something = self.side is not None or self.terminal_open
        works: bool | None = None
        match action:
            case "view":
                works = shows_something
            case "turn":
                works = self.panel is not None and self.panel.has_views
            case "field":
                works = bool(self.page.boxes) or self.layout_state.view == "chart"
            case "text":
                works = self.layout_state.view == "chart"
            case "type_command" | "copy_command":
                works = self.has_commands
            case "terminal":
                works = self.terminal.can_open
            case "switch_pane":
                works = self.terminal_open
            case "end_terminal":
                works = self.session_open
        return works

    # Layout

    def initial_classes(self, size: Size) -> dict[str, bool]:
        """Return the screen's classes, to set before any widget is styled: each later change restyles all."""
        fits = size.width - self.columns_elsewhere >= WIDE and self._fits_columns(size)
        self._update_layout(wide=fits, tall=size.height >= TALL)
        return self.layout_state.classes

    def adapt(self, wide: bool, tall: bool) -> None:
        """Adapt to a terminal size."""
        self.lay_out(wide=wide and self._fits_columns(self.app.size), tall=tall)

    def lay_out(self, **changes: View | bool) -> None:
        """Show and hide parts; `changes` are fields of `Layout`."""
        self._update_layout(**changes)
        if not self.page.is_attached:
            return
        self.screen.update_classes(self.layout_state.classes)
        # A terminal needs its columns more than the text does.
        wide = self.layout_state.wide and not self.terminal_open
        self.page.styles.min_width = least_width(self._study.step) if wide else None
        if self.layout_state.view != "chart" and self.screen.focused is None:
            self.focus_page()
        self.show_status()
        self.post_message(self.LaidOut())

    def prefer(self, view: View) -> None:
        """Show the chart or the text in a single column."""
        if view != self.layout_state.narrow_view:
            self.lay_out(narrow_view=view)

    def show_next_view(self) -> None:
        """Show the chart, the text, or both if they fit."""
        self.lay_out(**self.layout_state.next_view()._asdict())

    def show_chart(self) -> bool:
        """Show the chart; return True if it was visible already."""
        visible = self.layout_state.shows_chart
        self.lay_out(narrow_view="chart", wide_view=self.layout_state.wide_view if visible else "both")
        return visible

    def show_side(self, activity: str) -> None:
        """Show the panel of an activity; no panel if it has none."""
        self.side = self.sides.get(activity)
        for side in self.sides.values():
            side.widget.set_class(side is not self.side, "-unused")
        self.lay_out()

    def turn(self) -> None:
        """Show the next view of the panel's or the terminal's chart."""
        if self.terminal_open:
            self.terminal.chart.cycle_view()
        elif self.side:
            self.side.turn()

    def focus_page(self) -> None:
        """Focus the page immediately. `focus` would act after keys that are already queued."""
        self.screen.set_focus(self.page, scroll_visible=False)

    def focus_shell(self) -> None:
        # Lay out first: a hidden widget cannot get the focus.
        self.lay_out(shell_focused=True)
        self.screen.set_focus(self.terminal.pane, scroll_visible=False)
        self.lay_out()

    async def open_terminal(self) -> str:
        """Open the terminal and give it the keys; return the reason if that is impossible."""
        problem = self.terminal.open()
        if not problem:
            await self.show_terminal()
            self.focus_shell()
        return problem

    async def show_terminal(self) -> None:
        """Show the terminal of the open session."""
        if not self.terminal.is_attached:
            await self.mount(self.terminal)
        self.lay_out()
        self.terminal.show()

    def _update_layout(self, **changes: View | bool) -> None:
        current: dict[str, Any] = {
            "has_panel": self.side is not None,
            "terminal_open": self.terminal_open,
            "shell_focused": self.in_pane,
        }
        self.layout_state = self.layout_state._replace(**(current | changes))

    def _fits_columns(self, size: Size) -> bool:
        """Return True if both the page's drawings and the chart fit next to each other."""
        left = size.width - self.columns_elsewhere
        return not self.sides or left - least_width(self._study.step) >= _MIN_SIDE_COLUMNS

    # Status line

    def show_status(self) -> None:
        """Show the state of a hidden terminal or panel, or the tally of a page of questions."""
        text = self._status_text()
        self._status.display = bool(text)
        if text and text != self._shown_status:
            self._shown_status = text
            self._status.update(text, layout=False)

    def _status_text(self) -> Content:
        text_only = self.layout_state.view == "text"
        if self.terminal_open and text_only:
            return self.terminal.line
        if self.other_terminal_open and self.side is not None:
            close, run = key_name("lesson.end-terminal"), key_name("lesson.run")
            return Content(f"The terminal of another page is open: {close} closes it, then {run} runs.")
        if self.side is not None and text_only and not self.layout_state.wide:
            return self.side.line
        return _tally_line(question_progress(self._study.step, self._study.record))

    # Messages

    def restore(self) -> None:
        """Show each panel's last state."""
        for side in self.sides.values():
            side.restore()
        self.show_side(next(iter(self.sides), ""))
        self._show_closed_network()

    def _show_closed_network(self) -> None:
        """Say that the network of the page's last terminal is gone, with goals that were reached on it."""
        box = self.shell_box
        if box is None or self.terminal_open or self._study.record_of(box.activity).right is not None:
            return
        from tcptutor.journal.goals import closed_board  # noqa: PLC0415  # not for the first frame

        board = closed_board(self._study.module.id, self._study.step.id)
        if board is not None:
            box.show_closed(board)

    def update_after_response(self) -> None:
        for side in self.sides.values():
            side.update_after_response()

    def update_draft(self) -> None:
        """Move the mark of a prediction that is being typed."""
        for side in self.sides.values():
            side.update_draft()
        self.show_status()

    def bench_changed(self, message: Message) -> None:
        """Update after a message of the bench."""
        for side in self.sides.values():
            side.bench_changed(message)
        self.terminal.bench_changed(message)
        match message:
            case RunUpdated() | SweepUpdated():
                self.show_status()
            case SessionUpdated(event=None):
                self._replace_ended_terminal()
                self.lay_out()
                self._show_networks()
            case SessionUpdated(event=SessionState()) | GoalsUpdated():
                self._show_networks()

    def _show_networks(self) -> None:
        """Show the network of the open session in the page's own figures of it."""
        network = self._bench.session if self.terminal_open else None
        for view in self.page.query(NetworkView):
            if view.is_of_page:
                view.show_network(lab_network.of_session(network, view.planned) if network else None)

    @property
    def network(self) -> NetworkFigure | None:
        """Network of the open session, or that the page plans; None if the page has none."""
        live = lab_network.of_session(self._bench.session) if self.terminal_open else None
        return live or lab_network.of_page(self._study.step, self.terminal.network)

    def _replace_ended_terminal(self) -> None:
        if self.terminal.is_attached and not self.terminal_open:
            if self.in_pane:
                self.focus_page()
            self.terminal.remove()
            self.terminal = Terminal(self._study, self._bench, self.shell_box)
            self._show_closed_network()
            self.post_message(self.TerminalReplaced())

    @on(HostTabs.HostChosen)
    def _show_host(self, message: HostTabs.HostChosen) -> None:
        self.terminal.show_host(message.host)
        self.focus_shell()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if event.widget is self.terminal.pane:
            self.lay_out()


def _tally_line(tally: QuestionProgress | None) -> Content:
    if tally is None:
        return Content("")
    go_on = "" if tally.done == tally.total else "   Tab: the next open question"
    return Content.assemble((f"{tally.done} of {tally.total} right", "bold"), (go_on, "$text-muted"))
