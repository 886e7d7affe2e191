"""Actions of the current screen and settings, to find and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.screen import Screen

from tcptutor.study.matching import PaletteEntry
from tcptutor.ui import bindings
from tcptutor.ui.screens.base import Tutor, TutorScreen
from tcptutor.ui.themes import LOOKS
from tcptutor.ui.workers import start_worker

_SCREEN_PREFIXES = ("lesson.", "workbench.", "home.", "review.", "history.")
"""Prefixes of the ids of screen-specific keys."""
_UNLISTED = ("app.commands", "app.search", "app.quit-anywhere")


def entries(screen: TutorScreen) -> list[PaletteEntry]:
    """Return the actions of `screen`, the next step of the page at the top, and settings."""
    return [*_actions(screen), *_courses(screen.tutor), *_settings(screen.tutor, screen.app.theme)]


def _actions(screen: TutorScreen) -> Iterator[PaletteEntry]:
    app, working = screen.app, bindings.working_keys(screen)
    actions = {active.binding.id: active.binding.action for active in screen.active_bindings.values()}
    next_names = {name for key in screen.footer_keys() if key.is_next for _, name in key.keys}
    for key in sorted(working.values(), key=lambda key: not next_names & set(key.names)):
        if not key.id.startswith((*_SCREEN_PREFIXES, "app.")) or key.id in _UNLISTED:
            continue
        action = actions[key.id]
        run: Callable[[], object] = partial(app.run_action, action)
        if key.id.startswith(_SCREEN_PREFIXES):
            run = partial(_run_action, screen, action)
        title = f"{key.short[:1].upper()}{key.short[1:]}"
        yield PaletteEntry("actions", title, f"key {' or '.join(key.keys)}", key.long, run, is_offered=True)


def _run_action(screen: Screen[Any], action: str) -> None:
    # A worker of the app: in a task of the screen, turning the page would wait for its own end.
    start_worker(screen.app, screen.run_action, action)


def _courses(tutor: Tutor) -> Iterator[PaletteEntry]:
    others = tutor.course_switch.others() if tutor.course_switch else []
    titles = Counter(course.title for course in others)
    for course in others:
        # Two versions of a course, or a copy, may have one title.
        name = course.title if titles[course.title] == 1 else f"{course.title} ({course.id})"
        about = "it has its own journal and marks; this course stays as it is"
        go = partial(tutor.change_course, course)
        yield PaletteEntry("actions", f"Change to {name}", "course", about, go, is_offered=True)


def _settings(tutor: Tutor, theme: str) -> Iterator[PaletteEntry]:
    """Yield entries for settings; `theme` is the name of the current theme."""
    for name, look in LOOKS.items():
        choose = partial(tutor.choose_theme, name)
        kind = "setting, now" if look.theme.name == theme else "setting"
        yield PaletteEntry("settings", f"Theme: {look.title}", kind, look.about, choose, is_offered=True)
    in_words = tutor.settings.figures_in_words
    yield PaletteEntry(
        "settings",
        "Figures drawn" if in_words else "Figures in words",
        "setting",
        "now described in sentences"
        if in_words
        else "for a screen reader: what a figure shows, in sentences",
        partial(tutor.choose_words, not in_words),
        is_offered=True,
    )
    for minutes in (15, 30, 60, 0):
        title = f"Goal for a day: {minutes} min" if minutes else "No goal for a day"
        kind = "setting, now" if minutes == tutor.settings.daily_minutes else "setting"
        about = "home shows how much of it is done today" if minutes else "home shows the time you spent"
        yield PaletteEntry("settings", title, kind, about, partial(tutor.choose_daily_minutes, minutes))
    rings = tutor.settings.bell
    yield PaletteEntry(
        "settings",
        "No bell at the end of a long run" if rings else "Bell at the end of a long run",
        "setting",
        "now the terminal's bell rings" if rings else "of a run or a sweep of ten seconds or more",
        partial(tutor.choose_bell, not rings),
    )
    still = tutor.motion.off_because
    about = f"figures move; now {still}" if still else "figures stand still"
    turn = partial(tutor.choose_motion, bool(still))
    yield PaletteEntry(
        "settings", f"Motion {'on' if still else 'off'}", "setting", about, turn, is_offered=True
    )
