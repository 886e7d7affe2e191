"""The app for the author of a course: it reads the course again after each save."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tcptutor.base import glyphs
from tcptutor.base.errors import TutorError
from tcptutor.course.outline import Module
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.study.own_course import OwnCourse
from tcptutor.study.pages import ModulePage
from tcptutor.ui import shutdown
from tcptutor.ui.app import TutorApp
from tcptutor.ui.preview.edited_course import (
    EditedCourse,
    FindProblems,
    first_page,
    is_shown_as,
    next_page,
    read_edited,
    reasons,
    signature,
    sorted_problems,
)
from tcptutor.ui.preview.lint_panel import LintResult
from tcptutor.ui.preview.preview_page import EmptyPreview, PagePlace, PreviewPage
from tcptutor.ui.start import open_journal

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab

_LOOK_EVERY = 0.5
"""Seconds between looks at the files. A look takes 1 ms for 200 files, and works on network drives and for editors
that replace files, so that a library that waits for the kernel's notices would be no gain."""


class PreviewApp(TutorApp):
    """Pages of a course that is being edited, each with the linter's lines."""

    def __init__(
        self,
        root: Path,
        edited: EditedCourse,
        journal: Journal,
        make_lab: Callable[[], Lab],
        find_problems: FindProblems,
        page: ModulePage | None = None,
    ) -> None:
        """Create it with the course in the folder `root`, and the page to begin with, by default the first."""
        super().__init__(edited.course, journal, make_lab, problems=lambda: self._edited.problems)
        self._root, self._edited, self._find_lint = root, edited, find_problems
        self._first = page or first_page(edited)
        self._lint_result, self._lint_problems = LintResult(), tuple[str, ...]()
        self._changed = asyncio.Event()
        """Set when the linter has something to check."""
        self._before = signature(root)
        self._next_place: PagePlace | None = None
        """Place of the page that is opened next."""
        self._tasks: list[asyncio.Task[None]] = []

    def on_mount(self) -> None:
        super().on_mount()
        self._complete_start()
        if self._first is not None:
            self.open_step(*self._first)
        else:
            self.push_screen(EmptyPreview(self._show_lint))
        self._changed.set()
        self._tasks = [asyncio.create_task(each) for each in (self._watch(), self._check())]

    def on_unmount(self) -> None:
        for task in self._tasks:
            task.cancel()

    def make_page(self, module: Module, step: Step, notice: str) -> PreviewPage:
        page = PreviewPage(self, module, step, notice)
        if self._next_place is not None:
            page.restore_place(self._next_place)
            self._next_place = None
        self.call_after_refresh(self._show_lint)
        return page

    @property
    def _page(self) -> PreviewPage | None:
        return next((each for each in self._lesson_screens if isinstance(each, PreviewPage)), None)

    async def _watch(self) -> None:
        """Look at the files, and read the course again when they have changed."""
        while not self.is_leaving:
            await asyncio.sleep(_LOOK_EVERY)
            now = await asyncio.to_thread(signature, self._root)
            if now == self._before or not self._can_replace:
                continue
            self._before = now
            await self._show(await asyncio.to_thread(read_edited, self._root, self._edited))
            self._lint_result = self._lint_result._replace(is_outdated=True)
            self._show_lint()
            self._changed.set()

    @property
    def _can_replace(self) -> bool:
        """True unless a dialog covers the page, which would be closed, or the page is half-mounted."""
        page = self._page
        return page is None or (page is self.screen and page.is_complete)

    async def _show(self, edited: EditedCourse) -> None:
        """Show the course as it is now, at the same page and place."""
        page = self._page
        here = ModulePage(page.module, page.step) if page else None
        following = next_page(here, self._edited, edited) if here else None
        self._edited = edited
        self._own_course = OwnCourse(edited.course, self.journal, None)
        self._index = self.workbench = self.run_history = None
        self.problems = tuple(map(str, edited.problems))
        if page and here and following and not is_shown_as(here, following.page):
            self._next_place = page.place if following.is_same else None
            await self.open_step(*following.page)
        elif isinstance(self.screen, EmptyPreview) and (first := first_page(edited)):
            self.pop_screen()
            await self.open_step(*first)
        if following and following.notice:
            self.notify(following.notice)
        for screen in self.mounted_screens():
            screen.course_read()

    async def _check(self) -> None:
        """Run the linter after each change."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._lint_problems = tuple(await _in_daemon_thread(partial(self._find_unchanged, self._root)))
            self._lint_result = LintResult(at=_time_of_day(), is_outdated=self._changed.is_set())
            self._show_lint()

    def _find_unchanged(self, root: Path) -> Sequence[str]:
        """Return the linter's lines of files that did not change while they were read."""
        while True:
            before = signature(root)
            try:
                return self._find_lint(root)
            except LookupError:  # a page was renamed, deleted or half-saved in between
                if signature(root) == before:
                    raise

    def _show_lint(self) -> None:
        """Show the linter's lines, and why the page cannot be read if it is as it was before."""
        page = self._page
        here = ModulePage(page.module, page.step) if page else None
        file = self._edited.file(here) if here else ""
        problems = sorted_problems(self._lint_problems, file, self._root)
        above = reasons(self._edited, here, self._root) if here else []
        self._lint_result = self._lint_result._replace(problems=problems, file=file, above=above)
        for screen in self.screen_stack:
            if isinstance(screen, PreviewPage | EmptyPreview) and screen.is_mounted:
                screen.show_lint(self._lint_result)
        if page is not None and page.is_mounted:
            page.show_reasons(above)


def _time_of_day() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")


async def _in_daemon_thread(find: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Return the result of `find`, called in a thread that ends with the program."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Sequence[str]] = loop.create_future()

    def finish(found: Sequence[str]) -> None:
        if not done.done():  # the app is leaving
            done.set_result(found)

    def run() -> None:
        try:
            found = find()
        except (TutorError, OSError) as error:  # files go while they are read
            found = [str(error)]
        with contextlib.suppress(RuntimeError):  # the app has ended
            loop.call_soon_threadsafe(finish, found)

    threading.Thread(target=run, daemon=True, name="lint").start()
    return await done


def show_preview(
    root: Path,
    page: ModulePage | None,
    make_lab: Callable[[], Lab],
    find_problems: FindProblems,
    language: str = "",
) -> int:
    """Preview the course in the folder `root` until the author leaves, and return the exit code.

    Args:
        root: Folder of the course.
        page: Page to begin with; None for the first.
        make_lab: Makes the lab to run in.
        find_problems: The linter.
        language: Translation to show; empty for the original.
    """
    shutdown.signals.catch()
    journal = open_journal()
    try:
        app = PreviewApp(root, read_edited(root, language=language), journal, make_lab, find_problems, page)
        app.glyphs = glyphs.for_terminal(os.environ)
        asyncio.run(_run(app))
    finally:
        journal.close()
    return app.return_code or 0


async def _run(app: PreviewApp) -> None:
    try:
        await app.run_async()
    finally:
        if app.has_bench:
            await app.bench.close()
