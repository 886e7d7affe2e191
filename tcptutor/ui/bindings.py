"""The keys as they are bound now, for the bottom line, the help and the palette: a remapped key shows so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from textual.screen import Screen


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


def working_keys(screen: Screen[Any]) -> dict[str, Key]:
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


def footer_entries(screen: Screen[Any], wanted: tuple[tuple[str, str], ...]) -> tuple[FooterKey, ...]:
    """The entries of a footer: `wanted` has ids (several parted by blanks) and a word for each."""
    keys = working_keys(screen)
    result = []
    for ids, word in wanted:
        found = [keys[each] for each in ids.split() if each in keys]
        if found:
            result.append(FooterKey(tuple((key.keys[0], key.names[0]) for key in found), word))
    return tuple(result)
