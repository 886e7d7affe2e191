"""The keys as they are bound now, for the bottom line, the help and the command palette: a remapped key shows so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from textual.app import SystemCommand
from textual.screen import Screen

from tcptutor.course.model import Module
from tcptutor.ui.themes import DARK, LIGHT


@dataclass(frozen=True)
class Key:
    """A binding that works now."""

    id: str
    keys: tuple[str, ...]
    """As they are shown: "→", "n"."""
    names: tuple[str, ...]
    """As Textual calls them: "right", "n"."""
    short: str
    long: str


def working(screen: Screen[Any]) -> dict[str, Key]:
    """The keys with an id that do something on `screen` now, by id, in the order in which they are bound."""
    found: dict[str, Key] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if not binding.id or not active.enabled or not binding.show:
            continue
        shown = screen.app.get_key_display(binding)
        before = found.get(binding.id)
        found[binding.id] = Key(
            binding.id,
            (*(before.keys if before else ()), shown),
            (*(before.names if before else ()), binding.key),
            binding.description,
            binding.tooltip or binding.description,
        )
    # What this page does comes first, what always works last.
    return dict(sorted(found.items(), key=lambda item: item[0].startswith("app.")))


class FooterKey(NamedTuple):
    """An entry of the bottom line: one key or several, and a word for what they do."""

    keys: tuple[tuple[str, str], ...]
    """(as it is shown, as Textual calls it); a click presses it."""
    word: str


def line(screen: Screen[Any], wanted: tuple[tuple[str, str], ...]) -> tuple[FooterKey, ...]:
    """The entries of a footer: `wanted` has ids (several parted by blanks) and a word for each."""
    keys = working(screen)
    result = []
    for ids, word in wanted:
        found = [keys[each] for each in ids.split() if each in keys]
        if found:
            result.append(FooterKey(tuple((key.keys[0], key.names[0]) for key in found), word))
    return tuple(result)


def commands(
    screen: Screen[Any], modules: Iterable[Module], open_module: Callable[[str], None]
) -> Iterator[SystemCommand]:
    """What the command palette offers on `screen`: what its page can do, every module, the themes, leaving."""
    app = screen.app
    for key in working(screen).values():
        if key.id.startswith(("lesson.", "app.")) and key.id not in ("app.commands", "app.quit-anywhere"):
            action = next(
                active.binding.action
                for active in screen.active_bindings.values()
                if active.binding.id == key.id
            )
            run = partial(screen.run_action if key.id.startswith("lesson.") else app.run_action, action)
            yield SystemCommand(key.short.capitalize(), f"{key.long} ({' or '.join(key.keys)})", run)
    for module in modules:
        text = "; ".join(module.objectives) or "open this module"
        yield SystemCommand(f"Go to {module.number} {module.title}", text, partial(open_module, module.id))
    for theme in (DARK, LIGHT):
        name = "Dark" if theme.dark else "Light"
        yield SystemCommand(f"{name} colours", "high contrast", partial(setattr, app, "theme", theme.name))
