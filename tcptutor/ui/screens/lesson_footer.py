"""Footer of a page: the key of the next step first, then the keys that work now."""

from __future__ import annotations

from tcptutor.course.activities.shell import ShellActivity
from tcptutor.study.study import Study
from tcptutor.ui import bindings
from tcptutor.ui.bench import Bench
from tcptutor.ui.bindings import Entries, FooterKey
from tcptutor.ui.screens.chart_screen import ChartScreen
from tcptutor.ui.screens.lesson_answers import Answers
from tcptutor.ui.screens.lesson_body import LessonBody
from tcptutor.ui.screens.lesson_keys import (
    CHOICE_FOOTER,
    EDGE_IDS,
    SHELL_FOOTER,
    enter_key,
    page_footer,
    typing_footer,
    without,
)
from tcptutor.ui.widgets.page.lists import ListBox
from tcptutor.ui.widgets.page.page import Page


class LessonFooter:
    """Footer entries for the state of a page."""

    def __init__(self, study: Study, page: Page, answers: Answers, body: LessonBody, bench: Bench) -> None:
        self._study, self._page, self._answers = study, page, answers
        self._body, self._bench = body, bench

    def keys(self, screen: ChartScreen, *, is_typing: bool) -> tuple[FooterKey, ...]:
        """Return the entries for the page's screen; `is_typing` while a text field gets the keys."""
        body, box = self._body, self._page.active_box()
        if is_typing:
            return typing_footer(screen, box)
        if isinstance(box, ListBox) and not box.is_locked and not box.is_folded:
            choosing = without(CHOICE_FOOTER, *self._ids_in_edges)
            return enter_key(box), *bindings.footer_entries(screen, choosing)
        figure = self._page.player.current
        following = self._next_step
        entries = page_footer(
            following,
            chart_only=body.layout_state.view == "chart",
            cursor=screen.has_cursor,
            terminal=body.terminal_open,
            other_terminal=body.other_terminal_open,
            playing=figure is not None and figure.playback.playing,
            unused=self._unused_ids,
        )
        return bindings.footer_entries(screen, self._of_shell if body.in_pane else entries, following[0])

    @property
    def _of_shell(self) -> Entries:
        """Footer of the shell; it omits F9 after the last command."""
        return SHELL_FOOTER if self._body.command else without(SHELL_FOOTER, "lesson.type-command")

    @property
    def _unused_ids(self) -> tuple[str, ...]:
        """Ids of keys without a function on this page, or shown in the edges of its panel."""
        used = {
            "lesson.field": self._answers.has_due,
            "lesson.network": self._body.network is not None,
            "lesson.terminal": not self._bench.replays,
        }
        return (*(id for id, is_used in used.items() if not is_used), *self._ids_in_edges)

    @property
    def _ids_in_edges(self) -> tuple[str, ...]:
        """Ids of the keys that the edges of the panel show."""
        panel = self._body.panel
        return EDGE_IDS if panel is not None and panel.shows_keys else ()

    @property
    def _next_step(self) -> tuple[str, str]:
        """Ids of the keys for the next step of the page, and its label."""
        study, side = self._study, self._body.side
        due = study.due_before_run
        if self._bench.busy:
            return "cursor.toggle", "look"
        if due is not None and not self._body.session_open:
            return "lesson.field", "predict" if due.locked else "answer"
        if side is not None and not study.step.has_run(study.record):
            return "lesson.run", "run"
        asked = [box.activity for box in self._page.boxes if study.reveals(box.activity)]
        left = [each for each in asked if study.is_due(each)]
        shells = [each for each in left if isinstance(each, ShellActivity)]
        if len(left) > len(shells):
            return "lesson.field", f"answer {len(asked) - len(left)}/{len(asked)}"
        if shells and not self._bench.replays:
            return ("lesson.pane" if self._body.terminal_open else "lesson.terminal", "terminal")
        return "lesson.onward", "next"
