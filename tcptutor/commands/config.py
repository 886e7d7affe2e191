"""`tcptutor config`: the configuration file, its settings, and its mistakes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby

from tcptutor.base import files, places
from tcptutor.base.errors import TutorError, UsageError, refused
from tcptutor.commands.output import count, print_files, print_json, print_lines, remark, toned, warn
from tcptutor.commands.targets import check_regular
from tcptutor.journal.saved import Settings
from tcptutor.ui.configuration.actions import PLACES, load_actions
from tcptutor.ui.configuration.config_file import SETTINGS, ConfigFile
from tcptutor.ui.configuration.configuration import Configuration, load_configuration
from tcptutor.ui.configuration.spelling import shown_key
from tcptutor.ui.configuration.template import key_line, template

_ELSEWHERE = "set XDG_CONFIG_HOME to a folder that can be written"


def show_configuration(as_json: bool) -> int:
    """Print the file and the settings and changed keys in effect, and return the exit code."""
    configuration = load_configuration()
    settings = Settings.of_user()
    configuration.apply_to(settings)
    values = {each.name: getattr(settings, each.name) for each in SETTINGS}
    values["theme"] = values["theme"] or "dark"
    origins = {name: _origin(configuration, settings, name) for name in values}
    if settings.notice:
        warn(settings.notice)
    actions = load_actions().by_id
    if as_json:
        print_json({
            "file": str(configuration.own.path), "exists": configuration.own.exists,
            "settings": {name: {"value": value, "from": origins[name]} for name, value in values.items()},
            "keys": {id: [shown_key(key) for key in keys] for id, keys in configuration.keys.items()},
            "problems": list(configuration.problems),
        })  # fmt: skip
        return 0
    state = "" if configuration.own.exists else "  (not there: `tcptutor config write` writes it)"
    lines = [f"file: {configuration.own.path}{state}"]
    lines += [f"file of this machine: {configuration.site.path}"] if configuration.site.exists else []
    lines.append("")
    for name, value in values.items():
        shown = str(value).lower() if isinstance(value, bool) else str(value) or "(locale)"
        lines.append(f"{name:<18} {shown:<14} {toned(origins[name], 'faint')}")
    lines.append("")
    for id, keys in configuration.keys.items():
        was = " ".join(map(shown_key, actions[id].keys))
        lines.append(f"{id:<18} {' '.join(map(shown_key, keys)):<14} {toned(f'default {was}', 'faint')}")
    if not configuration.keys:
        lines.append("all keys have their defaults: `tcptutor config keys` lists them")
    print_lines(lines)
    if configuration.problems:
        remark(f"{count(len(configuration.problems), 'mistake')}: `tcptutor config check` shows them")
    return 0


def _origin(configuration: Configuration, settings: Settings, name: str) -> str:
    if name in configuration.own.lines:
        return f"from {configuration.own.path}:{configuration.own.lines[name]}"
    if settings.is_chosen(name):
        return "chosen in the app"
    if name in configuration.site.lines:
        return f"from {configuration.site.path}:{configuration.site.lines[name]}"
    return "default"


def write_configuration(force: bool, as_json: bool) -> int:
    """Write the commented file, and return the exit code.

    Raises:
        UsageError: It exists, and `force` is off.
        TutorError: It cannot be written.
    """
    path = places.config_file()
    check_regular(path, _ELSEWHERE)
    if os.path.lexists(path):
        if not force:
            raise UsageError(
                f"{path} already exists: edit it, or write a new file with --force, which keeps the old"
            )
        try:
            remark(f"the old file is kept as {files.set_aside(path, 'old')}")
        except OSError as error:
            raise TutorError(f"cannot rename {path}: {refused(error, _ELSEWHERE)}") from error
    with files.atomic(path, _ELSEWHERE) as temporary:
        temporary.write_text(template(load_actions(), str(places.site_config_file())), encoding="utf-8")
    print_files([path], as_json)
    return 0


def check_configuration(as_json: bool) -> int:
    """Print the mistakes of both files, and return the exit code: 1 if a file has mistakes."""
    configuration = load_configuration()
    found = [each for each in (configuration.own, configuration.site) if each.exists]
    if as_json:
        print_json({"files": [str(each.path) for each in found], "problems": list(configuration.problems)})
    elif configuration.problems:
        print_lines(configuration.problems)
    else:
        print_lines([_all_right(configuration, found)])
    return 1 if configuration.problems else 0


def _all_right(configuration: Configuration, found: list[ConfigFile]) -> str:
    if not found:
        return f"no file {configuration.own.path}: everything has its default"
    names = sorted({name for each in found for name in each.lines})
    changed = f"{count(len(names), 'setting')} and the keys of {count(len(configuration.keys), 'action')}"
    return f"{' and '.join(str(each.path) for each in found)}: no mistakes; sets {changed}"


def list_keys(words: tuple[str, ...], as_json: bool) -> int:
    """Print the actions with all `words`, with their keys, and return the exit code."""
    configuration, table = load_configuration(), load_actions()
    keys = {action.id: configuration.keys.get(action.id, action.keys) for action in table.changeable}
    shown = [
        action
        for action in table.changeable
        if all(
            word.lower() in f"{key_line(action, keys[action.id])} {action.about}".lower() for word in words
        )
    ]
    if not shown:
        raise UsageError(
            f"no action has {' '.join(words)!r} in its id, keys or description: give other words"
        )
    if as_json:
        print_json([
            {
                "action": action.id, "keys": [shown_key(key) for key in keys[action.id]],
                "default": [shown_key(key) for key in action.keys], "about": action.about,
                "is_changed": action.id in configuration.keys,
            }
            for action in shown
        ])  # fmt: skip
        return 0

    def lines() -> Iterator[str]:
        wide = max(len(action.id) for action in shown)
        for group, actions in groupby(shown, key=lambda action: action.group):
            yield toned(PLACES[group], "title")
            for action in actions:
                mark = "*" if action.id in configuration.keys else " "
                yield f"{mark} {action.id:<{wide}}  {' '.join(map(shown_key, keys[action.id])):<12}  {action.about}"

    print_lines(lines())
    if configuration.problems:
        remark(f"{count(len(configuration.problems), 'mistake')}: `tcptutor config check` shows them")
    return 0
