"""Drafts of answers, saved benches and settings of the app, in files next to the journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import JournalError, UsageError
from tcptutor.base.printable import is_printable
from tcptutor.journal.saved_file import FORMAT, read_or_set_aside, write

Draft: TypeAlias = str | list[str] | dict[str, str]
"""A typed text, the ids of chosen entries, or the values of knobs by their names."""

LONGEST = 1000
"""Characters of the longest text that is saved."""
MOST = 200
"""The largest number of saved benches."""
LONGEST_NAME = 40


class _DraftFile(msgspec.Struct, kw_only=True):
    format_version: int
    pages: dict[str, dict[str, Draft]]
    """By `module/step` and the activity's id."""


class Drafts:
    """The drafts of all pages. `folder` None keeps them in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "drafts.json" if folder else None
        self._pages: dict[str, dict[str, Draft]] | None = None
        self.notice = ""
        """Message about a damaged file, on a single line; empty if the file is intact."""

    def page(self, module: str, step: str) -> Mapping[str, Draft]:
        """Return the page's drafts by the activities' ids; none from an unreadable file."""
        return self._read().get(f"{module}/{step}", {})

    def save(self, module: str, step: str, drafts: Mapping[str, Draft]) -> bool:
        """Replace the page's drafts, and return whether the file was written.

        Raises:
            JournalError: The file cannot be written; the drafts stay in memory.
        """
        pages, name = self._read(), f"{module}/{step}"
        sound = {id: draft for id, draft in drafts.items() if _is_sound_draft(draft)}
        if sound == pages.get(name, {}):
            return False
        pages.pop(name, None)
        if sound:
            pages[name] = sound
        return self._write(pages)

    def _read(self) -> dict[str, dict[str, Draft]]:
        if self._pages is None:
            self._pages = {}
            try:
                found = read_or_set_aside(self._file, _DraftFile, "drafts", "no draft is kept now")
            except JournalError as error:
                self.notice = str(error)
            else:
                self._pages = {
                    name: {id: draft for id, draft in page.items() if _is_sound_draft(draft)}
                    for name, page in (found.pages if found else {}).items()
                }
        return self._pages

    def _write(self, pages: dict[str, dict[str, Draft]]) -> bool:
        if self._file is None:
            return False
        write(self._file, msgspec.json.encode(_DraftFile(format_version=FORMAT, pages=pages)))
        return True


def _is_sound_draft(draft: Draft) -> bool:
    match draft:
        case str():
            texts = [draft]
        case dict():
            texts = [*draft, *draft.values()]
        case _:
            texts = draft
    return bool(draft) and all(len(text) <= LONGEST and is_printable(text) for text in texts)


class SavedBench(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment's settings under a name, and their latest run."""

    name: str
    experiment: str
    """Full name, `module/experiment`."""
    settings: dict[str, str]
    """As the student types them."""
    seed: int
    scale: str = "bench"
    run: str = ""
    """Id of its latest run; empty for none."""


class _BenchFile(msgspec.Struct, kw_only=True):
    format_version: int
    benches: list[SavedBench]


def _is_sound_bench(bench: SavedBench) -> bool:
    """Return whether all texts are printable; a file from elsewhere may have others."""
    texts = [bench.name, bench.experiment, bench.scale, bench.run, *bench.settings, *bench.settings.values()]
    return len(bench.name) <= LONGEST_NAME and all(map(is_printable, texts))


class Benches:
    """The saved benches, read on each call because other programs may save benches, too. `folder` None stores none."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "benches.json" if folder else None

    @classmethod
    def of_user(cls) -> Benches:
        """Return the user's own benches."""
        return cls(places.state())

    def all(self) -> tuple[SavedBench, ...]:
        """Return the benches, the last saved first.

        Raises:
            JournalError: The file cannot be read, or it was damaged and has been set aside; a second call returns ().
        """
        found = read_or_set_aside(self._file, _BenchFile, "saved benches", "no bench is saved now")
        return tuple(each for each in found.benches if _is_sound_bench(each)) if found else ()

    def save(self, bench: SavedBench) -> None:
        """Save a bench, replacing a bench of the same name.

        Raises:
            UsageError: The name is invalid.
            JournalError: The file cannot be written.
        """
        if not bench.name.strip() or len(bench.name) > LONGEST_NAME or not bench.name.isprintable():
            raise UsageError(
                f"invalid name {bench.name[: LONGEST_NAME + 1]!r}: use 1 to {LONGEST_NAME} printable characters"
            )
        if self._file is None:
            raise JournalError("nothing is saved in this session: the journal could not be opened")
        others = [each for each in self._readable() if each.name != bench.name]
        self._write([bench, *others][:MOST])

    def remove(self, name: str) -> None:
        """Remove a bench. Raises JournalError when the file cannot be written."""
        self._write([each for each in self._readable() if each.name != name])

    def _readable(self) -> tuple[SavedBench, ...]:
        try:
            return self.all()
        except JournalError:
            return self.all()

    def _write(self, benches: list[SavedBench]) -> None:
        if self._file is not None:
            file = _BenchFile(format_version=FORMAT, benches=benches)
            write(self._file, msgspec.json.format(msgspec.json.encode(file)))


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """Settings from a configuration file; None where it has none."""

    theme: str | None = None
    motion: bool | None = None
    figures_in_words: bool | None = None
    daily_minutes: int | None = None
    language: str | None = None
    """Tag of the language of the lessons; empty for that of the locale."""
    bell: bool | None = None


class _SettingsFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    format_version: int
    motion: bool | None = None
    theme: str = ""
    """Name of the theme; empty for the default."""
    figures_in_words: bool | None = None
    daily_minutes: int | None = None
    bell: bool | None = None
    large_notes: bool = False
    stage_zoom: int = 0
    lecture_theme: str = ""
    """Name of the theme of a lecture's terminals; empty for the app's own."""


class Settings:
    """The app's settings. `folder` None keeps them in memory only.

    A setting of the user's configuration file counts until the user changes it in the app, and again in the next app.
    A setting of the machine's file is the default.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "settings.json" if folder else None
        self._values: _SettingsFile | None = None
        self._site = self._own = Preferences()
        self.notice = ""
        """Message about a damaged file, on a single line; empty if the file is intact."""

    def use_files(self, site: Preferences, own: Preferences) -> None:
        """Use the settings of the machine's and of the user's configuration file."""
        self._site, self._own = site, own

    @classmethod
    def of_user(cls) -> Settings:
        """Return the user's own settings."""
        return cls(places.state())

    @property
    def motion(self) -> bool:
        """True if figures may move; the default from an unreadable file."""
        return _first(self._own.motion, self._read().motion, self._site.motion, True)

    def set_motion(self, motion: bool) -> None:
        """Keep the choice.

        Raises:
            JournalError: The file cannot be written; the choice stays in memory.
        """
        self._replace(motion=motion)

    @property
    def theme(self) -> str:
        """Name of the theme; empty for the default."""
        return _first(self._own.theme, self._read().theme or None, self._site.theme, "")

    def set_theme(self, theme: str) -> None:
        """Keep the choice.

        Raises:
            JournalError: The file cannot be written; the choice stays in memory.
        """
        self._replace(theme=theme)

    @property
    def lecture_theme(self) -> str:
        """Name of the theme of a lecture's terminals; the app's theme unless changed in a lecture."""
        return self._read().lecture_theme or self.theme

    def set_lecture_theme(self, theme: str) -> None:
        """Keep the choice.

        Raises:
            JournalError: The file cannot be written; the choice stays in memory.
        """
        self._replace(lecture_theme=theme)

    @property
    def figures_in_words(self) -> bool:
        """True if figures are described, not drawn."""
        saved = self._read().figures_in_words
        return _first(self._own.figures_in_words, saved, self._site.figures_in_words, False)

    def set_figures_in_words(self, in_words: bool) -> None:
        """Keep the choice.

        Raises:
            JournalError: The file cannot be written; the choice stays in memory.
        """
        self._replace(figures_in_words=in_words)

    @property
    def daily_minutes(self) -> int:
        """Minutes of work a day that the student aims at; 0 for no goal."""
        saved = self._read().daily_minutes
        return max(0, _first(self._own.daily_minutes, saved, self._site.daily_minutes, 0))

    def set_daily_minutes(self, minutes: int) -> None:
        """Keep the goal.

        Raises:
            JournalError: The file cannot be written; the goal stays in memory.
        """
        self._replace(daily_minutes=minutes)

    @property
    def language(self) -> str:
        """Tag of the language of the lessons; empty for that of the locale. Only files set it."""
        return _first(self._own.language, None, self._site.language, "")

    @property
    def bell(self) -> bool:
        """True if the terminal's bell rings at the end of a long run."""
        return _first(self._own.bell, self._read().bell, self._site.bell, False)

    def set_bell(self, rings: bool) -> None:
        """Keep the choice.

        Raises:
            JournalError: The file cannot be written; the choice stays in memory.
        """
        self._replace(bell=rings)

    @property
    def large_notes(self) -> bool:
        """True if the speaker's notes are in large letters."""
        return self._read().large_notes

    def set_large_notes(self, large: bool) -> None:
        """Keep the choice.

        Raises:
            JournalError: The file cannot be written; the choice stays in memory.
        """
        self._replace(large_notes=large)

    @property
    def stage_zoom(self) -> int:
        """Size of text on the stage: -1, 0 or 1."""
        return min(max(self._read().stage_zoom, -1), 1)

    def set_stage_zoom(self, zoom: int) -> None:
        """Keep the choice.

        Raises:
            JournalError: The file cannot be written; the choice stays in memory.
        """
        self._replace(stage_zoom=zoom)

    def is_chosen(self, name: str) -> bool:
        """Return True if the app keeps a choice of the setting with that name."""
        return getattr(self._read(), name, None) not in (None, "")

    def _replace(self, **changes: bool | str | int) -> None:
        before = self._read()
        of_files = {name: None for name in changes if name in Preferences.__struct_fields__}
        self._own = msgspec.structs.replace(self._own, **of_files)
        self._values = msgspec.structs.replace(before, **changes)
        if self._values != before and self._file is not None:
            write(self._file, msgspec.json.encode(self._values))

    def _read(self) -> _SettingsFile:
        if self._values is None:
            found = None
            try:
                found = read_or_set_aside(
                    self._file, _SettingsFile, "settings", "every setting has its default now"
                )
            except JournalError as error:
                self.notice = str(error)
            self._values = found or _SettingsFile(format_version=FORMAT)
        return self._values


_Value = TypeVar("_Value")


def _first(own: _Value | None, saved: _Value | None, site: _Value | None, default: _Value) -> _Value:
    return next((each for each in (own, saved, site) if each is not None), default)
