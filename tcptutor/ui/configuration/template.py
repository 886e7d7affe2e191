"""The commented configuration file that `tcptutor config write` writes: each default, turned off by a #."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import wrap

from tcptutor.ui.configuration.actions import PLACES, ActionTable, KeyAction
from tcptutor.ui.configuration.config_file import SETTINGS
from tcptutor.ui.configuration.spelling import written_key

_WIDTH = 100
_HEAD = """\
# Configuration of tcptutor. A line counts once you delete the # before it.
# After a change: `tcptutor config check` finds mistakes, `tcptutor config` shows what is in effect.

# Settings. A setting here counts more than the choice made in the app (ctrl+p), which then lasts until you quit.
# The file of a whole machine, {site}, only replaces the defaults.
"""
_KEYS = """
# Keys. Write a character ("r", "R", "?"), or a name: "f5", "ctrl+r", "alt+x", "pageup", "insert".
# A list gives an action several keys: ["r", "f5"]. Sentences and footers show the first.
# ctrl+q and ctrl+c always quit, and Esc always goes back. Arrows, Space, Enter and Tab stay with texts and lists.
# Two actions of one screen cannot share a key: to swap two keys, change both lines.

[keys]
"""


def key_line(action: KeyAction, keys: tuple[str, ...] = ()) -> str:
    """Return the line of an action with these keys, by default its own: `lesson.run = "r"`."""
    written = [json.dumps(written_key(key), ensure_ascii=False) for key in keys or action.keys]
    return f"{action.id} = {written[0] if len(written) == 1 else '[' + ', '.join(written) + ']'}"


def template(table: ActionTable, site: str) -> str:
    """Return the file; `site` is the name of the machine's file."""
    return "\n".join([_HEAD.format(site=site), *_settings(), _KEYS, *_keys(table), ""])


def _settings() -> Iterator[str]:
    for setting in SETTINGS:
        yield f"# {setting.about[:1].upper()}{setting.about[1:]} ({setting.values})"
        yield f"#{setting.name} = {setting.default}"


def _keys(table: ActionTable) -> Iterator[str]:
    before = ""
    for action in table.changeable:
        if action.group != before:
            yield f"\n# In {PLACES[action.group]}" if before else f"# {PLACES[action.group].capitalize()}"
        before = action.group
        line = f"#{key_line(action)}"
        about = wrap(f"# {action.about}", _WIDTH - 34, subsequent_indent="# ")
        yield f"{line:<34}{about[0]}"
        yield from (" " * 34 + rest for rest in about[1:])
