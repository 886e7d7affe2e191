"""What the palette finds: actions of the current page, pages and their text, terms, experiments, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.screen import Screen

from tcptutor.course.glossary import Term, readable_glossary
from tcptutor.course.outline import Course, Module
from tcptutor.course.step import Step
from tcptutor.ui import bindings
from tcptutor.ui.matching import PaletteEntry
from tcptutor.ui.screens.base import Tutor, TutorScreen
from tcptutor.ui.screens.dialogs import TermScreen
from tcptutor.ui.screens.module_end import module_end
from tcptutor.ui.themes import LOOKS

_SCREEN_PREFIXES = ("lesson.", "workbench.", "home.", "review.", "history.")
"""Prefixes of the ids of screen-specific keys."""
_UNLISTED = ("app.commands", "app.quit-anywhere")


def entries(screen: TutorScreen) -> list[PaletteEntry]:
    """Return all that can be found from `screen`, actions first, the next step of the page at the top."""
    tutor = screen.tutor
    found = [*_actions(screen)]
    for module in tutor.course.modules:
        found += _pages(module, tutor)
    return [*found, *_terms(tutor.course, tutor), *_settings(tutor, screen.app.theme)]


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
    screen.app.run_worker(screen.run_action(action))


def _pages(module: Module, tutor: Tutor) -> Iterator[PaletteEntry]:
    """Yield the module, its pages and its experiments."""
    about = "; ".join(module.objectives) or "open this module"
    go: Callable[[], object] = partial(tutor.open_module, module.id)
    yield PaletteEntry("pages", module.title, f"module {module.number}", about, go, is_offered=True)
    if tutor.journal.record.has_visited(module.id):
        yield _summary(module, tutor)
    for number, step in enumerate(module.steps, start=1):
        go = partial(tutor.open_step, module, step)
        at = f"{module.number}.{number}"
        about = step.subtitle or f"{module.number} {module.title}"
        yield PaletteEntry(
            "pages", step.title, f"page {at}", about, go, text=f"{step.prose} {step.after_run}"
        )
        if experiment := step.experiment or step.sweep:
            about = f"{step.experiments[0].title}: {step.title}"
            yield PaletteEntry("experiments", experiment.name.partition("/")[2], f"page {at}", about, go)


def _summary(module: Module, tutor: Tutor) -> PaletteEntry:
    about = "what you can do now, your best and worst predictions, your error over time"

    def show() -> None:
        tutor.push_screen(module_end(tutor, module, "close"), lambda _: None)

    return PaletteEntry("pages", f"Summary of {module.title}", f"module {module.number}", about, show)


def _terms(course: Course, tutor: Tutor) -> Iterator[PaletteEntry]:
    pages = {f"{module.id}/{step.id}": (module, step) for module in course.modules for step in module.steps}
    for term in readable_glossary(course.root):
        if term.page in pages:
            also = f" ({', '.join(term.synonyms)})" if term.synonyms else ""
            show = partial(_show_term, tutor, term, *pages[term.page])
            yield PaletteEntry("terms", f"{term.title}{also}", "term", term.text, show)


def _show_term(tutor: Tutor, term: Term, module: Module, step: Step) -> None:
    def read_on(wanted: bool | None) -> None:
        if wanted:
            tutor.open_step(module, step)

    number = module.steps.index(step) + 1
    tutor.push_screen(TermScreen(term, f"{module.number} {module.title}, page {number}"), read_on)


def _settings(tutor: Tutor, theme: str) -> Iterator[PaletteEntry]:
    """Yield what can be set; `theme` is the name of the current theme."""
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
    still = tutor.motion.off_because
    about = f"figures move; now {still}" if still else "figures stand still"
    turn = partial(tutor.choose_motion, bool(still))
    yield PaletteEntry(
        "settings", f"Motion {'on' if still else 'off'}", "setting", about, turn, is_offered=True
    )
