"""Actions of a page's keys, by topic: run, responses, view, terminal."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType

from tcptutor.base.key_names import key_name
from tcptutor.course.activity import Activity
from tcptutor.course.outline import Module
from tcptutor.course.page_record import Given
from tcptutor.course.paths import PRETEST
from tcptutor.course.rules import hint_cost
from tcptutor.course.step import Step
from tcptutor.study import pages
from tcptutor.study.study import Study
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.messages import HintWanted, RedrawWanted
from tcptutor.ui.screens.base import SavingScreen, Tutor
from tcptutor.ui.screens.chart_screen import ChartScreen
from tcptutor.ui.screens.dialogs import confirm_hint, confirm_run_without_prediction, confirm_terminal_close
from tcptutor.ui.screens.lesson_answers import Answers
from tcptutor.ui.screens.lesson_body import LessonBody
from tcptutor.ui.screens.lesson_boxes import page_boxes
from tcptutor.ui.screens.lesson_footer import LessonFooter
from tcptutor.ui.screens.lesson_keys import BINDINGS, FOOTER, OTHER_KEYS, TYPED
from tcptutor.ui.widgets.bars import TopBar
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.widgets.page.page import Page
from tcptutor.ui.widgets.page.track import PageTrack
from tcptutor.ui.widgets.panel.panel import RunPanel

_EXPLAINED_ON = 3
"""Pages with runs on which the signs of the models are explained."""
_POINTED_OUT_FOR = 2.0
"""Seconds for which the footer points out the key that leaves the page."""


class LessonActions(ChartScreen, SavingScreen):
    """Actions of a page's screen: reactions to keys and responses."""

    # Priority bindings run before widgets get the key, so that fast typing keeps its order. A focused entry
    # takes letters at once.
    BINDINGS: ClassVar[list[BindingType]] = BINDINGS
    FOOTER = FOOTER
    OTHER_KEYS = OTHER_KEYS
    HAS_STUDY_KEYS = True

    def __init__(self, tutor: Tutor, module: Module, step: Step) -> None:
        super().__init__()
        self.module, self.step = module, step
        self._study = Study(module, step, tutor.journal)
        boxes = page_boxes(self._study, tutor, self._is_marked)
        for box in boxes:
            box.answer_handler = self._respond
        self._page = Page(module, step, boxes)
        if tutor.journal.record.pages_with_runs(but=(module.id, step.id)) < _EXPLAINED_ON:
            self._page.explain_signs()
        self._answers = Answers(self._study, self._page)
        self._bar, self._track = TopBar(), PageTrack()
        self._body = LessonBody(self._study, self._page, tutor.bench)
        self._footer = LessonFooter(self._study, self._page, self._answers, self._body, tutor.bench)
        self._shown_trouble = ""
        self._deeper: tuple[Step, ...] = ()
        """Pages off the path that follow here."""

    @property
    def _is_marked(self) -> bool:
        """True if work on this page earns marks in the student's course."""
        counts = self.step.id != PRETEST and self.step.is_on(self.tutor.course.marks.path)
        return counts and self._study.is_enrolled

    @property
    def chart(self) -> RunPanel | None:
        return self._body.chart

    def shows_page(self, module: str, step: str) -> bool:
        return (module, step) == (self.module.id, self.step.id)

    @property
    def chart_visible(self) -> bool:
        return self._body.layout_state.shows_chart

    @property
    def in_pane(self) -> bool:
        """True while the shell gets the keys."""
        return self._body.in_pane

    @property
    def takes_text(self) -> bool:
        return self._typing or self.in_pane

    @property
    def _typing(self) -> bool:
        return isinstance(self.focused, Entry)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys that would have no effect."""
        if self.in_pane:
            return action == "switch_pane" or (action == "type_command" and self._body.has_commands)
        of_chart = self.check_chart_action(action, parameters)
        if self._typing and (action in TYPED or of_chart is not None):
            return False
        side, bench = self._body.side, self.tutor.bench
        match action:
            case "run":
                works = side is not None and not side.in_progress and (not parameters or side.can_repeat)
            case "skip":
                unpredicted = self._study.due_before_run is not None and not bench.obstacle
                works = side is not None and (unpredicted or self._study.due_observation is not None)
            case "stop" | "reference":
                works = bench.busy if action == "stop" else self._study.is_done
            case "hint" | "again":
                works = self._answers.can(action)
            case "onward" | "deeper":
                works = self._may_leave if action == "onward" else bool(self._deeper)
            case "others" | "figure":
                works = self._page.has_others if action == "others" else self._can_move_figure(*parameters)
            case "return_from_link":
                works = self.tutor.can_return
            case "sureness":
                works = self._answers.can_state_sureness
            case "withdraw":
                works = self._answers.can(action) and not (side is not None and side.in_progress)
            case _:
                works = self._body.can(action) is not False and of_chart is not False
        return works

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return self._footer.keys(self, is_typing=self._typing)

    # Run

    def action_run(self, same: bool = False) -> None:
        if self.tutor.follow_enrolment():
            return
        bench, body = self.tutor.bench, self._body
        if body.other_terminal_open:
            self.app.push_screen(confirm_terminal_close(), lambda yes: bench.session.end() if yes else None)
        elif bench.obstacle and (body.terminal_open or not self.chart_visible):
            self.notify(bench.obstacle)
        elif body.side:
            busy = bench.busy
            body.side.start(same)
            body.prefer("chart" if bench.busy and not busy else "text")
            self._update_status()

    def action_skip(self) -> None:
        if self._study.due_before_run is not None:
            self.app.push_screen(confirm_run_without_prediction(), self._run_unpredicted)
        else:
            self._body.prefer("text")
            self._answers.skip_observation()
            self._body.update_after_response()
            self._update_status()

    def _run_unpredicted(self, sure: bool | None) -> None:
        if sure and self._body.side and not self.tutor.bench.obstacle and not self.tutor.follow_enrolment():
            self._answers.skip_before_run()
            self.action_run()

    def action_stop(self) -> None:
        self.tutor.bench.stop()

    # Responses

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:  # noqa: ARG002
        box = self._page.active_box()
        if box is not None:
            self._answers.remember_focus(box.activity)
            self._body.prefer("text")
            if box.activity.id in self._body.sides:
                self._body.show_side(box.activity.id)
        self.show_keys()

    def _respond(self, activity: Activity, given: Given, confirmed: bool) -> None:
        if self.tutor.follow_enrolment():
            return
        if self._answers.respond(activity, given, confirmed):
            if activity.locked or (self._typing and self._page.box(activity).is_locked):
                self._body.focus_page()
            self._body.update_after_response()
        self._update_status()

    def on_hint_wanted(self, message: HintWanted) -> None:
        self._hint(message.activity)

    def on_redraw_wanted(self, message: RedrawWanted) -> None:
        self._answers.redraw(message.activity)
        self._update_status()

    def action_hint(self) -> None:
        self._body.prefer("text")
        self._hint(self._answers.next_hint())

    def _hint(self, activity: Activity | None) -> None:
        """Show the next hint of an activity; where it costs marks, ask first."""
        if activity is None or not self._study.hints_left(activity):
            self.notify("No more hints here.")
            return
        if not self._is_marked or not (cost := hint_cost(self.tutor.course.marks)):
            self._show_hint(activity)
            return
        question = confirm_hint(self._study.hints_shown(activity) + 1, len(activity.hints), cost)
        self.app.push_screen(question, lambda yes: self._show_hint(activity) if yes else None)

    def _show_hint(self, activity: Activity) -> None:
        if not self.tutor.follow_enrolment():
            self._answers.hint(activity)
            self._update_status()

    def action_withdraw(self) -> None:
        self._body.prefer("text")
        self._answers.withdraw()
        self._body.update_after_response()
        self._update_status()

    def action_again(self) -> None:
        self._body.prefer("text")
        self._answers.redraw()
        self._update_status()

    def action_sureness(self) -> None:
        self._body.prefer("text")
        self._answers.cycle_sureness()

    def action_digit(self, digit: str) -> None:
        self._body.prefer("text")
        self._answers.type_digit(digit)

    def action_field(self) -> None:
        """Move to the next field; from the chart, to the text first."""
        if self._body.layout_state.view == "chart":
            self.action_text()
            self._answers.enter_due()
        elif self.focused is not self._page or not self._answers.focus_next_due():
            self.focus_next()
            if self.focused is self._page:
                # After the last field comes the first one; Esc leads to the page.
                self.focus_next()

    # View

    def action_text(self) -> None:
        self._body.lay_out(wide_view="both", narrow_view="text")

    def action_others(self) -> None:
        self._body.prefer("text")
        self._page.toggle_others()

    def action_figure(self, command: str, *arguments: int) -> None:
        """Move the figure in view: toggle, step or change_speed."""
        getattr(self._page.player, command)(*arguments)

    def _can_move_figure(self, command: object, *_arguments: object) -> bool:
        player = self._page.player
        match command:
            case "toggle":
                return player.current is not None
            case "change_speed":
                return not self.has_cursor and player.can_change_speed
            case _:
                return not self.has_cursor and player.current is not None

    def action_view(self) -> None:
        self._body.show_next_view()

    def action_turn(self) -> None:
        self._body.turn()

    def action_toggle_cursor(self) -> None:
        if self._body.show_chart() or not (self.chart and self.chart.cursor):
            super().action_toggle_cursor()

    def action_back(self) -> None:
        if self.has_cursor and not self._typing:
            self.action_close_cursor()
        elif self._body.layout_state.view == "chart":
            self.action_text()
        elif self.focused is not self._page:
            self._body.focus_page()
        else:
            # Esc left a field already: one Esc too many does not leave the page.
            self.app.clear_notifications()
            self.say_briefly(f"{key_name('lesson.home')}: home", _POINTED_OUT_FOR)

    # Along the path

    @property
    def _may_leave(self) -> bool:
        """True if Enter turns the page: no open question or panel has the focus."""
        box = self._page.active_box()
        return self.focused in (None, self._page) or (box is not None and box.is_locked and not box.is_folded)

    # Terminal

    async def action_terminal(self) -> None:
        if problem := await self._body.open_terminal():
            self.notify(problem)

    async def action_type_command(self) -> None:
        if problem := await self._body.open_terminal() or self._body.terminal.type_next_command():
            self.notify(problem)
        self.schedule_keys()  # after the last command, the footer has no key for the next

    def action_copy_command(self) -> None:
        if (command := self._body.command) is not None:
            self.app.copy_to_clipboard(command.run)
            self.notify(f"copied: {command.run}", markup=False)

    def action_switch_pane(self) -> None:
        self._body.focus_page() if self.in_pane else self._body.focus_shell()

    def action_end_terminal(self) -> None:
        self.tutor.bench.session.end()

    # Status

    def _update_status(self) -> None:
        """Update keys, progress and save indicator after an action of the student."""
        self.keys_changed()
        self._body.show_status()
        self._show_place()
        if self._study.trouble not in ("", self._shown_trouble):
            self.notify(self._study.trouble, severity="error", timeout=15, markup=False)
        self._shown_trouble = self._study.trouble
        self.show_saved()

    def _show_place(self) -> None:
        progress = self.tutor.journal.progress(self.tutor.course)[self.module.id]
        number = None if self.step.id == PRETEST else self.module.steps.index(self.step)
        at = "pre-test" if number is None else f"{number + 1}/{progress.total}"
        title = self.step.title
        module = self.module
        self._bar.show_place(f"{module.number} {module.title} ▸ {title}", f"{module.number} ▸ {title}", at)
        states = pages.page_states(self.tutor.journal, module, progress)
        self._track.show(states, number, is_plain=self.tutor.glyphs != "all")
        branch = pages.branch(self.tutor.course, self.module, self.step, self.tutor.journal)
        self._deeper = branch.deeper
        self._page.onward.show(branch)
