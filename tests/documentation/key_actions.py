"""The table of actions and keys that the configuration file may change: assets/ui/actions.json."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from typing import Any

import msgspec
from textual.binding import Binding
from textual.dom import DOMNode

import tcptutor.ui
from tcptutor.base import places
from tcptutor.ui.app import TutorApp
from tcptutor.ui.configuration.actions import ActionTable, KeyAction
from tcptutor.ui.configuration.keymap import FOLLOWERS, LEADERS
from tcptutor.ui.frame import Frame
from tcptutor.ui.present.lecture_app import LectureApp
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.terminal.terminal import Terminal

PAGE = places.assets() / "ui" / "actions.json"

SCREENS = {
    "HomeScreen": "home", "LessonScreen": "page", "MapScreen": "pages", "GlossaryScreen": "terms",
    "HistoryScreen": "runs", "WorkbenchScreen": "bench", "ReviewScreen": "review", "WhatIfScreen": "what-if",
    "PacketStepsScreen": "packets", "OpenedRunScreen": "run", "StoredScreen": "run-file",
    "ComparisonScreen": "comparison", "OverlayScreen": "overlay", "ClassScreen": "class",
    "StudentScreen": "student", "HandInRunScreen": "student-run", "StageScreen": "lecture",
    "NotesScreen": "notes",
}  # fmt: skip
"""Names of the screens whose keys can be changed, by class."""
_UNCHANGEABLE = ("app.quit-anywhere", "app.suspend")


def classes() -> dict[str, type[DOMNode]]:
    """Return the classes of the app with bindings of their own or inherited, by name."""
    for module in pkgutil.walk_packages(tcptutor.ui.__path__, "tcptutor.ui."):
        importlib.import_module(module.name)
    ours = [each for each in _below(DOMNode) if each.__module__.startswith("tcptutor.")]
    # In an order that does not depend on what was imported first.
    return {each.__name__: each for each in sorted(ours, key=lambda each: (each.__module__, each.__name__))}


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def bindings_of(kind: type[DOMNode]) -> list[Binding]:
    """Return the bindings of a class that have ids, a binding for each key."""
    return [binding for _, binding in kind._merge_bindings() if binding.id]


def table() -> ActionTable:
    """Return the table as it follows from the bindings."""
    found = classes()
    keys: dict[str, dict[str, None]] = {}
    about: dict[str, str] = {}
    screens: dict[str, tuple[str, ...]] = {}
    dialogs = {name: name for name, kind in found.items() if _is_closed_by_opener(kind)}
    for name, screen in (SCREENS | dialogs).items():
        kind = found[name]
        bindings = bindings_of(kind)
        if screen == "page":
            bindings += bindings_of(Terminal)
        if issubclass(kind, TutorScreen):
            bindings += bindings_of(LectureApp if ".present." in kind.__module__ else TutorApp)
            bindings += bindings_of(Frame)
        for binding in bindings:
            assert binding.id
            keys.setdefault(binding.id, {})[binding.key] = None
            is_changeable = name in SCREENS and binding.description and binding.id not in _UNCHANGEABLE
            if is_changeable and binding.id not in FOLLOWERS | LEADERS and not about.get(binding.id):
                about[binding.id] = binding.tooltip or binding.description
        screens[screen] = tuple(dict.fromkeys(binding.id for binding in bindings if binding.id))
    order = _declared_keys(found)
    actions = tuple(
        KeyAction(id, tuple(sorted(keys[id], key=order[id].index)), about.get(id, "")) for id in keys
    )
    return ActionTable(actions, screens)


def _declared_keys(found: dict[str, type[DOMNode]]) -> dict[str, list[str]]:
    """Return the keys of each action in the order of their declaration: Textual's own come first in its maps."""
    declared: dict[str, list[str]] = {}
    for kind in found.values():
        for binding in Binding.make_bindings(kind.__dict__.get("BINDINGS", ())):
            declared.setdefault(binding.id or "", []).append(binding.key)
    return declared


def _is_closed_by_opener(kind: type[DOMNode]) -> bool:
    return not issubclass(kind, TutorScreen) and any(binding.id in FOLLOWERS for binding in bindings_of(kind))


def page() -> str:
    """Return the content of the file, an action or a screen in each line."""
    found = table()
    actions = ",\n".join(msgspec.json.encode(action).decode() for action in found.actions)
    screens = ",\n".join(
        f"{json.dumps(name)}:{msgspec.json.encode(ids).decode()}" for name, ids in found.screens.items()
    )
    return f'{{"actions":[\n{actions}\n],"screens":{{\n{screens}\n}}}}\n'
