"""Base of all apps, including viewers of runs and classes: style, global keys, minimum size."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import RenderableType
from rich.segment import Segment
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.driver import Driver
from textual.filter import ANSIToTruecolor, LineFilter
from textual.screen import ModalScreen, Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget
from textual.widgets import Static

from tcptutor.base import glyphs, places, units
from tcptutor.base.glyphs import Glyphs, substitute_line
from tcptutor.base.key_names import use_keys
from tcptutor.base.printable import escaped
from tcptutor.base.window import Window
from tcptutor.journal.saved import Settings
from tcptutor.ui import line_breaks, output, shutdown, themes
from tcptutor.ui.configuration.configuration import load_configuration
from tcptutor.ui.configuration.spelling import shown_key
from tcptutor.ui.line_meter import LineMeter
from tcptutor.ui.screens.base import TutorScreen

if TYPE_CHECKING:
    from tcptutor.grading.drill_down import ClassDetails
    from tcptutor.grading.survey import Survey
    from tcptutor.run import Run


MINIMUM = (80, 24)
"""Minimum terminal size in columns and lines."""

START_STYLES = places.assets() / "ui" / "start.tcss"
"""Styles of all apps and of the home screen."""
SCREEN_STYLES = places.assets() / "ui" / "screens.tcss"
"""Styles of all other screens."""

KEY_NAMES = {
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "tab": "Tab",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}
"""Names of keys as on a keyboard and in our texts."""


_WHOLE_WITHIN = 2.0
"""Seconds that `exit` waits for a screen to finish mounting, usually a few tenths."""
_LOOK_AGAIN = 0.01
_SLOW_REST_S = 0.5
"""Seconds of rest after a frame above which the app warns of a slow line."""


_GLYPH_NOTICES: dict[Glyphs, str] = {
    "console": "The Linux console's font has no fine dots: charts are drawn in lines. A terminal window shows them.",
    "ascii": "The locale is not UTF-8: charts are drawn in ASCII. `export LC_ALL=C.UTF-8`, "
    "in GNU screen `screen -U`, shows them whole.",
}


class TooSmall(ModalScreen[None]):
    """Notice that the terminal is too small, removed by the app once the terminal fits, or by the reader."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "read_on", "read on")]

    def __init__(self, meanwhile: str, least: tuple[int, int]) -> None:
        """Create the notice.

        Args:
            meanwhile: Sentence on activity that continues in the background, and the key that leaves.
            least: Terminal size, in columns and lines, in which a page can still be read.
        """
        super().__init__()
        self._meanwhile, self._least = meanwhile, least

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def on_mount(self) -> None:
        self._say()

    def on_resize(self) -> None:
        self._say()

    def _say(self) -> None:
        width, height = self.app.size
        self.query_one(Static).update(
            f"{MINIMUM[0]} x {MINIMUM[1]} needed, this terminal is {width} x {height}: enlarge it. "
            + ("Enter reads on here, without charts. " if self._can_read else "")
            + self._meanwhile
        )

    @property
    def _can_read(self) -> bool:
        width, height = self.app.size
        return width >= self._least[0] and height >= self._least[1]

    def action_read_on(self) -> None:
        """Show the page in the small terminal."""
        if self._can_read:
            self.dismiss()


class Frame(App[None]):
    """App with our style, keys and minimum size. Subclasses provide the first screen."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [START_STYLES, SCREEN_STYLES]
    TITLE = "tcptutor"
    MEANWHILE = "A run continues meanwhile; ctrl+q quits."
    """Sentence for a terminal that is too small, as in `TooSmall`."""
    LEAST: ClassVar[tuple[int, int]] = (30, 8)
    """Terminal size, in columns and lines, in which a page can still be read."""
    ENABLE_COMMAND_PALETTE = False
    """Off, since Textual's palette is not ours: see `screens.find`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit", id="app.quit", tooltip="quit; everything is saved"),
        Binding(
            "ctrl+q,ctrl+c",
            "quit",
            "quit",
            id="app.quit-anywhere",
            priority=True,
            tooltip="quit, also while typing",
        ),
        Binding(
            "ctrl+z",
            "suspend_process",
            "suspend",
            id="app.suspend",
            priority=True,
            tooltip="back to the shell; fg returns",
        ),
    ]

    def __init__(self, settings: Settings, theme: str = "") -> None:
        """Create it with the user's settings, and a theme in place of theirs."""
        super().__init__()
        self.configuration = load_configuration()
        self.configuration.apply_to(settings)
        use_keys({id: shown_key(keys[0]) for id, keys in self.configuration.names.items()})
        line_breaks.keep_quantities_whole()
        self.settings = settings
        for look in themes.LOOKS.values():
            self.register_theme(look.theme)
        # Setting `theme` would make Textual parse all styles a second time before the first frame.
        self.set_reactive(App.theme, themes.named(theme or settings.theme, self.console.color_system).name)
        for line_filter in self._filters:
            if isinstance(line_filter, ANSIToTruecolor):
                line_filter.enabled = not self.native_ansi_color
        self.stylesheet.set_variables(self.get_css_variables())
        # Smooth scrolling redraws the screen at every step, too many bytes for SSH.
        self.animation_level = "none"
        self._leave_by = math.inf
        self.line = LineMeter()
        """Measures the line to the terminal."""
        self.window = Window(os.environ, self._write_to_terminal)
        self._told_rate = self._reads_small = False
        self.glyphs: Glyphs = "all"
        """Characters to draw with, set before the app runs."""

    def on_ready(self) -> None:
        if self.glyphs in _GLYPH_NOTICES:
            self.notify(_GLYPH_NOTICES[self.glyphs], severity="warning", timeout=15)
        if self.settings.notice:
            self.notify(self.settings.notice, severity="warning", timeout=15)
        if problems := self.configuration.problems:
            others = (
                f"\nand {len(problems) - 2} more: `tcptutor config check` lists them" if problems[2:] else ""
            )
            self.notify("\n".join(problems[:2]) + others, severity="warning", timeout=30)

    def get_driver_class(self) -> type[Driver]:
        return output.lean(super().get_driver_class())

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = list(super().get_line_filters())
        if self.native_ansi_color:
            filters.append(themes.TERMINAL_STYLES)
        if self.glyphs != "all":
            filters.append(_glyph_filter(self.glyphs))
        return filters

    def notify(self, message: str, *, markup: bool = False, **how: Any) -> None:  # noqa: ARG002
        """Show a message literally, with unprintable characters escaped, since it may quote a file."""
        super().notify(escaped(message, lines=True), markup=False, **how)

    def on_cursor_position(self) -> None:
        """Take the terminal's answer to a question of the line's meter."""
        self.line.take_answer()
        rate = self.line.bytes_per_s
        if rate is not None and not self._told_rate and self.line.pause_s > _SLOW_REST_S:
            self._told_rate = True
            is_remote = any(os.environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY"))
            reason = (
                f"The line to this terminal carries about {units.rate(8 * rate, 2)}"
                if is_remote
                else "This terminal, or the computer, is slow to show the screen"
            )
            self.notify(f"{reason}: charts move less often.")

    def _write_to_terminal(self, text: str) -> None:
        if self._driver is not None:
            self._driver.write(text)

    def get_key_display(self, binding: Binding) -> str:
        return KEY_NAMES.get(binding.key) or super().get_key_display(binding)

    def on_load(self) -> None:
        ScrollBar.renderer = ScrollBarRender if self.glyphs == "all" else WholeCells
        shutdown.signals.call(self.exit)
        if self.configuration.keymap:
            self.set_keymap(self.configuration.keymap)

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Exit as soon as the current screen is fully mounted.

        Textual stops mounting on `exit`, and half-mounted widgets fail.
        """
        if not self.is_leaving:
            self.prepare_exit()
            self._leave_by = time.monotonic() + _WHOLE_WITHIN
        # An answer that arrived later would be typed into the shell.
        if (self._is_half_mounted() or self.line.will_answer) and time.monotonic() < self._leave_by:
            self.set_timer(_LOOK_AGAIN, partial(self.exit, result, return_code, message))
            return
        super().exit(result, return_code, message)

    def prepare_exit(self) -> None:
        """Save or stop what cannot wait for the end. Called once, before the app begins to leave."""

    @property
    def is_leaving(self) -> bool:
        """True once the app was asked to exit."""
        return self._leave_by < math.inf

    async def on_event(self, event: events.Event) -> None:
        if self.is_leaving and isinstance(event, events.InputEvent):
            return  # a key could open another page
        if (
            isinstance(event, events.Key | events.Paste)
            # Forwarded keys have already been offered to the screen.
            and not event.is_forwarded
            and isinstance(self.screen, TutorScreen)
            and await self.screen.take(event)
        ):
            return
        await super().on_event(event)

    def _is_half_mounted(self) -> bool:
        if not self.screen_stack:
            return True
        shown = self.screen_stack[-1]
        widgets = shown.walk_children(Widget, with_self=True)
        return (isinstance(shown, TutorScreen) and not shown.is_complete) or any(
            not each.is_mounted for each in widgets
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable our keys while a terminal takes all keys."""
        return not getattr(self.focused, "takes_all_keys", False) and super().check_action(action, parameters)

    def action_keys(self) -> None:
        from tcptutor.ui.screens.dialogs import HelpScreen  # noqa: PLC0415

        if isinstance(self.screen, TutorScreen):
            self.push_screen(HelpScreen(self.screen))

    def on_resize(self, event: events.Resize) -> None:
        # Terminals move lines when their size changes.
        if forget := getattr(self._driver, "forget", None):
            forget()
        fits = event.size.width >= MINIMUM[0] and event.size.height >= MINIMUM[1]
        readable = event.size.width >= self.LEAST[0] and event.size.height >= self.LEAST[1]
        self._reads_small = self._reads_small and readable and not fits
        if isinstance(self.screen, TooSmall):
            if fits:
                self.pop_screen()
        elif not fits and not self._reads_small:
            self.push_screen(TooSmall(self.MEANWHILE, self.LEAST), self._read_small)

    def _read_small(self, _: None) -> None:
        self._reads_small = True


class WholeCells(ScrollBarRender):
    """Scroll bar of whole cells, for fonts without eighths of a block."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


class GlyphFilter(LineFilter):
    """Filter that substitutes characters in place."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        texts = substitute_line([segment.text for segment in segments], self._glyphs)
        return [
            Segment(text, segment.style, segment.control)
            for text, segment in zip(texts, segments, strict=True)
        ]


@lru_cache
def _glyph_filter(glyphs: Glyphs) -> GlyphFilter:
    """Return the shared filter: Textual caches its results per filter."""
    return GlyphFilter(glyphs)


class ShowApp(Frame):
    """Viewer of a stored run."""

    def __init__(self, run: Run, file: Path) -> None:
        super().__init__(Settings.of_user())
        self._stored, self._file = run, file

    def get_default_screen(self) -> Screen[None]:
        from tcptutor.ui.screens.stored import StoredScreen  # noqa: PLC0415  # the class viewer needs no charts

        return StoredScreen(self._stored, self._file.name, self._file)


class ClassApp(Frame):
    """Viewer of a class's results."""

    def __init__(
        self, survey: Survey, details: ClassDetails | None = None, *, anonymous: bool = False
    ) -> None:
        super().__init__(Settings.of_user())
        self._survey, self._details, self._anonymous = survey, details, anonymous

    def get_default_screen(self) -> Screen[None]:
        from tcptutor.ui.screens.classroom import ClassScreen  # noqa: PLC0415  # the run viewer needs no tables

        return ClassScreen(self._survey, self._details, hidden=self._anonymous)


def show_run(run: Run, file: Path) -> int:
    """Show `run`, stored in `file`, and return the exit code."""
    return _show(ShowApp(run, file))


def show_class(survey: Survey, details: ClassDetails, *, anonymous: bool = False) -> int:
    """Show the class and return the exit code."""
    return _show(ClassApp(survey, details, anonymous=anonymous))


def _show(app: Frame) -> int:
    app.glyphs = glyphs.for_terminal(os.environ)
    shutdown.signals.catch()
    asyncio.run(app.run_async())
    return app.return_code or 0
