"""A page with the panel of its activity: layout, keys, navigation."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from functools import partial, wraps
from typing import ClassVar, Concatenate, ParamSpec

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from tcptutor.base.errors import JournalError
from tcptutor.course.activity import Activity
from tcptutor.course.model import Module, Step
from tcptutor.course.page_record import Given
from tcptutor.course.sitting import Sitting
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.ui import bindings, pages
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.live import Live
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.messages import HintWanted, RedrawWanted
from tcptutor.ui.screens.activities import BOXES, SIDES
from tcptutor.ui.screens.base import TALL, WIDE, SavingScreen
from tcptutor.ui.screens.dialogs import ConfirmScreen
from tcptutor.ui.screens.lesson_answers import Answers
from tcptutor.ui.screens.lesson_keys import BINDINGS, FOOTER, TYPED, TYPING
from tcptutor.ui.screens.lesson_terminal import TerminalSide
from tcptutor.ui.screens.looking import LookingScreen, with_cursor
from tcptutor.ui.screens.side import Side
from tcptutor.ui.screens.with_terminal import CHART as TERMINAL_CHART
from tcptutor.ui.screens.with_terminal import OTHER_TERMINAL_FOOTER, ScreenWithTerminal, with_terminal
from tcptutor.ui.study import Study
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.bench.panel import RunPanel
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.entry_box import Entry
from tcptutor.ui.widgets.page.page import Page, least_width
from tcptutor.ui.widgets.page.shell import ShellBox

CHART, TEXT = "-chart-only", "-text-only"
_PREFETCH_AFTER = 1.0
"""Seconds on a page before its run is prefetched, to skip pages that are only passed by."""
_DRAFTS_AFTER = 1.0
"""Seconds after the last key before drafts are written."""
_MIN_SIDE_COLUMNS = 56
"""Minimum columns of the panel next to the text."""
VIEWS = ("", CHART, TEXT)
"""Views in two columns; a single column shows either the chart or the text."""


_P = ParamSpec("_P")


def _when_complete(
    update: Callable[Concatenate[LessonScreen, _P], None],
) -> Callable[Concatenate[LessonScreen, _P], None]:
    """Postpone an update of the screen until everything on the page is mounted."""

    @wraps(update)
    def postponed(screen: LessonScreen, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        if screen.is_complete:
            update(screen, *args, **kwargs)
        else:
            screen.postponed.append(partial(update, screen, *args, **kwargs))

    return postponed


class LessonScreen(LookingScreen, ScreenWithTerminal, SavingScreen):
    """A page of a module. Turning the page replaces the screen."""

    AUTO_FOCUS = None
    # Priority bindings run before widgets get the key, so that fast typing keeps its order. A focused entry
    # takes letters at once.
    BINDINGS: ClassVar[list[BindingType]] = BINDINGS
    FOOTER = FOOTER

    def __init__(self, module: Module, step: Step, sitting: Sitting = Sitting.LEARN) -> None:
        super().__init__()
        self.module, self.step, self.sitting = module, step, sitting
        self._side_line = Content("")
        self._sides: dict[str, Side] = {}
        self._side: Side | None = None
        self._view = 0
        self._draft_timer: Timer | None = None
        self._page: Page | None = None
        """None until the screen is composed."""
        self._bar: TopBar | None = None
        self._at_chart = False
        """True if the chart is shown in a single-column layout."""
        self._complete = asyncio.Event()
        """Set once everything below the text is mounted."""
        self.postponed: list[Callable[[], None]] = []
        """Updates that arrived before the page was complete, in order."""

    def compose(self) -> ComposeResult:
        activities = self.step.activities
        self._study = Study(self.module, self.step, self.tutor.journal, self.sitting)
        self._shown_trouble = ""
        asked = [self._study.posed(each) for each in activities if type(each) in BOXES]
        boxes = [BOXES[type(each)](each) for each in asked]
        for number, box in enumerate(boxes, start=1):
            box.answer_handler = self._respond
            box.number = f"{number}" if self._study.tally else ""
        page = Page(self.step, boxes, pages.next_page_line(self.tutor.course, self.module, self.step))
        self._page = page
        self.shell_box = next((box for box in boxes if isinstance(box, ShellBox)), None)
        self._answers = Answers(self._study, page)
        self._sides = {
            each.id: SIDES[type(each)](each, self._study, page, self.tutor.bench)
            for each in activities
            if type(each) in SIDES
        }
        self.terminal = self.make_terminal()
        self._side = next(iter(self._sides.values()), None)
        # Before any widget is styled: each later change of a class restyles all of them.
        self.update_classes(self._size_classes(), update=False)
        self.update_classes(self._view_classes(self.in_pane), update=False)
        self._bar = TopBar()
        yield self._bar
        with Container(id="body"):
            yield page
            page.set_class(not self._sides, "-alone")
            for side in self._sides.values():
                side.widget.add_class("side")
                side.widget.set_class(side is not self._side, "-unused")
                yield side.widget
        yield Static(id="beside", markup=False)
        yield KeyBar()

    def make_terminal(self) -> TerminalSide:
        side = TerminalSide(self._study, self.tutor.bench, self.notify)
        self.connect(side.widget.chart)
        return side

    def on_mount(self) -> None:
        super().on_mount()
        self._show_place()
        self.to_page()
        self.tutor.bench.expect(None)
        # Show title and text first: mounting the rest takes about as long again.
        self.call_after_refresh(self._mount_rest)

    async def _mount_rest(self) -> None:
        page = self._page
        with self.app.batch_update():
            if page is not None and page.is_attached:
                await page.complete()
            # Another page may have replaced this one.
            if page is not None and page.is_attached:
                self._restore()
                for report in self.postponed:
                    report()
        self.postponed.clear()
        self._complete.set()

    def _restore(self) -> None:
        """Restore the page as the student left it."""
        for side in self._sides.values():
            side.restore()
            if side.chart is not None:
                self.connect(side.chart)
        self._show_side(next(iter(self._sides), ""))
        self._answers.restore()
        if not self.sitting.starts_fresh:
            self._answers.restore_drafts(self.tutor.drafts.page(self.module.id, self.step.id))
        self._update_status()
        self.goals_updated()
        if self.terminal_open:
            self.run_worker(self.restore_terminal())
        else:
            self.set_timer(_PREFETCH_AFTER, self._prefetch_run)

    @property
    def is_complete(self) -> bool:
        """True once everything on the page is mounted, not just title and text."""
        return self._complete.is_set()

    @on(ActivityBox.DraftChanged)
    def _schedule_drafts(self) -> None:
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.set_timer(_DRAFTS_AFTER, self.keep_drafts)

    def keep_drafts(self) -> None:
        """Store unsubmitted input. Also called when the page is left."""
        if self.sitting.starts_fresh or not self.is_complete or not self.query(Page):
            return
        try:
            if self.tutor.drafts.save(self.module.id, self.step.id, self._answers.drafts):
                self.say_saved()
        except JournalError as error:
            self.notify(str(error), severity="error")

    def _prefetch_run(self) -> None:
        experiment = next(filter(None, (side.next_experiment for side in self._sides.values())), None)
        if experiment is not None:
            self.tutor.bench.expect(experiment)

    @_when_complete
    def goals_updated(self) -> None:
        session = self.tutor.bench.session
        box = self.shell_box
        if session.board is None or box is None or not session.is_of(self.module.id, self.step.id):
            return
        box.show_board(session.board)
        if self.terminal is not None:
            self.terminal.goals_updated()
        if session.board.done and self._study.record_of(box.activity).right is None:
            self._study.reload()
            self._update_status()

    def fit(self, wide: bool, tall: bool) -> None:
        """Use two columns only if both the page's drawings and the chart fit."""
        super().fit(wide and self._has_columns, tall)
        self.lay_out()

    @property
    def _has_columns(self) -> bool:
        has_side = any(type(each) in SIDES for each in self.step.activities)
        return not has_side or self.app.size.width - least_width(self.step) >= _MIN_SIDE_COLUMNS

    def _size_classes(self) -> dict[str, bool]:
        wide = self.app.size.width >= WIDE and self._has_columns
        return {"-wide": wide, "-narrow": not wide, "-tall": self.app.size.height >= TALL}

    # Keys

    @property
    def _typing(self) -> bool:
        return isinstance(self.focused, Entry)

    def to_page(self) -> None:
        """Focus the page immediately. `focus` would act after keys that are already queued."""
        self.set_focus(self.query_one(Page), scroll_visible=False)

    async def take(self, event: events.Key | events.Paste) -> bool:
        if isinstance(event, events.Key) and event.time < self._seen_at and self._turns_page(event.key):
            # The key was pressed before this page was visible.
            return True
        if not self.is_complete and not (isinstance(event, events.Key) and self._turns_page(event.key)):
            # The key needs a widget below the text. Later keys queue behind it.
            await self._complete.wait()
        if isinstance(self.focused, Entry):
            return await self.focused.take(event)
        if isinstance(event, events.Paste) and not self.in_pane:
            # Pasting a number answers the prediction without focusing it.
            self._answers.paste(event.text.strip().partition("\n")[0])
            return True
        return False

    def _turns_page(self, key: str) -> bool:
        active = None if self._typing or self.in_pane else self.active_bindings.get(key)
        return active is not None and active.binding.action.startswith("go(")

    @property
    def _seen_at(self) -> float:
        """Time when the page became visible, s of the monotonic clock."""
        return self._bar.seen_at if self._bar is not None else math.inf

    @property
    def is_seen(self) -> bool:
        """True once the title is visible."""
        return self._seen_at < math.inf

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys that would have no effect."""
        bench, side = self.tutor.bench, self._side
        looking, of_terminal = self.can_look(action), self.check_terminal(action)
        if self._typing and (action in TYPED or looking is not None):
            return False
        if of_terminal is not None:
            return of_terminal
        match action:
            case "run":
                works = side is not None and not side.in_progress and (not parameters or side.can_repeat)
            case "run_unpredicted":
                works = side is not None and self._study.due_before_run is not None and not bench.obstacle
            case "stop":
                works = bench.busy
            case "hint" | "withdraw" | "again":
                # Textual asks for keys before the screen is composed.
                works = self._page is not None and self._has_target(action)
            case "view":
                works = side is not None or self.terminal_open
            case "turn":
                works = self.chart_visible and (side is not None or self.terminal_open)
            case "text":
                works = self.has_class(CHART)
            case _:
                works = looking is not False
        return works

    def _has_target(self, action: str) -> bool:
        match action:
            case "hint":
                return self._answers.has_hints
            case "withdraw":
                return self._answers.can_withdraw and not (self._side is not None and self._side.in_progress)
            case _:
                return self._answers.can_redraw

    def footer_keys(self) -> tuple[FooterKey, ...]:
        if self.in_pane:
            return self.pane_keys()
        if not self._typing:
            return bindings.footer_entries(self, self._footer)
        box = self.query_one(Page).active_box()
        enter = "locks it in" if box and box.activity.locked else box.TYPED if box else "answers"
        return (FooterKey((("Enter", "enter"),), enter), *TYPING)

    @property
    def lab_shown(self) -> Environment | None:
        return self._side.environment if self._side else None

    @property
    def _footer(self) -> tuple[tuple[str, str], ...]:
        """Footer entries; while the chart is shown, c is labeled "text"."""
        renamed = {"chart": "text"} if self.has_class(CHART) else {}
        shown = tuple((ids, renamed.get(word, word)) for ids, word in self.FOOTER)
        shown = with_cursor(shown) if self.has_cursor else shown
        if self.other_terminal_open:
            return OTHER_TERMINAL_FOOTER, *(each for each in shown if each[0] != "lesson.terminal")
        return with_terminal(shown) if self.terminal_open else shown

    async def action_go(self, by: int) -> None:
        target = pages.neighbor(self.tutor.course, self.module, self.step, by)
        if target is None:
            self.notify("That is the last page of the course." if by > 0 else "That is the first page.")
        else:
            # Later keys wait for the new page, which they are meant for.
            await self.tutor.open_step(*target)

    def action_run(self, same: bool = False) -> None:
        obstacle = self.tutor.bench.obstacle
        if self.other_terminal_open:
            question = ConfirmScreen(
                "Close the terminal of the other page?",
                "It is using the lab, so nothing else can run. Its runs are saved.",
                "closes it",
            )
            self.app.push_screen(question, self._end_other_terminal)
        elif obstacle and (self.terminal_open or not self.chart_visible):
            self.notify(obstacle)
        elif self._side:
            busy = self.tutor.bench.busy
            self._side.start(same)
            self._prefer_chart(self.tutor.bench.busy and not busy)
            self._update_status()

    def _end_other_terminal(self, sure: bool | None) -> None:
        if sure:
            self.action_end_terminal()

    def action_run_unpredicted(self) -> None:
        question = ConfirmScreen(
            "Run without a prediction?",
            "You can't predict this run afterwards, and a prediction helps most before you see the result.",
            "runs it without",
        )
        self.app.push_screen(question, self._run_unpredicted)

    def _run_unpredicted(self, sure: bool | None) -> None:
        if sure and self._side and not self.tutor.bench.obstacle:
            self._answers.skip_before_run()
            self.action_run()

    def action_stop(self) -> None:
        self.tutor.bench.stop()

    def action_hint(self) -> None:
        self._prefer_chart(False)
        if not self._answers.hint():
            self.notify("No more hints here.")
        self._update_status()

    def action_withdraw(self) -> None:
        self._prefer_chart(False)
        self._answers.withdraw()
        for side in self._sides.values():
            side.update_after_response()
        self._update_status()

    def action_again(self) -> None:
        self._prefer_chart(False)
        self._answers.redraw()
        self._update_status()

    def action_digit(self, digit: str) -> None:
        self._prefer_chart(False)
        self._answers.type_digit(digit)

    def action_field(self) -> None:
        """Move to the next field; from the chart, to the text first."""
        if self.has_class(CHART):
            self.action_text()
            self._answers.enter_due()
        elif self.focused is not self.query_one(Page) or not self._answers.focus_next_due():
            self.focus_next()

    def action_text(self) -> None:
        self._view = VIEWS.index("")
        self._prefer_chart(False)

    def action_view(self) -> None:
        if self.has_class("-wide"):
            self._view = (self._view + 1) % len(VIEWS)
            self.lay_out()
        else:
            self._prefer_chart(not self._at_chart)

    def _prefer_chart(self, at_chart: bool) -> None:
        """Show the chart or the text in a single-column layout."""
        if at_chart != self._at_chart:
            self._at_chart = at_chart
            self.lay_out()

    def lay_out(self, pane: bool | None = None) -> None:
        """Show and hide panels by width and use."""
        if self._page is None:  # resized before composed
            return
        self.update_classes(self._view_classes(self.in_pane if pane is None else pane))
        # A terminal needs its columns more than the text does.
        wide = self.has_class("-wide") and not self.terminal_open
        self._page.styles.min_width = least_width(self.step) if wide else None
        self.schedule_keys()
        if not self.has_class(CHART) and self.focused is None:
            self.to_page()
        self._show_side_line()

    def _view_classes(self, pane: bool) -> dict[str, bool]:
        wide, opened = self.has_class("-wide"), self.terminal_open
        view = VIEWS[self._view] if wide else CHART if self._at_chart else TEXT
        if opened and pane and (not wide or view == TEXT):
            view = CHART
        if self._side is None and not opened:
            view = TEXT
        return {CHART: view == CHART, TEXT: view == TEXT, **self.terminal_classes(pane, view == CHART)}

    def _show_side_line(self) -> None:
        """Show the hidden panel's state in a line below the text, or the tally of a page of questions."""
        line = self.query_one("#beside", Static)
        text = self._tally()
        if self._side is not None and self.has_class(TEXT) and self.has_class("-narrow"):
            text = self._side.line
        if self.other_terminal_open and self._side is not None:
            text = Content("A terminal is open on another page: T closes it, then r runs.")
        if self.terminal is not None and self.terminal_open and self.has_class(TEXT):
            text = self.terminal.line
        line.display = bool(text)
        if text and text != self._side_line:
            self._side_line = text
            line.update(text, layout=False)

    def _tally(self) -> Content:
        tally = self._study.tally
        if tally is None:
            return Content("")
        what = "right" if tally.counts_right else "answered"
        go_on = "" if tally.done == tally.total else "   Tab: the next open question"
        return Content.assemble((f"{tally.done} of {tally.total} {what}", "bold"), (go_on, "$text-muted"))

    @property
    def chart(self) -> RunPanel | None:
        if self.terminal is not None and self.terminal_open:
            return self.terminal.widget.chart
        return self._side.chart if self._side else None

    @property
    def bench_experiment(self) -> Experiment | None:
        if self.terminal_open:
            return self.tutor.bench.session.bench_experiment
        return self._side.bench_experiment if self._side else None

    @property
    def bench_waits_for_prediction(self) -> bool:
        due = self._study.due_before_run is not None
        return due and self._side is not None and self.bench_experiment is None

    @property
    def chart_visible(self) -> bool:
        return not self.has_class(TEXT) and (not self.terminal_open or self.has_class(TERMINAL_CHART))

    def action_look(self) -> None:
        seen = self.chart_visible
        self._view = self._view if seen else VIEWS.index("")
        self._prefer_chart(True)
        self.lay_out()
        if seen or not (self.chart and self.chart.cursor):
            super().action_look()

    def action_turn(self) -> None:
        if self.chart is not None and self.terminal_open:
            self.chart.cycle_view()
        elif self._side:
            self._side.turn()

    def action_back(self) -> None:
        if self._typing:
            self.to_page()
        elif self.has_cursor:
            self.action_stop_looking()
        elif self.focused is not self.query_one(Page):
            self.to_page()
        else:
            # Esc left a field already: one Esc too many does not leave the page.
            self.notify("Press m for the list of modules.", timeout=3)

    def action_home(self) -> None:
        self.keep_drafts()
        self.dismiss()

    # Messages from widgets and bench

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:  # noqa: ARG002
        box = self.query_one(Page).active_box()
        if box is not None:
            self._answers.remember_focus(box.activity)
            self._prefer_chart(False)
            if box.activity.id in self._sides:
                self._show_side(box.activity.id)
        self.show_keys()

    def _respond(self, activity: Activity, given: Given, sure: bool) -> None:
        if self._answers.respond(activity, given, sure):
            if activity.locked or (self._typing and self.query_one(Page).box(activity).is_locked):
                self.to_page()
            for side in self._sides.values():
                side.update_after_response()
        self._update_status()

    def on_hint_wanted(self, message: HintWanted) -> None:
        self._answers.hint(message.activity)
        self._update_status()

    def on_redraw_wanted(self, message: RedrawWanted) -> None:
        self._answers.redraw(message.activity)
        self._update_status()

    @_when_complete
    def on_run_loaded(self) -> None:
        self._answers.mark_again()
        self._answers.reveal()
        self._update_status()

    @_when_complete
    def run_updated(self, live: Live) -> None:
        super().run_updated(live)
        for side in self._sides.values():
            side.run_updated(live)
        self._show_side_line()

    @_when_complete
    def run_ended(self, live: Live) -> None:
        super().run_ended(live)
        for side in self._sides.values():
            side.run_ended(live)
        self._answers.reveal()
        self._update_status()
        self._prefetch_run()  # a run of another page may have prevented prefetching

    @_when_complete
    def sweep_updated(self, sweep: LiveSweep) -> None:
        super().sweep_updated(sweep)
        for side in self._sides.values():
            side.sweep_updated(sweep)
        self._show_side_line()

    @_when_complete
    def sweep_ended(self, sweep: LiveSweep) -> None:
        super().sweep_ended(sweep)
        for side in self._sides.values():
            side.sweep_ended(sweep)
        self._answers.reveal()
        self._update_status()

    @_when_complete
    def end_sitting(self) -> None:
        """End the sitting: reveal all marks."""
        self._answers.end()
        self._update_status()

    def _show_side(self, activity: str) -> None:
        self._side = self._sides.get(activity)
        for side in self._sides.values():
            side.widget.set_class(side is not self._side, "-unused")
        self.lay_out()

    def _update_status(self) -> None:
        """Update keys, progress and save indicator after an action of the student."""
        self.refresh_bindings()
        self.schedule_keys()
        self._show_side_line()
        self._show_place()
        if self._study.trouble not in ("", self._shown_trouble):
            self.notify(self._study.trouble, severity="error", timeout=15, markup=False)
        self._shown_trouble = self._study.trouble
        self.show_saved()

    def _show_place(self) -> None:
        progress = self.tutor.journal.progress(self.tutor.course)[self.module.id]
        number = self.module.steps.index(self.step)
        place = f"{self.module.number} {self.module.title} · {number + 1}/{progress.total}"
        self.query_one(TopBar).show_place(place, pages.squares(progress, number))
