"""Commands of the palette: actions of the current page, pages, terms, experiments, colors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.app import SystemCommand
from textual.command import DiscoveryHit, Hit, Provider
from textual.screen import Screen

from tcptutor.course.glossary import Term, readable_glossary
from tcptutor.course.outline import Course, Module
from tcptutor.ui import bindings
from tcptutor.ui.screens.base import Tutor
from tcptutor.ui.screens.dialogs import TermScreen
from tcptutor.ui.themes import LOOKS

if TYPE_CHECKING:
    from tcptutor.course.step import Step

_SCREEN_PREFIXES = ("lesson.", "workbench.")
"""Prefixes of the ids of screen-specific keys."""
_UNLISTED = ("app.commands", "app.quit-anywhere")


class CommandFinder(Provider):
    """Provider of palette commands.

    Actions match only at the beginnings of words, since Enter executes them at once. Navigation matches fuzzily.
    """

    async def discover(self) -> AsyncIterator[DiscoveryHit]:
        commands = [*_actions(self.screen), *_destinations(self._tutor)]
        for name, text, run, discovered in sorted(commands, key=lambda command: command.title):
            if discovered:
                yield DiscoveryHit(name, run, help=text)

    async def search(self, query: str) -> AsyncIterator[Hit]:
        matcher = self.matcher(query)
        for name, text, run, _ in _actions(self.screen):
            if _matches_word_starts(query, name):
                yield Hit(max(matcher.match(name), 1), matcher.highlight(name), run, help=text)
        for name, text, run, _ in _destinations(self._tutor):
            if score := matcher.match(name):
                yield Hit(score, matcher.highlight(name), run, help=text)

    @property
    def _tutor(self) -> Tutor:
        return cast("Tutor", self.app)


def _matches_word_starts(query: str, name: str) -> bool:
    words = name.casefold().split()
    return all(any(word.startswith(wanted) for word in words) for wanted in query.casefold().split())


def _actions(screen: Screen[Any]) -> Iterator[SystemCommand]:
    app, working = screen.app, bindings.working_keys(screen)
    actions = {active.binding.id: active.binding.action for active in screen.active_bindings.values()}
    for key in working.values():
        if not key.id.startswith((*_SCREEN_PREFIXES, "app.")) or key.id in _UNLISTED:
            continue
        action = actions[key.id]
        run: Callable[[], object] = partial(app.run_action, action)
        if key.id.startswith(_SCREEN_PREFIXES):
            run = partial(_run_action, screen, action)
        yield SystemCommand(key.short.capitalize(), f"{key.long} ({' or '.join(key.keys)})", run)
    tutor = cast("Tutor", app)
    for name, look in LOOKS.items():
        yield SystemCommand(f"Theme: {look.title}", look.about, partial(tutor.choose_theme, name))
    still = tutor.motion.off_because
    text = f"figures move; now {still}" if still else "figures stand still"
    yield SystemCommand(f"Motion {'on' if still else 'off'}", text, partial(tutor.choose_motion, bool(still)))


def _run_action(screen: Screen[Any], action: str) -> None:
    # A worker of the app: in a task of the screen, turning the page would wait for its own end.
    screen.app.run_worker(screen.run_action(action))


def _destinations(tutor: Tutor) -> Iterator[SystemCommand]:
    for module in tutor.course.modules:
        yield from _pages(module, tutor)
    yield from _terms(tutor.course, tutor)


def _pages(module: Module, tutor: Tutor) -> Iterator[SystemCommand]:
    """Yield the module, its pages and its experiments."""
    text = "; ".join(module.objectives) or "open this module"
    yield SystemCommand(f"Go to {module.number} {module.title}", text, partial(tutor.open_module, module.id))
    for number, step in enumerate(module.steps, start=1):
        title, go = f"Page {number}: {step.title}", partial(tutor.open_step, module, step)
        yield SystemCommand(title, f"{module.number} {module.title}", go)
        if experiment := step.experiment or step.sweep:
            name = experiment.name.partition("/")[2]
            text = f"{step.experiments[0].title}: page {number}, {step.title}"
            yield SystemCommand(f"Experiment {name}, page {number}", text, go)


def _terms(course: Course, tutor: Tutor) -> Iterator[SystemCommand]:
    pages = {f"{module.id}/{step.id}": (module, step) for module in course.modules for step in module.steps}
    for term in readable_glossary(course.root):
        if term.page in pages:
            also = f" ({', '.join(term.synonyms)})" if term.synonyms else ""
            show = partial(_show_term, tutor, term, *pages[term.page])
            yield SystemCommand(f"Term: {term.title}{also}", term.text, show, discover=False)


def _show_term(tutor: Tutor, term: Term, module: Module, step: Step) -> None:
    def read_on(wanted: bool | None) -> None:
        if wanted:
            tutor.open_step(module, step)

    number = module.steps.index(step) + 1
    tutor.push_screen(TermScreen(term, f"{module.number} {module.title}, page {number}"), read_on)
