"""Named experiments of all modules: `slug/name` to `spec.Experiment`, with overrides in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tcptutor import spec
from tcptutor.base import places
from tcptutor.base.errors import ContentError, ParameterError, TutorError, UsageError, unknown
from tcptutor.course.lesson_file import LessonFile, is_slug, module_folders
from tcptutor.course.lesson_format import ExperimentFile
from tcptutor.course.trace_files import read_trace_file
from tcptutor.spec import PARAMETERS, Experiment, settings

_MAX_BUILT = 512
"""Experiments that a catalogue keeps built."""
_FEW = 10
"""Most experiments an error message lists by name."""


class _ExperimentTable(NamedTuple):
    table: dict[str, Any]
    """Argument of `spec.build`."""
    rows: tuple[str, ...]
    """Matching rows of the documents' settings."""


class Catalogue:
    """Experiment files below `root`, each read once on first use."""

    def __init__(self, root: Path) -> None:
        files = {
            f"{module}/{path.stem}": LessonFile(path, root)
            for module, folder in module_folders(root).items()
            for path in sorted((folder / "experiments").glob("*.toml"))
        }
        self._files = {name: file for name, file in files.items() if is_slug(file.path.stem)}
        self._misnamed = {
            name: file.problem("rename the file: experiments are named like random-loss.toml")
            for name, file in files.items()
            if name not in self._files
        }
        self._read: dict[str, _ExperimentTable | ContentError] = {}
        self._built: dict[tuple[object, ...], spec.Experiment] = {}

    @property
    def file_names(self) -> tuple[str, ...]:
        """Full names of all experiments, readable or not. Reads no file."""
        return tuple(self._files)

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of the readable experiments. Reads every file."""
        return tuple(self._tables())

    @property
    def damaged(self) -> dict[str, ContentError]:
        """Errors by the full name of the experiment. Reads every file."""
        found = {name: self._entry(name) for name in self._files}
        return self._misnamed | {
            name: entry for name, entry in found.items() if isinstance(entry, ContentError)
        }

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Matching rows of the documents' settings, by full name. Reads every file."""
        return {name: entry.rows for name, entry in self._tables().items()}

    def module_experiments(self, module: str) -> dict[str, spec.Experiment]:
        """Return the readable experiments of a module by full name."""
        return {name: self.build(name) for name in self._tables(f"{module}/")}

    def _tables(self, beginning: str = "") -> dict[str, _ExperimentTable]:
        found = {name: self._entry(name) for name in self._files if name.startswith(beginning)}
        return {name: entry for name, entry in found.items() if isinstance(entry, _ExperimentTable)}

    def _entry(self, name: str) -> _ExperimentTable | ContentError:
        if name not in self._read:
            self._read[name] = _read(name, self._files[name])
        return self._read[name]

    def full_name(self, name: str) -> str:
        """Resolve an experiment's full name, or its short name if that is unique, to `slug/name`.

        Raises:
            UsageError: The name is unknown or ambiguous; the message lists candidates.
        """
        known = self.file_names
        if name in known:
            return name
        if len(same := [each for each in known if short_name(each) == name]) == 1:
            return same[0]
        if same:
            raise UsageError(f"{name!r} matches {len(same)} experiments: write {' or '.join(same)}")
        names = known if "/" in name else tuple(dict.fromkeys(map(short_name, known)))
        all_of_them = "run `tcptutor list` to see them" if len(known) > _FEW else ""
        raise UsageError(unknown("experiment", name, names, all_of_them))

    def build(
        self,
        name: str,
        overrides: Mapping[str, str] | None = None,
        seed: int | None = None,
        scale: str = "bench",
    ) -> spec.Experiment:
        """Build the experiment with that full or short name.

        Raises:
            UsageError: The name is unknown or ambiguous.
            ContentError: The file is damaged.
            ParameterError: An override is invalid.
        """
        name = self.full_name(name)
        entry = self._entry(name)
        if isinstance(entry, ContentError):
            raise entry
        overrides = read_trace_file(overrides or {})
        key = (name, *sorted(overrides.items()), seed, scale)
        if key not in self._built:
            if len(self._built) >= _MAX_BUILT:
                # Every turn of a knob builds another experiment: forget the oldest.
                del self._built[next(iter(self._built))]
            self._built[key] = spec.build(name, entry.table, overrides, seed, scale)
        return self._built[key]


def _read(name: str, file: LessonFile) -> _ExperimentTable | ContentError:
    try:
        table = msgspec.structs.asdict(file.read(ExperimentFile))
        rows = table.pop("reproduces")
        for values in ("parameters", "paper"):
            table[values] = read_trace_file(table[values], file.path.parent)
        spec.build(name, table)
        if table["paper"]:
            spec.build(name, table, scale="paper")
    except ContentError as error:
        return error
    except ParameterError as error:
        return file.problem(str(error))
    return _ExperimentTable(table, rows)


def build(
    name: str,
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    folder: Path | None = None,
    scale: str = "bench",
) -> spec.Experiment:
    """Build the named experiment with `overrides`, as in `tcptutor run --set`.

    Queue and window given in BDP follow an overridden rate or delay, which changing a finished `Experiment`
    could not do.

    Raises:
        UsageError: The name is unknown or ambiguous.
        ParameterError: An override is invalid.
        ContentError: The file is damaged.
    """
    return Catalogue(folder or places.lessons()).build(name, overrides, seed, scale)


def short_name(name: str) -> str:
    """Return the part of an experiment's full name after the module."""
    return name.rpartition("/")[2]


_FOLLOWING = ("queue", "reverse_queue", "window", "send_buffer", "buffer", "warmup")
"""Settings that follow rate and delay if given in BDP; the warm-up follows a fixed amount to send."""


def overrides_of(experiment: Experiment, catalogue: Catalogue) -> dict[str, str]:
    """Return the settings that differ from the experiment's file, as typed; all if it has no file."""
    here = settings(experiment)
    try:
        own = catalogue.build(experiment.name, scale=experiment.scale)
        changed = differing(experiment, own)
        rest = {name: value for name, value in changed.items() if name not in _FOLLOWING}
        follows = differing(experiment, catalogue.build(experiment.name, rest, scale=experiment.scale))
    except TutorError:
        return here
    # Settings equal to the file's that would now follow an override must be given as well.
    wanted = {**{name: value for name, value in changed.items() if name in rest}, **follows}
    return {name: wanted[name] for name in dict.fromkeys([*here, *changed]) if name in wanted}


def rebuilt(experiment: Experiment, catalogue: Catalogue) -> dict[str, str] | None:
    """Return settings that rebuild exactly this experiment from its file, or None."""
    for given in (overrides_of(experiment, catalogue), settings(experiment)):
        try:
            made = catalogue.build(experiment.name, given, experiment.seed, experiment.scale)
        except TutorError:
            continue
        if same_settings(made, experiment):
            return given
    return None


def differing(one: Experiment, other: Experiment) -> dict[str, str]:
    """Return the settings of `one` that differ from `other`."""
    here, there = settings(one), settings(other)
    names = dict.fromkeys([*here, *there])
    return {name: _text(one, name) for name in names if here.get(name) != there.get(name)}


def _text(experiment: Experiment, name: str) -> str:
    """Format a setting, including a built-in default, which `settings` omits."""
    known = PARAMETERS.get(name)
    return known.text(known.of(experiment)) if known else experiment.hosts.sysctls.get(name, "none")


def same_settings(one: Experiment, other: Experiment) -> bool:
    """Return True if both run the same, including the seed."""
    one, other = (msgspec.structs.replace(each, title="", sources=()) for each in (one, other))
    return one == other


def same_but_for_seed(one: Experiment, other: Experiment) -> bool:
    """Return True if both run the same except for their seeds."""
    return same_settings(one, msgspec.structs.replace(other, seed=one.seed))
