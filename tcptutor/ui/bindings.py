"""Keys as currently bound, for footer, help and palette; remapped keys are shown as remapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from textual.binding import Binding
from textual.screen import Screen

_PINNED = "app.keys"
"""Key that lists all others."""

Entries = tuple[tuple[str, str], ...]
"""(ids of bindings separated by blanks, label) of a footer, in order."""


def priority(keys: str, action: str, label: str, id: str, tooltip: str) -> Binding:
    """Return a binding that works regardless of the focused widget."""
    return Binding(keys, action, label, priority=True, id=id, tooltip=tooltip)


@dataclass(frozen=True)
class Key:
    """A binding that is enabled now."""

    id: str
    keys: tuple[str, ...]
    """Display names: "→", "n"."""
    names: tuple[str, ...]
    """Textual's names: "right", "n"."""
    short: str
    long: str


def working_keys(screen: Screen[Any]) -> dict[str, Key]:
    """Return the enabled keys on `screen` by id, in binding order, with keys that work everywhere last."""
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
    return dict(sorted(found.items(), key=lambda item: item[0].startswith("app.")))


class FooterKey(NamedTuple):
    """A footer entry: its keys and their label."""

    keys: tuple[tuple[str, str], ...]
    """(display name, Textual's name); a click presses the key."""
    word: str
    is_next: bool = False
    """True for the next step, which is highlighted."""
    is_pinned: bool = False
    """True if the entry is always shown."""


def footer_entries(screen: Screen[Any], wanted: Entries, following: str = "") -> tuple[FooterKey, ...]:
    """Return footer entries for the enabled keys among `wanted`; `following` are the ids of the next step."""
    keys = working_keys(screen)
    result = []
    for ids, word in wanted:
        found = [keys[each] for each in ids.split() if each in keys]
        if found:
            shown = tuple((key.keys[0], key.names[0]) for key in found)
            result.append(FooterKey(shown, word, ids == following, ids == _PINNED))
    return tuple(result)
