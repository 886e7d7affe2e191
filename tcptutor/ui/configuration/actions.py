"""The actions that have keys, as a table: reading it is a hundred times faster than importing all screens."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from tcptutor.base import decoding, places

PLACES = {
    "app": "everywhere", "home": "home", "lesson": "a page", "cursor": "the cursor in a chart",
    "figure": "a moving figure",
    "terminal": "the terminal of a page", "map": "all pages", "glossary": "terms", "history": "runs",
    "workbench": "the bench", "review": "questions that are due", "steps": "packets, step by step",
    "what-if": "a what-if", "stored": "a stored run", "overlay": "runs over each other",
    "comparison": "two runs compared", "table": "tables of a class", "class": "a class",
    "lecture": "a lecture", "stage": "a lecture's stage", "notes": "a lecture's notes",
}  # fmt: skip
"""Where the actions of each first word work."""


class KeyAction(msgspec.Struct, frozen=True):
    """An action of the app and its default keys."""

    id: str
    """Id of its bindings: "lesson.run"."""
    keys: tuple[str, ...]
    """Default keys, as Textual names them."""
    about: str = ""
    """Single-line description; empty for an action with fixed keys."""

    @property
    def group(self) -> str:
        """The first word of its id, a key of `PLACES`."""
        return self.id.partition(".")[0]


class ActionTable(msgspec.Struct, frozen=True):
    """All actions, written by `python -m tests.documentation keys` from the bindings of the screens."""

    actions: tuple[KeyAction, ...]
    screens: dict[str, tuple[str, ...]]
    """Ids of the actions that can be active at the same time, by screen, including the screen's widgets."""

    @property
    def by_id(self) -> dict[str, KeyAction]:
        return {action.id: action for action in self.actions}

    @property
    def changeable(self) -> tuple[KeyAction, ...]:
        """The actions whose keys can be changed, by the places where they work."""
        found = (action for action in self.actions if action.about)
        return tuple(sorted(found, key=lambda action: [*PLACES].index(action.group)))


@lru_cache
def load_actions() -> ActionTable:
    """Return the table of this installation."""
    return decoding.decode_json((places.assets() / "ui" / "actions.json").read_bytes(), ActionTable)
