"""The keys that a configuration file changes: checked against the keys of each screen.

An entry that cannot work is left out, and its action keeps its default keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tcptutor.base.errors import UsageError, quoted, unknown
from tcptutor.ui.configuration.actions import ActionTable
from tcptutor.ui.configuration.spelling import character_of, parse_key, shown_key

ALWAYS = "escape"
"""Key that leaves every screen and dialog; an action that has it keeps it."""
RESERVED = {
    "escape": "it always goes back",
    "ctrl+q": "it always quits",
    "ctrl+c": "it always quits",
    "ctrl+z": "it always suspends the app",
}
MOVING = frozenset({
    "up", "down", "left", "right", "space", "enter", "tab", "shift+tab", "home", "end", "pageup", "pagedown",
    "backspace", "delete",
})  # fmt: skip
"""Keys that texts, lists and fields need."""
_EDITING = frozenset({f"ctrl+{letter}" for letter in "adefkuvwx"})
"""Keys that edit a line in a field or a shell."""
_DISABLED_IN_FIELDS = frozenset({"lesson.onward", "lesson.return"})
"""Actions that a field disables, although no default key of theirs types a character."""
_LECTURES = ("lecture.", "stage.", "notes.")
"""Prefixes of actions on screens without fields or lists."""
FOLLOWERS = {
    "answers.close": "lesson.answers", "command.close": "workbench.command", "export.close": "history.export",
    "find.close": "app.commands", "glossary.close": "app.terms", "help.close": "app.keys", "map.close": "app.pages",
    "network.close": "lesson.network", "rules.close": "app.marks", "slides.close": "lecture.list",
    "workbench.back": "app.bench",
}  # fmt: skip
"""Actions that close the panel or screen opened by the other action, with the same key."""


LEADERS = {
    "overlay.turn": "lesson.turn", "review.hint": "lesson.hint", "review.sureness": "lesson.sureness",
    "stored.turn": "lesson.turn", "what-if.stop": "lesson.stop", "what-if.turn": "lesson.turn",
    "workbench.run": "lesson.run", "workbench.stop": "lesson.stop", "workbench.view": "lesson.turn",
}  # fmt: skip
"""Actions that always have the key of the same action on a page."""


class KeyEntry(NamedTuple):
    """An entry of the table [keys]."""

    id: str
    keys: tuple[str, ...]
    """As written."""
    where: str
    """File and line."""


class ResolvedKeys(NamedTuple):
    """The changes that work, and a line for each entry that does not."""

    changes: dict[str, tuple[str, ...]]
    """New keys by action, as Textual names them."""
    problems: tuple[str, ...]


def resolve(table: ActionTable, entries: Iterable[KeyEntry]) -> ResolvedKeys:
    """Check entries in order; a later entry replaces an earlier entry of the same action."""
    problems, changes, places = list[str](), dict[str, tuple[str, ...]](), dict[str, str]()
    for entry in entries:
        try:
            changes[entry.id] = _checked(table, entry)
            places[entry.id] = entry.where
        except UsageError as error:
            problems.append(f"{entry.where}: {error}")
    while clash := next(_clashes(table, changes), None):
        id, key, other, screen = clash
        del changes[id]
        kept = " ".join(map(shown_key, table.by_id[id].keys))
        problems.append(
            f"{places[id]}: {shown_key(key)} is already {other} on the screen {screen}: give {other} another key "
            f"first; {id} keeps {kept}"
        )
    return ResolvedKeys(
        {id: keys for id, keys in changes.items() if keys != table.by_id[id].keys}, (*problems,)
    )


def _checked(table: ActionTable, entry: KeyEntry) -> tuple[str, ...]:
    """Return the keys of an entry as Textual names them. Raises UsageError."""
    action = table.by_id.get(entry.id)
    if action is None:
        names = [each.id for each in table.changeable]
        raise UsageError(unknown("action", entry.id, names, "`tcptutor config keys` lists all"))
    if entry.id in LEADERS:
        raise UsageError(f"{entry.id} has the keys of {LEADERS[entry.id]}: change that instead")
    if not action.about:
        raise UsageError(f"the keys of {entry.id} are fixed: delete this line")
    if not entry.keys:
        raise UsageError(f"{entry.id} needs a key: to keep its default, delete this line")
    keys = tuple(dict.fromkeys(map(parse_key, entry.keys)))
    for key in keys:
        _check_key(entry.id, key, action.keys)
    return (*keys, ALWAYS) if ALWAYS in action.keys and ALWAYS not in keys else keys


def _check_key(id: str, key: str, defaults: Sequence[str]) -> None:
    if key in defaults:
        return
    if key in RESERVED:
        raise UsageError(
            f"{shown_key(key)} cannot be the key of {id}, since {RESERVED[key]}: use another key"
        )
    if id.startswith(_LECTURES):
        return
    if key in MOVING:
        raise UsageError(f"texts, lists and fields need {shown_key(key)}: use another key for {id}")
    works_in_fields = id not in _DISABLED_IN_FIELDS and not any(map(character_of, defaults))
    if works_in_fields and (character_of(key) or key in _EDITING):
        raise UsageError(
            f"fields need {quoted(shown_key(key))}, and {id} also works in a field: use a key such as F5 or ctrl+o"
        )


def _clashes(
    table: ActionTable, changes: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield (changed action, key, other action, screen) for keys that two actions of a screen would share.

    The last changed action comes first. Actions that share a key by default are never active at once.
    """
    actions = table.by_id
    for id in reversed([*changes]):
        for member in _members(id):
            for screen, others in table.screens.items():
                for other in others if member in others else ():
                    if (
                        LEADERS.get(other, other) == id
                        or FOLLOWERS.get(other) == id
                        or FOLLOWERS.get(id) == other
                    ):
                        continue
                    shared = {*changes[id]} & {*changes.get(LEADERS.get(other, other), actions[other].keys)}
                    for key in sorted(shared - ({*actions[member].keys} & {*actions[other].keys})):
                        yield id, key, other, screen


def _members(id: str) -> tuple[str, ...]:
    return (id, *(member for member, leader in LEADERS.items() if leader == id))


def textual_keymap(table: ActionTable, changes: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the keymap for `App.set_keymap`.

    Textual removes a changed key with all its bindings. The keymap therefore repeats the keys of actions that share
    a key with a changed action. Followers of a changed action get its keys.
    """
    if not changes:
        return {}
    actions = table.by_id
    keymap = {member: keys for id, keys in changes.items() for member in _members(id)}
    for follower, opener in FOLLOWERS.items():
        if opener in changes and follower in actions and follower not in keymap:
            taken = {
                key
                for others in table.screens.values()
                if follower in others
                for other in others
                if other not in (follower, opener)
                for key in keymap.get(other, actions[other].keys)
            }
            own = (key for key in actions[follower].keys if key not in actions[opener].keys or key == ALWAYS)
            new = (key for key in changes[opener] if key not in taken)
            keymap[follower] = tuple(dict.fromkeys((*own, *new)))
    pending = list(keymap)
    while pending:
        id = pending.pop()
        for others in table.screens.values():
            if id in others:
                for other in others:
                    if other not in keymap and {*actions[other].keys} & {*actions[id].keys, *keymap[id]}:
                        keymap[other] = actions[other].keys
                        pending.append(other)
    return {id: ",".join(keys) for id, keys in keymap.items()}
