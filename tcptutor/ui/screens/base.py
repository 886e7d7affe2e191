"""Base of all screens: header, footer, save indicator, layout by terminal size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar, cast

from textual import _styles_cache, events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from tcptutor.base.glyphs import Glyphs
from tcptutor.course.outline import Course, Module
from tcptutor.journal import Journal
from tcptutor.journal.saved import Drafts, Settings
from tcptutor.study import pages
from tcptutor.study.lab_state import LabState
from tcptutor.study.lab_state import place as place_of
from tcptutor.ui import bindings
from tcptutor.ui.bindings import Entries, FooterKey
from tcptutor.ui.closing import WorkersEndFirst
from tcptutor.ui.messages import GoalsUpdated, ShellUpdated
from tcptutor.ui.motion import MotionChoice
from tcptutor.ui.widgets.bars import KeyBar, TopBar

if TYPE_CHECKING:
    from tcptutor.course.glossary import Term
    from tcptutor.course.known_courses import KnownCourse
    from tcptutor.course.step import Step
    from tcptutor.run import Environment
    from tcptutor.spec import Experiment
    from tcptutor.study.course_switch import CourseSwitch
    from tcptutor.study.live import Live
    from tcptutor.ui.bench import Bench
    from tcptutor.ui.configuration.configuration import Configuration
    from tcptutor.ui.widgets.home.facts import HomeFacts

_T = TypeVar("_T")

_DIALOG_FOOTER = (FooterKey((("Esc", "escape"),), "back"),)
"""Footer while a dialog covers the screen. The dialog lists its other keys."""
WIDE = 100
"""Minimum columns for a two-column layout."""
TALL = 32
"""Minimum lines for the table of models."""
SMALL = (60, 18)
"""Columns and lines below which ornaments are left out."""
NOT_SAVED = "NOT SAVED"
SAVED = "saved"
_SAVED_FOR = 1.0
"""Seconds for which "saved" is shown."""


class WhatIfBase(NamedTuple):
    """A run that can be repeated with a single change."""

    live: Live
    at: float | None
    """Time at the cursor, s; None without a cursor."""


class Tutor(Protocol):
    """The app, as used by its screens. `ui.app` has it and imports them."""

    journal: Journal
    drafts: Drafts
    motion: MotionChoice
    settings: Settings
    glyphs: Glyphs
    """Characters that the terminal can show."""
    configuration: Configuration
    """Settings and keys from the configuration files."""
    course_switch: CourseSwitch | None
    """The student's other courses; None if the app can show no other."""
    problems: tuple[str, ...]
    """Problems in lesson files, a line each; empty until all files are read."""

    @property
    def course(self) -> Course:
        """The course with the pages that this student sees."""

    @property
    def is_saved(self) -> bool:
        """True if all of the student's work is on disk."""

    @property
    def bench(self) -> Bench:
        """The lab, and its current run, sweep or session."""

    @property
    def has_bench(self) -> bool:
        """False until something has needed the bench, after the first frame."""

    def home_facts(self) -> HomeFacts:
        """Return facts about the student's work for the home screen."""

    def choose_motion(self, on: bool) -> None:
        """Turn the motion of figures on or off."""

    def choose_words(self, in_words: bool) -> None:
        """Describe figures in words, or draw them, now and in later sessions."""

    def choose_daily_minutes(self, minutes: int) -> None:
        """Set the goal of a day, in minutes; 0 for none."""

    def choose_bell(self, rings: bool) -> None:
        """Ring the terminal's bell at the end of a long run, or not, now and in later sessions."""

    def change_course(self, course: KnownCourse) -> None:
        """Switch to a different course of the student."""

    def choose_theme(self, name: str) -> None:
        """Use that theme, now and in later sessions."""

    @property
    def has_marks(self) -> bool:
        """True if the student is enrolled, or the course has a deadline."""

    def follow_enrolment(self) -> bool:
        """Start the open page again if the student has enrolled since it was opened; return True if so."""

    def open_module(self, module: str) -> None:
        """Open a module where the student left it."""

    def open_step(self, module: Module, step: Step) -> Awaitable[object]:
        """Show a page in place of the current page; the result waits until it is shown."""

    def open_activity(self, module: Module, step: Step, activity: str) -> None:
        """Show a page at the box of an activity."""

    def open_glossary(self, term: Term | None = None) -> None:
        """Open the glossary at a term, or at the first term of the current page."""

    def open_bench_with(self, experiment: str) -> None:
        """Open the bench with an experiment of the course, by its full name."""

    @property
    def can_return(self) -> bool:
        """True if a link led to the current page, and the page with the link can be opened again."""

    def action_open_page(self, page: str) -> None:
        """Follow a link to the page MODULE/PAGE."""

    def return_from_link(self) -> Awaitable[object]:
        """Open the page with the link that was followed last."""

    def push_screen(
        self, screen: ModalScreen[_T], callback: Callable[[_T | None], None]
    ) -> Awaitable[object]:
        """Show a dialog over the page; `callback` gets its result."""


class TutorScreen(WorkersEndFirst, Screen[None]):
    """Screen with header and footer. Subclasses define place, footer keys and the reaction to runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Priority, as for keys that leave a page: a later Esc must close the list, not the page.
        Binding(
            "question_mark,f1",
            "app.keys",
            "keys",
            priority=True,
            id="app.keys",
            tooltip="this list of keys",
        ),
    ]
    FOOTER: ClassVar[Entries] = ()

    OTHER_KEYS: ClassVar[Entries] = ()
    """(key, description) of Textual's own keys, for the list of keys."""

    _has_been_shown = False
    _keys_scheduled = False
    """True if the footer will be redrawn after the next refresh."""

    HAS_STUDY_KEYS: ClassVar[bool] = False
    """True if the keys of finding, pages and terms work here."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Textual's attribute without `repaint`, which would redraw the screen; widgets draw their own focus."""

    @property
    def tutor(self) -> Tutor:
        return cast("Tutor", self.app)

    @property
    def is_complete(self) -> bool:
        """True once all widgets that the screen mounts by itself are there; until then the app does not exit."""
        return True

    @property
    def bench_experiment(self) -> Experiment | None:
        """Settings for a bench opened from this screen; None to leave the bench as it was."""
        return None

    @property
    def bench_waits_for_prediction(self) -> bool:
        """True while a due prediction prevents opening the bench with this screen's experiment."""
        return False

    @property
    def what_if_base(self) -> WhatIfBase | None:
        """The complete run on display, for a what-if; None if no run is shown."""
        return None

    @property
    def chosen_module(self) -> Module | None:
        """The module under the cursor; None without a module."""
        return None

    @property
    def takes_text(self) -> bool:
        """True while a field or a shell receives typed letters."""
        return False

    async def take(self, event: events.Key | events.Paste) -> bool:  # noqa: ARG002
        """Handle a key or pasted text before any widget gets it; return True if handled."""
        return False

    def fit(self, wide: bool, tall: bool) -> None:
        """Adapt to a new terminal size."""
        # In one call: each change of a class restyles the whole screen.
        width, height = self.app.size
        is_small = width < SMALL[0] or height < SMALL[1]
        self.update_classes({"-wide": wide, "-narrow": not wide, "-tall": tall, "-small": is_small})

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.ScreenResume) and not self._has_been_shown:
            # Textual restyles a screen on every resume, but a new screen has just been styled.
            self._has_been_shown, event.refresh_styles = True, False
        await super().on_event(event)

    def schedule_keys(self) -> None:
        """Redraw the footer once after the next refresh."""
        if not self._keys_scheduled:
            self._keys_scheduled = self.call_after_refresh(self._show_scheduled_keys)

    def _show_scheduled_keys(self) -> None:
        self._keys_scheduled = False
        self.show_keys()

    def show_keys(self) -> None:
        """Redraw the footer, if the screen is still mounted."""
        covered = isinstance(self.app.screen, ModalScreen)
        for bar in self.query(KeyBar):
            bar.show_keys(_DIALOG_FOOTER if covered else self.footer_keys())

    def show_saved(self) -> None:
        """Update the save indicator."""

    def footer_keys(self) -> tuple[FooterKey, ...]:
        """Return the footer's entries."""
        return bindings.footer_entries(self, self.FOOTER)

    def show_lab(self) -> None:
        """Update the header after a change of the lab, if the screen is still mounted."""
        for bar in self.query(TopBar):
            bar.show_lab(self._lab_line())

    def keep_drafts(self) -> None:
        """Store unsubmitted input before the screen is left."""

    def course_read(self) -> None:
        """Update after all lesson files were read and `problems` is set."""

    def goal_changed(self) -> None:
        """Update after a change of the daily goal."""

    def enrolment_changed(self) -> None:
        """Update after a different program has enrolled the student; pages restart by themselves."""

    def bench_changed(self, message: Message) -> None:
        """Update after a message of the bench: see `tcptutor.ui.messages`."""
        if not isinstance(message, GoalsUpdated | ShellUpdated):
            self.show_lab()

    def on_compose(self) -> None:
        # Before there are widgets, which would all be styled twice.
        self.fit(self.app.size.width >= WIDE, self.app.size.height >= TALL)

    def on_mount(self) -> None:
        self.show_lab()

    def on_unmount(self) -> None:
        _free_drawn_lines()

    def on_resize(self, event: events.Resize) -> None:
        self.fit(event.size.width >= WIDE, event.size.height >= TALL)

    def on_screen_suspend(self) -> None:
        # The dialog on top shows its own keys.
        self.show_keys()

    def on_screen_resume(self) -> None:
        # A covered screen gets no message about a new size or a new run.
        self.fit(self.app.size.width >= WIDE, self.app.size.height >= TALL)
        self.show_lab()
        self.schedule_keys()

    @property
    def lab_shown(self) -> Environment | None:
        """Environment of the run on this screen; None if no run is shown."""
        return None

    def shows_page(self, module: str, step: str) -> bool:  # noqa: ARG002
        """Return True if the screen is about this page, so that its runs need no name."""
        return False

    def _lab_line(self) -> str:
        if not self.tutor.has_bench:
            return LabState("starting").headline()
        bench = self.tutor.bench
        if bench.state.place is not None:
            return bench.state.headline()
        return self._work_line(bench) or bench.state.headline(self.lab_shown)

    def _work_line(self, bench: Bench) -> str:
        """Describe the activity of the lab; empty if it is idle."""
        live, sweep = bench.live, bench.sweep
        if bench.session.stage == "starting":
            return "the lab is starting for the terminal"
        if bench.session.in_progress and bench.session.environment is not None:
            return f"{place_of(bench.session.environment)} · terminal"
        if sweep and sweep.state == "running" and sweep.environment is not None:
            progress = f"{sweep.done} of {sweep.total} runs"
            return f"{place_of(sweep.environment)} · {self._page_number(sweep.module, sweep.step)}{progress}"
        if live and live.state == "running":
            seconds = f"{live.run.experiment_s:.0f}/{live.run.experiment.seconds:g} s"
            page = self._page_number(live.module, live.step)
            return f"{place_of(live.run.environment)} · {page or 'running '}{seconds}"
        return ""

    def _page_number(self, module: str, step: str) -> str:
        """Return "page 1.11: " for a page that this screen is not about; empty for its own."""
        found = (
            None if self.shows_page(module, step) else pages.find_page(self.tutor.course, f"{module}/{step}")
        )
        if found is None or found[1] not in found[0].steps:
            return ""
        return f"page {found[0].number}.{found[0].steps.index(found[1]) + 1}: "


class SavingScreen(TutorScreen):
    """Screen with a save indicator: NOT SAVED while writes fail, "saved" for a moment after each write."""

    _written = 0

    def show_saved(self) -> None:
        written = self.tutor.journal.event_count
        if not self.tutor.is_saved:
            self._show_right(NOT_SAVED)
        elif written != self._written:
            self.say_saved()
        else:
            self._clear_right(NOT_SAVED)
        self._written = written

    def say_saved(self) -> None:
        """Show "saved" for a moment."""
        self.say_briefly(SAVED, _SAVED_FOR)

    def say_briefly(self, text: str, seconds: float) -> None:
        """Show a text at the right end of the footer for a while, unless something is not saved."""
        self._show_right(text if self.tutor.is_saved else NOT_SAVED)
        self.set_timer(seconds, lambda: self._clear_right(text))

    def _clear_right(self, shown: str) -> None:
        for bar in self.query(KeyBar):
            if bar.right == shown:
                bar.show_right("")

    def _show_right(self, text: str) -> None:
        for bar in self.query(KeyBar):
            bar.show_right(text)


def _free_drawn_lines() -> None:
    """Free the drawn lines of removed widgets.

    Textual's `get_inner_outer` caches two colors for each of its last 1,024 line caches, keyed by the line cache, and
    so keeps every line of dozens of pages: 3 MB a page.
    """
    clear = getattr(_styles_cache.StylesCache.get_inner_outer, "cache_clear", None)
    if clear is not None:
        clear()
