"""The named experiments of all modules: `slug/name` to `spec.Experiment`, with or without overrides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tcptutor import spec
from tcptutor.base import places
from tcptutor.base.errors import ContentError, ParameterError, UsageError, unknown
from tcptutor.course.files import ExperimentFile, is_slug, numbered
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.names import short_name

_FEW = 10
"""Experiments that a refusal names; of more it tells how to see them."""


def module_folders(root: Path) -> dict[str, Path]:
    """The folders of modules by their ids, in the order of their numbers; empty when `root` is missing."""
    folders = sorted(path for path in root.glob("[0-9][0-9]-*") if path.is_dir())
    return {entry[1]: path for path in folders if (entry := numbered(path.name))}


def step_files(folder: Path) -> list[Path]:
    """The files of a module's pages, in the order of their numbers."""
    return sorted(folder.glob("[0-9][0-9]-*.md"))


def files_by_step(folder: Path) -> dict[str, Path]:
    """The files of a module's pages by their ids: of two with one id the first, which is the one that is read."""
    return {path.stem[3:]: path for path in reversed(step_files(folder))}


class _ExperimentTable(NamedTuple):
    table: dict[str, Any]
    """What `spec.build` makes an experiment of."""
    rows: tuple[str, ...]
    """The rows of the documents' settings that it is."""


class Catalogue:
    """Every experiment file below `root`, each read once, when it is first asked for."""

    def __init__(self, root: Path) -> None:
        files = {
            f"{module}/{path.stem}": LessonFile(path, root)
            for module, folder in module_folders(root).items()
            for path in sorted((folder / "experiments").glob("*.toml"))
        }
        self._files = {name: file for name, file in files.items() if is_slug(file.path.stem)}
        self._misnamed = {
            name: file.problem("an experiment's file is named like random-loss.toml: rename it")
            for name, file in files.items()
            if name not in self._files
        }
        self._read: dict[str, _ExperimentTable | ContentError] = {}
        self._built: dict[tuple[object, ...], spec.Experiment] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of those that can be read. Reads them all."""
        return tuple(self._tables())

    @property
    def damaged(self) -> dict[str, ContentError]:
        """Why a file could not be read, by the experiment's full name. Reads them all."""
        found = {name: self._entry(name) for name in self._files}
        return self._misnamed | {
            name: entry for name, entry in found.items() if isinstance(entry, ContentError)
        }

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The rows of the documents' settings that each is, by its full name. Reads them all."""
        return {name: entry.rows for name, entry in self._tables().items()}

    def of_module(self, module: str) -> dict[str, spec.Experiment]:
        """Its experiments by their full names, without those that cannot be read."""
        return {name: self.build(name) for name in self._tables(f"{module}/")}

    def _tables(self, beginning: str = "") -> dict[str, _ExperimentTable]:
        """Those that can be read, of the experiments whose names begin so."""
        found = {name: self._entry(name) for name in self._files if name.startswith(beginning)}
        return {name: entry for name, entry in found.items() if isinstance(entry, _ExperimentTable)}

    def _entry(self, name: str) -> _ExperimentTable | ContentError:
        if name not in self._read:
            self._read[name] = _read(name, self._files[name])
        return self._read[name]

    def full_name(self, name: str) -> str:
        """The name `slug/name` of the experiment that `name` means: that, or its second part where only one has it.

        Raises UsageError, which names those that it may mean.
        """
        known = tuple(self._files)
        if name in known:
            return name
        if len(same := [each for each in known if short_name(each) == name]) == 1:
            return same[0]
        if same:
            raise UsageError(f"{name!r} is the name of {len(same)} experiments: give {' or '.join(same)}")
        names = known if "/" in name else tuple(dict.fromkeys(map(short_name, known)))
        all_of_them = "`tcptutor list` names them" if len(known) > _FEW else ""
        raise UsageError(unknown("experiment", name, names, all_of_them))

    def build(
        self,
        name: str,
        overrides: Mapping[str, str] | None = None,
        seed: int | None = None,
        scale: str = "bench",
    ) -> spec.Experiment:
        """The experiment of that name, full or short.

        Raises UsageError for the name, ContentError for a damaged file, ParameterError for an override.
        """
        name = self.full_name(name)
        entry = self._entry(name)
        if isinstance(entry, ContentError):
            raise entry
        key = (name, *sorted((overrides or {}).items()), seed, scale)
        if key not in self._built:
            self._built[key] = spec.build(name, entry.table, overrides, seed, scale)
        return self._built[key]


def _read(name: str, file: LessonFile) -> _ExperimentTable | ContentError:
    """What the file says; the error that tells why it cannot be run."""
    try:
        table = msgspec.structs.asdict(file.read(ExperimentFile))
        rows = table.pop("rows")
        spec.build(name, table)
        if table["paper"]:
            spec.build(name, table, scale="paper")
    except ContentError as error:
        return error
    except ParameterError as error:
        return file.problem(str(error))
    return _ExperimentTable(table, rows)


def experiment(
    name: str,
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    folder: Path | None = None,
    scale: str = "bench",
) -> spec.Experiment:
    """The experiment of that name, full or short, with `overrides` of its parameters, as `tcptutor run --set` gives
    them.

    Queue and window that the file gives in BDP follow an overridden rate or delay, which changing a
    finished `Experiment` could not do. Raises UsageError, ParameterError or ContentError.
    """
    return Catalogue(folder or places.lessons()).build(name, overrides, seed, scale)
