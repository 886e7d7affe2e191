"""The keys as they are bound now, for footer and help: a remapped key shows as remapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual.screen import Screen


@dataclass(frozen=True)
class Key:
    """A binding that works now."""

    id: str
    keys: tuple[str, ...]
    """As they are shown: "→", "n"."""
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
        before = found[binding.id].keys if binding.id in found else ()
        found[binding.id] = Key(
            binding.id, (*before, shown), binding.description, binding.tooltip or binding.description
        )
    # What this page does comes first, what always works last.
    return dict(sorted(found.items(), key=lambda item: item[0].startswith("app.")))


def line(screen: Screen[Any], wanted: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """(key, what it does) for a footer: `wanted` has ids (several parted by blanks) and a word for each."""
    keys = working(screen)
    result = []
    for ids, word in wanted:
        shown = [keys[each].keys[0] for each in ids.split() if each in keys]
        if shown:
            result.append((" ".join(shown), word))
    return tuple(result)
