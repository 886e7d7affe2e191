"""The configuration in effect: the file of this machine below the choices made in the app, the user's file above."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.base import places
from tcptutor.journal.saved import Settings
from tcptutor.ui.configuration.config_file import ConfigFile, read_config
from tcptutor.ui.configuration.spelling import shown_key


class Configuration(NamedTuple):
    """Both files, and their combined settings."""

    site: ConfigFile
    own: ConfigFile
    keys: dict[str, tuple[str, ...]]
    """Changed keys by action, as Textual names them."""
    keymap: dict[str, str]
    """The same for Textual."""
    problems: tuple[str, ...]
    """A line for each entry that does not count."""

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Changed keys by action, including actions that share their leader's keys."""
        if not self.keys:
            return {}
        from tcptutor.ui.configuration.keymap import LEADERS  # noqa: PLC0415  # most users keep the keys

        led = {id: self.keys[leader] for id, leader in LEADERS.items() if leader in self.keys}
        return self.keys | led

    @property
    def default_names(self) -> dict[str, str]:
        """Default keys of the actions with changed keys, as the app shows them."""
        if not self.keys:
            return {}
        from tcptutor.ui.configuration.actions import load_actions  # noqa: PLC0415  # most users keep the keys

        actions = load_actions().by_id
        return {id: " ".join(map(shown_key, actions[id].keys)) for id in self.names}

    def apply_to(self, settings: Settings) -> None:
        """Make the files' settings count for this app."""
        settings.use_files(self.site.preferences, self.own.preferences)


def load_configuration() -> Configuration:
    """Read the files. Never raises for their content."""
    site, own = read_config(places.site_config_file()), read_config(places.config_file())
    problems = (*site.problems, *own.problems)
    if not (site.entries or own.entries):
        return Configuration(site, own, {}, {}, problems)
    from tcptutor.ui.configuration.actions import load_actions  # noqa: PLC0415  # most users keep the keys
    from tcptutor.ui.configuration.keymap import resolve, textual_keymap  # noqa: PLC0415

    table = load_actions()
    resolved = resolve(table, (*site.entries, *own.entries))
    keymap = textual_keymap(table, resolved.changes)
    return Configuration(site, own, resolved.changes, keymap, (*problems, *resolved.problems))


def configured(settings: Settings) -> Settings:
    """Apply the files' preferences to `settings`, and return `settings`."""
    load_configuration().apply_to(settings)
    return settings
