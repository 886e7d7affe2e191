"""What every screen of ours has: a header, a footer, and a layout that follows the terminal's size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar, NamedTuple, Protocol, TypeVar, cast

from textual import _styles_cache, events
from textual.binding import Binding, BindingType
from textual.reactive import Reactive
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from tcptutor.course.model import Course, Module, Step
from tcptutor.journal import Journal
from tcptutor.journal.drafts import Drafts
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.ui import bindings
from tcptutor.ui.bench import Bench
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.host_shell import Shell
from tcptutor.ui.lab_state import place as place_of
from tcptutor.ui.live import Live
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.messages import SessionUpdated
from tcptutor.ui.widgets.bars import KeyBar, TopBar

_T = TypeVar("_T")

_OF_DIALOG = (FooterKey((("Esc", "escape"),), "back"),)
"""In the bottom line while a dialog covers the screen: the dialog says its other keys."""
WIDE = 100
"""From here on two columns."""
TALL = 32
"""From here on there is room for the table of models."""
NOT_SAVED = "NOT SAVED"
SAVED = "saved"
_SAVED_FOR = 2.0
"""Seconds for which it says that something was written."""


class WhatIfBase(NamedTuple):
    """A run that may be run again with one thing changed."""

    live: Live
    at: float | None
    """Where the cursor stands, s; None while there is none."""


class Tutor(Protocol):
    """What screens ask of the app."""

    course: Course
    journal: Journal
    drafts: Drafts
    bench: Bench
    problems: tuple[str, ...]
    """What is wrong with lesson files, a line each; none until all of them have been read."""

    @property
    def is_saved(self) -> bool:
        """Whether all that the student did is on the disk."""

    def open_module(self, module: str) -> None:
        """Where the student left it."""

    def open_step(self, module: Module, step: Step) -> Awaitable[object]:
        """In place of the page that is shown; who waits for it, waits until it is there."""

    def push_screen(
        self, screen: ModalScreen[_T], callback: Callable[[_T | None], None]
    ) -> Awaitable[object]:
        """Over the page that is shown; `callback` takes what it was closed with."""


class TutorScreen(Screen[None]):
    """Subclasses fill in the place, the keys of the footer and what they do with a run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # With priority, as what leads away from a page has: Esc behind it closes the list.
        Binding(
            "question_mark,f1",
            "app.keys",
            "keys",
            priority=True,
            id="app.keys",
            tooltip="this list of keys",
        ),
    ]
    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = ()
    """(ids of bindings, word) for the line at the bottom."""

    OTHER_KEYS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("↑ ↓", "scroll the text, or move among the choices of a question"),
        ("Enter", "answer the question, or lock the prediction"),
    )
    """(key, what it does) for the list of keys, of those that are Textual's own."""

    _has_been_shown = False
    _keys_asked = False
    """Whether the footer is to be drawn after the next refresh."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As Textual has it, which draws all of the screen anew: here widgets draw themselves as they get the focus."""

    @property
    def tutor(self) -> Tutor:
        return cast("Tutor", self.app)

    @property
    def bench_experiment(self) -> Experiment | None:
        """What the bench begins with when it is opened from here; None for what it had."""
        return None

    @property
    def bench_waits_for_prediction(self) -> bool:
        """Whether a prediction is due before the bench may begin with this screen's experiment."""
        return False

    @property
    def what_if_base(self) -> WhatIfBase | None:
        """The whole run that is shown, of which one thing may be changed; None where there is none."""
        return None

    async def take(self, event: events.Key | events.Paste) -> bool:  # noqa: ARG002
        """Do at once what a key, or what was pasted, does here, before it is sent anywhere; whether it did anything."""
        return False

    def fit(self, wide: bool, tall: bool) -> None:
        """The terminal has a new size."""
        # At once: each change of a class styles the whole screen anew.
        self.update_classes({"-wide": wide, "-narrow": not wide, "-tall": tall})

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.ScreenResume) and not self._has_been_shown:
            # Textual styles a screen that comes back anew: one that is there for the first time has its styles.
            self._has_been_shown, event.refresh_styles = True, False
        await super().on_event(event)

    def ask_keys(self) -> None:
        """Draw the footer anew after the next refresh, once however often that is asked."""
        if not self._keys_asked:
            self._keys_asked = self.call_after_refresh(self._show_asked_keys)

    def _show_asked_keys(self) -> None:
        self._keys_asked = False
        self.show_keys()

    def show_keys(self) -> None:
        """Draw the footer anew; a screen that is being closed has none."""
        covered = isinstance(self.app.screen, ModalScreen)
        for bar in self.query(KeyBar):
            bar.show_keys(_OF_DIALOG if covered else self.footer_keys())

    def show_saved(self) -> None:
        """What was done may be on the disk now, or not any more."""

    def footer_keys(self) -> tuple[FooterKey, ...]:
        """What the footer offers now."""
        return bindings.footer_entries(self, self.FOOTER)

    def show_lab(self) -> None:
        """The lab has changed; a screen that is being closed has nothing to show it on."""
        for bar in self.query(TopBar):
            bar.show_lab(self._lab_line())

    def keep_drafts(self) -> None:
        """The screen is about to be left: keep what was typed and not answered."""

    def course_read(self) -> None:
        """All pages have been read, and `problems` are known."""

    def run_updated(self, live: Live) -> None:  # noqa: ARG002  # for subclasses
        self.show_lab()

    def run_ended(self, live: Live) -> None:  # noqa: ARG002
        self.show_lab()

    def session_updated(self, message: SessionUpdated) -> None:  # noqa: ARG002
        self.show_lab()

    def goals_updated(self) -> None:
        """The goals of the page that is worked on stand otherwise."""

    def shell_updated(self, shell: Shell) -> None:
        """A shell shows something else, or has ended."""

    def sweep_updated(self, sweep: LiveSweep) -> None:  # noqa: ARG002
        self.show_lab()

    def sweep_ended(self, sweep: LiveSweep) -> None:  # noqa: ARG002
        self.show_lab()

    def on_mount(self) -> None:
        self.show_lab()

    def on_unmount(self) -> None:
        _free_drawn_lines()

    def on_resize(self, event: events.Resize) -> None:
        self.fit(event.size.width >= WIDE, event.size.height >= TALL)

    def on_screen_suspend(self) -> None:
        # Keys are those of what covers it, which says them itself.
        self.show_keys()

    def on_screen_resume(self) -> None:
        # A screen that was covered while the terminal changed its size, or a run began, has not been told.
        self.fit(self.app.size.width >= WIDE, self.app.size.height >= TALL)
        self.show_lab()
        self.ask_keys()

    @property
    def lab_shown(self) -> Environment | None:
        """Where the run on this screen took place; None without one."""
        return None

    def _lab_line(self) -> str:
        bench = self.tutor.bench
        live, sweep = bench.live, bench.sweep
        if bench.session.stage == "starting":
            return "the lab is starting for a terminal"
        if bench.session.in_progress and bench.session.environment is not None:
            return f"{place_of(bench.session.environment)} · terminal"
        if sweep and sweep.state == "running" and sweep.environment is not None:
            return f"{place_of(sweep.environment)} · {sweep.done} of {sweep.total} runs"
        if live and live.state == "running":
            seconds = f"{live.run.experiment_s:.0f}/{live.run.experiment.seconds:g} s"
            return f"{place_of(live.run.environment)} · running {seconds}"
        return bench.state.headline_of(self.lab_shown)


class SavingScreen(TutorScreen):
    """NOT SAVED stays for as long as it is so; "saved" is shown after each write, and goes again."""

    _written = 0
    """How many events the journal had when that was last shown."""

    def show_saved(self) -> None:
        written = self.tutor.journal.event_count
        if not self.tutor.is_saved:
            self._show_right(NOT_SAVED)
        elif written != self._written:
            self.say_saved()
        else:
            self._forget(NOT_SAVED)
        self._written = written

    def say_saved(self) -> None:
        """Something was written just now."""
        self._show_right(SAVED if self.tutor.is_saved else NOT_SAVED)
        self.set_timer(_SAVED_FOR, lambda: self._forget(SAVED))

    def _forget(self, shown: str) -> None:
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
