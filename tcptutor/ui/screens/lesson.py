"""A page of a module: mounting, turning, drafts, and updates from the bench."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime
from pathlib import Path

from textual import events, on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.timer import Timer

from tcptutor.base import places
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.course.outline import Module
from tcptutor.course.step import Step
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.study import pages
from tcptutor.ui.messages import (
    GoalsUpdated,
    RunFinished,
    RunLoaded,
    SessionUpdated,
    SweepEnded,
)
from tcptutor.ui.screens.base import Tutor
from tcptutor.ui.screens.lesson_body import LessonBody
from tcptutor.ui.screens.lesson_keys import edge_keys
from tcptutor.ui.screens.lesson_path import LessonPath
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.chart.edge import EdgeKeys
from tcptutor.ui.widgets.home.text import name_of
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.workers import start_worker

_PREFETCH_AFTER = 1.0
"""Seconds on a page before its run is prefetched, to skip pages that are only passed by."""
_DRAFTS_AFTER = 1.0
"""Seconds after the last key before drafts are written."""


class LessonScreen(LessonPath):
    """A page of a module. Turning the page replaces the screen."""

    AUTO_FOCUS = None

    def __init__(self, tutor: Tutor, module: Module, step: Step, notice: str = "") -> None:
        """Build a page; `notice` is a line to show once the page is complete."""
        super().__init__(tutor, module, step)
        self._notice = notice
        self._draft_timer: Timer | None = None
        self._complete = asyncio.Event()
        """Set once everything below the text is mounted."""
        self._postponed: list[Message] = []
        """Messages of the bench that arrived before the page was complete, in order."""

    def compose(self) -> ComposeResult:
        self.update_classes(self._body.initial_classes(self.app.size), update=False)
        yield self._bar
        yield self._track
        yield self._body
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._show_place()
        self._body.focus_page()
        for changing in ("scroll_y", "virtual_size"):
            self.watch(self._page, changing, self._schedule_more)
        self.tutor.bench.expect(None)
        # Show title and text first: mounting the rest takes about as long again.
        self.call_after_refresh(self._mount_rest)

    def _schedule_more(self) -> None:
        # Only after the layout is the new height known.
        self.call_after_refresh(self._show_more)

    def show_keys(self) -> None:
        super().show_keys()
        self._show_more()

    def _show_more(self) -> None:
        """Show how many screens of text follow, and the key that scrolls."""
        below = self._page.screens_below if self._body.layout_state.view != "chart" else 0
        key = "Space " if self.focused in (None, self._page) else ""
        text = f"{key}▼ {below} more screen{'s' if below > 1 else ''}" if below else ""
        for bar in self.query(KeyBar):
            bar.show_more(text)

    async def _mount_rest(self) -> None:
        # Another page may replace this one at any time.
        with self.app.batch_update():
            if self._page.is_attached:
                await self._page.complete()
            if self._page.is_attached:
                self._restore()
        self._complete.set()
        for message in self._postponed if self._page.is_attached else ():
            self.bench_changed(message)
        self._postponed.clear()

    def _restore(self) -> None:
        """Restore the page as the student left it."""
        self._connect_charts()
        self._body.restore()
        self._answers.restore()
        self._page.note.show(self._study.note)
        if self._notice:
            self.notify(self._notice, timeout=15)
        self._show_comments()
        drafts = self.tutor.drafts
        self._answers.restore_drafts(drafts.page(self.module.id, self.step.id))
        if drafts.notice:
            self.notify(drafts.notice, severity="warning", timeout=15)
            drafts.notice = ""
        self._update_status()
        self._show_goals()
        self._page.player.start(self.tutor.motion, self.keys_changed)
        if self._body.terminal_open:
            start_worker(self, self._body.show_terminal)
        else:
            self.set_timer(_PREFETCH_AFTER, self._prefetch_run)

    def _show_comments(self) -> None:
        comments = self._study.record.comments
        self._page.show_comments(comments)
        if any(comment.is_new for comment in comments):
            self.notify("Your teacher commented on this page, at its end.")

    @on(LessonBody.TerminalReplaced)
    def _connect_charts(self) -> None:
        def keys() -> EdgeKeys:
            return edge_keys(self, chart_only=self._body.layout_state.view == "chart")

        for chart in (self._body.terminal.chart, *(side.chart for side in self._body.sides.values())):
            if chart is not None:
                self.connect(chart)
        for panel in (self._body.terminal.chart, *(side.widget for side in self._body.sides.values())):
            panel.edge_keys = keys

    @property
    def is_complete(self) -> bool:
        """True once everything on the page is mounted, not just title and text."""
        return self._complete.is_set()

    async def show_activity(self, id: str) -> None:
        """Scroll to the box of an activity, unfolded."""
        await self._complete.wait()
        for box in self._page.boxes:
            if box.activity.id == id:
                box.unfold()
                self.call_after_refresh(self._page.scroll_to_question, box.activity)

    @property
    def is_seen(self) -> bool:
        """True once the title is visible."""
        return self._bar.seen_at < math.inf

    def _prefetch_run(self) -> None:
        if (experiment := self._body.next_experiment) is not None:
            self.tutor.bench.expect(experiment)

    def fit(self, wide: bool, tall: bool) -> None:
        self._body.adapt(wide, tall)

    # For bench, header and keys

    @property
    def lab_shown(self) -> Environment | None:
        return self._body.side.environment if self._body.side else None

    @property
    def bench_experiment(self) -> Experiment | None:
        return self._body.bench_experiment

    @property
    def bench_waits_for_prediction(self) -> bool:
        due = self._study.due_before_run is not None
        return due and self._body.side is not None and self.bench_experiment is None

    # Keys

    async def take(self, event: events.Key | events.Paste) -> bool:
        turns_page = isinstance(event, events.Key) and self._turns_page(event.key)
        if turns_page and event.time < self._bar.seen_at:
            # The key was pressed before this page was visible.
            return True
        if not self.is_complete and not turns_page:
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
        return active is not None and active.binding.action.startswith(("go(", "onward", "deeper"))

    async def action_go(self, by: int) -> None:
        target = pages.neighbor(self.tutor.course, self.module, self.step, by)
        if target is None:
            self.notify("That is the last page." if by > 0 else "That is the first page.")
        else:
            # Later keys wait for the new page, which they are meant for.
            await self.tutor.open_step(*target)

    def action_home(self) -> None:
        self.keep_drafts()
        self.dismiss()

    # Reports of the page

    def action_report(self) -> None:
        """Ask for the fault of the page."""
        from tcptutor.ui.screens.report import ReportScreen  # noqa: PLC0415  # seldom needed

        def report(text: str | None) -> None:
            if text:
                self._report(text)

        self.app.push_screen(ReportScreen(name_of(self.module, self.step)), report)

    @work
    async def _report(self, text: str) -> None:
        """Record the student's line, and write it to a file with the state of the page."""
        from tcptutor.ui.page_report import PageReport, below_home, write_report  # noqa: PLC0415  # seldom needed

        journal, page = self.tutor.journal, (self.module.id, self.step.id)
        try:
            journal.report(*page, text)
            machine = self.tutor.bench.machine
            run_file = next(journal.run_files(*page), None)
            report = PageReport(
                text=text,
                at=datetime.now(UTC).astimezone(),
                module=self.module,
                step=self.step,
                name=name_of(self.module, self.step),
                lessons=self.tutor.course.root or places.lessons(),
                record=journal.page(*page),
                run_file=Path(run_file) if run_file else None,
                lab=f"{machine.sentence} {machine.problem}".strip(),
                terminal=(self.app.size.width, self.app.size.height),
            )
            file = await asyncio.to_thread(write_report, report)
        except TutorError as error:
            self.notify(str(error), severity="error", timeout=15, markup=False)
        else:
            self.notify(f"Reported, also for your hand-in:\n{below_home(file)}", timeout=10, markup=False)

    # Drafts

    @on(ActivityBox.DraftChanged)
    def _schedule_drafts(self) -> None:
        if self.is_complete:
            self._body.update_draft()
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.set_timer(_DRAFTS_AFTER, self.keep_drafts)

    def keep_drafts(self) -> None:
        """Store unsubmitted input. Also called when the page is left."""
        if not self.is_complete or not self._page.is_attached:
            return
        try:
            if self.tutor.drafts.save(self.module.id, self.step.id, self._answers.drafts):
                self.say_saved()
        except JournalError as error:
            self.notify(str(error), severity="error")

    # Updates

    def bench_changed(self, message: Message) -> None:
        if not self.is_complete:
            self._postponed.append(message)
            return
        super().bench_changed(message)
        self._body.bench_changed(message)
        match message:
            case RunFinished() | SweepEnded():
                self._answers.reveal()
                self._update_status()
                self._prefetch_run()  # a run of another page may have prevented prefetching
            case GoalsUpdated():
                self._show_goals()
            case SessionUpdated(event=None):
                self.keys_changed()

    def on_run_loaded(self, message: RunLoaded) -> None:  # noqa: ARG002
        self._answers.mark_again()
        self._answers.reveal()
        self._update_status()

    def _show_goals(self) -> None:
        board, box = self.tutor.bench.session.board, self._body.shell_box
        if board is None or box is None or not self._body.terminal_open:
            return
        box.show_board(board)
        if board.done and self._study.record_of(box.activity).right is None:
            self._study.reload()
            self._answers.reveal()
            self._update_status()

    def on_lesson_body_laid_out(self) -> None:
        self.schedule_keys()
        self._show_more()
