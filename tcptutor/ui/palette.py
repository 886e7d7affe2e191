"""What the palette finds: what the page in front can do, pages, terms, experiments, colours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from textual.app import SystemCommand
from textual.screen import Screen

from tcptutor.course.glossary import glossary
from tcptutor.course.model import Course, Module
from tcptutor.ui import keys
from tcptutor.ui.screens.base import Tutor
from tcptutor.ui.themes import DARK, LIGHT


def commands(screen: Screen[Any], tutor: Tutor) -> Iterator[SystemCommand]:
    """All that can be found while `screen` is in front."""
    yield from _keys(screen)
    for module in tutor.course.modules:
        yield from _pages(module, tutor)
    yield from _terms(tutor.course, tutor)
    for theme in (DARK, LIGHT):
        name = "Dark" if theme.dark else "Light"
        use = partial(setattr, screen.app, "theme", theme.name)
        yield SystemCommand(f"{name} colours", "high contrast", use)


def _keys(screen: Screen[Any]) -> Iterator[SystemCommand]:
    app, working = screen.app, keys.working(screen)
    actions = {active.binding.id: active.binding.action for active in screen.active_bindings.values()}
    for key in working.values():
        if key.id.startswith(("lesson.", "app.")) and key.id not in ("app.commands", "app.quit-anywhere"):
            run = partial(
                screen.run_action if key.id.startswith("lesson.") else app.run_action, actions[key.id]
            )
            yield SystemCommand(key.short.capitalize(), f"{key.long} ({' or '.join(key.keys)})", run)


def _pages(module: Module, tutor: Tutor) -> Iterator[SystemCommand]:
    """The module, its pages, and where its experiments are run."""
    text = "; ".join(module.objectives) or "open this module"
    yield SystemCommand(f"Go to {module.number} {module.title}", text, partial(tutor.open_module, module.id))
    for number, step in enumerate(module.steps, start=1):
        title, go = f"Page {number}: {step.title}", partial(tutor.open_step, module, step)
        yield SystemCommand(title, f"{module.number} {module.title}", go)
        if step.experiment:
            name = step.experiment.name.partition("/")[2]
            text = f"{step.experiment.experiment.title}: page {number}, {step.title}"
            yield SystemCommand(f"Experiment {name}, page {number}", text, go)


def _terms(course: Course, tutor: Tutor) -> Iterator[SystemCommand]:
    """Each leads to where it is explained; only found by name, since there are many."""
    for term in glossary(course):
        go = partial(tutor.open_step, term.module, term.step)
        yield SystemCommand(f"Term: {term.word}", term.sentence, go, discover=False)
