"""The named experiments of all modules: `slug/name` to `spec.Experiment`, with or without overrides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tcptutor import places, spec
from tcptutor.course.files import ExperimentFile, LessonFile, numbered
from tcptutor.errors import ContentError, ParameterError, UsageError, unknown

_FEW = 10
"""Experiments that a refusal names; of more it tells how to see them."""


def module_folders(root: Path) -> dict[str, Path]:
    """The folders of modules by their ids, in the order of their numbers; empty when `root` is missing."""
    folders = sorted(path for path in root.glob("[0-9][0-9]-*") if path.is_dir())
    return {entry[1]: path for path in folders if (entry := numbered(path.name))}


def short_name(name: str) -> str:
    """The second part of an experiment's full name."""
    return name.rpartition("/")[2]


class Catalogue:
    """Every experiment file below `root`, read once."""

    def __init__(self, root: Path) -> None:
        self.damaged: dict[str, ContentError] = {}
        """Why a file could not be read, by the experiment's full name."""
        self.rows: dict[str, tuple[str, ...]] = {}
        """The rows of the documents' settings that each is, by its full name."""
        self._tables: dict[str, dict[str, Any]] = {}
        for module, folder in module_folders(root).items():
            for path in sorted((folder / "experiments").glob("*.toml")):
                self._add(f"{module}/{path.stem}", LessonFile(path, root))

    def _add(self, name: str, file: LessonFile) -> None:
        try:
            table = msgspec.structs.asdict(file.read(ExperimentFile))
            rows = table.pop("rows")
            spec.build(name, table)
            if table["paper"]:
                spec.build(name, table, scale="paper")
        except ContentError as error:
            self.damaged[name] = error
        except ParameterError as error:
            self.damaged[name] = file.problem(str(error))
        else:
            self._tables[name] = table
            self.rows[name] = rows

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tables)

    def full_name(self, name: str) -> str:
        """The name `slug/name` of the experiment that `name` means: that, or its second part where only one has it.

        Raises UsageError, which names those that it may mean.
        """
        known = (*self._tables, *self.damaged)
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
        if name in self.damaged:
            raise self.damaged[name]
        return spec.build(name, self._tables[name], overrides, seed, scale)


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
