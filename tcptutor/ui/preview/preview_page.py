"""The app's page screen with the linter's problems, and the screen of a course without readable pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual.app import ComposeResult

from tcptutor.course.outline import Module
from tcptutor.course.problem_place import LocatedProblem
from tcptutor.course.step import Step
from tcptutor.ui.preview.lint_panel import LintPanel, LintResult, UnreadableNotice
from tcptutor.ui.screens.base import WIDE, Tutor, TutorScreen
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.screens.lesson_layout import Layout
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.workers import start_worker

_NEXT_TO = 120
"""Columns from which the linter's problems are next to the page."""
_COLUMNS = 40
"""Least columns of the linter's problems; a wider terminal adds a tenth of its extra width."""


class PagePlace(NamedTuple):
    """Place in a page, and the parts of it that the author looks at."""

    scroll: float
    layout: Layout


class PreviewPage(LessonScreen):
    """A page with the linter's lines."""

    def __init__(self, tutor: Tutor, module: Module, step: Step, notice: str = "") -> None:
        super().__init__(tutor, module, step, notice)
        self._unreadable, self._lint = UnreadableNotice(), LintPanel()
        self._place: PagePlace | None = None

    def compose(self) -> ComposeResult:
        self._make_room()
        *others, keys = super().compose()
        yield from others[:2]
        yield self._unreadable
        yield from others[2:]
        yield self._lint
        yield keys

    def on_mount(self) -> None:
        super().on_mount()
        start_worker(self, self._restore_place)

    def _show_place(self) -> None:
        now = next((each for each in self.tutor.course.modules if each.id == self.module.id), None)
        if (
            now is not None and now.step_ids == self.module.step_ids
        ):  # otherwise this screen is about to be replaced
            super()._show_place()

    async def _restore_place(self) -> None:
        await self._complete.wait()
        if self._place is not None:
            layout = self._place.layout
            self._body.lay_out(narrow_view=layout.narrow_view, wide_view=layout.wide_view)
            # Only after the layout does the page have the height to scroll.
            self.call_after_refresh(self._page.scroll_to, y=self._place.scroll, immediate=True)

    @property
    def place(self) -> PagePlace:
        """Where the author is on the page."""
        if not self.is_complete and self._place is not None:
            return self._place
        return PagePlace(self._page.scroll_y, self._body.layout_state)

    def restore_place(self, place: PagePlace) -> None:
        """Show the page at that place once it is complete."""
        self._place = place

    def show_lint(self, result: LintResult) -> None:
        """Show the linter's lines."""
        self._lint.show(result)

    def show_reasons(self, problems: Sequence[LocatedProblem]) -> None:
        """Show the reasons why the page's file cannot be read, above the page's last good version."""
        self._unreadable.show(problems)

    def fit(self, wide: bool, tall: bool) -> None:
        self._make_room()
        super().fit(wide and self.app.size.width - self._body.columns_elsewhere >= WIDE, tall)

    def _make_room(self) -> None:
        """Put the linter's lines next to the page, if the page keeps 80 columns, or below."""
        width = self.app.size.width
        columns = _COLUMNS + max(0, width - _NEXT_TO) // 10 if width >= _NEXT_TO else 0
        self._body.columns_elsewhere = columns
        self._lint.set_class(bool(columns), "-beside")
        self._lint.styles.width = columns or None


class EmptyPreview(TutorScreen):
    """The linter's lines of a course without a page that can be read."""

    HAS_STUDY_KEYS = True
    FOOTER = (("app.keys", "keys"), ("app.quit", "quit"))

    def __init__(self, when_mounted: Callable[[], None]) -> None:
        """Create it with a function that shows the linter's last result."""
        super().__init__()
        self._bar, self._lint, self._when_mounted = TopBar(), LintPanel(), when_mounted

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._lint
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._bar.show_place("no page can be read yet")
        self.show_keys()
        self.call_after_refresh(self._when_mounted)

    def show_lint(self, result: LintResult) -> None:
        """Show the linter's lines."""
        self._lint.show(result)
