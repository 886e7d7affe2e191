"""Keys in sentences: "press r to run it" names the key that the user has chosen."""

from __future__ import annotations

from collections.abc import Mapping

DEFAULTS = {
    "app.history": "H",
    "app.notebook": "E",
    "cursor.toggle": "i",
    "figure.play": "f",
    "history.restore": "u",
    "lecture.prepared": "R",
    "lecture.results": "s",
    "lecture.run": "r",
    "lecture.vote": "v",
    "lesson.again": "a",
    "lesson.chart": "c",
    "lesson.copy-command": "y",
    "lesson.deeper": "D",
    "lesson.end-terminal": "T",
    "lesson.field": "Tab",
    "lesson.follow": "g",
    "lesson.hint": "h",
    "lesson.home": "m",
    "lesson.onward": "Enter",
    "lesson.others": "O",
    "lesson.pane": "F6",
    "lesson.repeat": "R",
    "lesson.return": "Backspace",
    "lesson.run": "r",
    "lesson.skip": "x",
    "lesson.stop": "s",
    "lesson.sureness": "F2",
    "lesson.terminal": "t",
    "lesson.turn": "v",
    "lesson.type-command": "F9",
    "home.review": "v",
    "map.reset": "D",
    "review.page": "g",
    "workbench.run": "r",
}
"""Default keys of the actions that sentences name."""


class _KeysInUse:
    changed: Mapping[str, str] = {}


def use_keys(changed: Mapping[str, str]) -> None:
    """Name these keys in sentences from now on, by action; the others keep their defaults."""
    _KeysInUse.changed = changed


def key_name(action: str) -> str:
    """Return the key of an action for a sentence: "r", "F5", "ctrl+r"."""
    return _KeysInUse.changed.get(action) or DEFAULTS[action]
