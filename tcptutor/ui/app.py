"""The application: owns the course, the journal and the bench, and passes facts on to the screens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import ClassVar

from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tcptutor import places
from tcptutor.course.model import Course, Module, Step
from tcptutor.errors import LabUnavailable
from tcptutor.journal import Journal
from tcptutor.ui import leaving, pages, themes
from tcptutor.ui.bench import Bench
from tcptutor.ui.lab import LabLike
from tcptutor.ui.messages import LabChanged, RunEnded, RunMoved
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.home import HomeScreen
from tcptutor.ui.screens.small import MINIMUM, TooSmall

KEY_NAMES = {"escape": "Esc", "enter": "Enter", "space": "Space", "f1": "F1"}
"""As they stand on a keyboard, and as our sentences call them."""


class TutorApp(App[None]):
    """tcptutor."""

    CSS_PATH = places.assets() / "ui" / "tutor.tcss"
    TITLE = "tcptutor"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "keys", "keys", id="app.keys", tooltip="this list of keys"),
        Binding(
            "ctrl+p",
            "command_palette",
            "commands",
            id="app.commands",
            priority=True,
            tooltip="find a page or a command by name",
        ),
        Binding("q", "quit", "quit", id="app.quit", tooltip="leave; everything is kept"),
        Binding(
            "ctrl+q,ctrl+c",
            "quit",
            "quit",
            id="app.quit-anywhere",
            priority=True,
            tooltip="leave, also while typing",
        ),
    ]

    def __init__(
        self,
        course: Course,
        journal: Journal,
        lab: LabLike,
        *,
        problems: tuple[str, ...] = (),
        module: str | None = None,
    ) -> None:
        super().__init__()
        # A scroll that glides costs a screen of bytes for each step of the glide: nothing for SSH.
        self.animation_level = "none"
        self.course, self.journal, self.problems = course, journal, problems
        self.bench = Bench(lab, journal, self.post_message)
        self._open_at = module

    def get_key_display(self, binding: Binding) -> str:
        return KEY_NAMES.get(binding.key) or super().get_key_display(binding)

    def get_default_screen(self) -> Screen[None]:
        return HomeScreen()

    def on_mount(self) -> None:
        for theme in (themes.DARK, themes.LIGHT):
            self.register_theme(theme)
        self.theme = themes.DARK.name
        leaving.on_signals(self.exit)
        if self._open_at:
            self.open_module(self._open_at)
        # After the first frame: nobody should wait for the lab or the plotting library to read.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        from tcptutor.ui.widgets.bench import plot  # noqa: PLC0415

        self.run_worker(self._warm(), group="lab")
        self.run_worker(plot.preload, thread=True, group="preload")

    async def _warm(self) -> None:
        # The bench has said so; pages and questions work without a lab.
        with contextlib.suppress(LabUnavailable):
            await self.bench.warm()

    # Going places

    def open_module(self, module: str) -> None:
        """Where the student left the module, else its first page that is not done."""
        found = next(each for each in self.course.modules if each.id == module)
        step = pages.resume(self.journal, found)
        if step is None:
            self.notify("None of its pages can be read: `tcptutor lint` says why.", severity="error")
        else:
            self.open_step(found, step)

    def open_step(self, module: Module, step: Step) -> None:
        """Show a page, in place of the page that is shown."""
        from tcptutor.ui.screens.lesson import LessonScreen  # noqa: PLC0415  # Markdown is slow to import

        lesson = LessonScreen(module, step)
        if isinstance(self.screen, LessonScreen):
            self.switch_screen(lesson)
        else:
            self.push_screen(lesson)

    def action_keys(self) -> None:
        from tcptutor.ui.screens.help import HelpScreen  # noqa: PLC0415

        if isinstance(self.screen, TutorScreen):
            self.push_screen(HelpScreen(self.screen))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        from tcptutor.ui import commands  # noqa: PLC0415

        yield from commands.of(self, screen)

    # Facts from below

    @on(LabChanged)
    def _lab_changed(self) -> None:
        for screen in self._tutor_screens():
            screen.show_lab()

    def on_run_moved(self, message: RunMoved) -> None:
        # Only what is in front: a screen behind it would lay itself out, and all lines be written again.
        if isinstance(self.screen, TutorScreen):
            self.screen.run_moved(message.live)

    def on_run_ended(self, message: RunEnded) -> None:
        for screen in self._tutor_screens():
            screen.run_ended(message.live)

    def on_resize(self, event: events.Resize) -> None:
        fits = event.size.width >= MINIMUM[0] and event.size.height >= MINIMUM[1]
        if fits and isinstance(self.screen, TooSmall):
            self.pop_screen()
        elif not fits and not isinstance(self.screen, TooSmall):
            self.push_screen(TooSmall())

    def _tutor_screens(self) -> Iterable[TutorScreen]:
        return (screen for screen in self.screen_stack if isinstance(screen, TutorScreen))
