"""`tcptutor runs name`, `delete`, `restore` and `compare`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tcptutor import course
from tcptutor.base import places
from tcptutor.base.columns import table
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.names import open_run
from tcptutor.commands.output import print_json, print_lines, toned, warn
from tcptutor.commands.runs import places_of_runs
from tcptutor.exchange import find_run, short_id
from tcptutor.grading.evidence.collect import marked_runs
from tcptutor.history import deletion
from tcptutor.history.comparison import RunComparison, compare
from tcptutor.history.names import RunNames
from tcptutor.journal import opened_journal


def name_run(run: str, name: str) -> int:
    """Give a run a name and return the exit code. Raises TutorError."""
    file = _stored_file(run)
    RunNames.of_user().give(file.stem, name)
    named = (
        f"{short_id(file)} is now called “{name.strip()}”"
        if name.strip()
        else f"{short_id(file)} has no name now"
    )
    print_lines([named])
    return 0


def delete_runs(names: Sequence[str]) -> int:
    """Delete the runs, unless a page is marked by any, and return the exit code. Raises TutorError."""
    deletion.remove_old(places.runs())
    found = list(dict.fromkeys(_stored_file(name) for name in names))
    for file in found:
        _check_unmarked(file)
    for file in found:
        deletion.delete(file)
        print_lines(
            [
                f"deleted {short_id(file)}: `tcptutor runs restore {short_id(file)}` brings it back until tomorrow"
            ]
        )
    return 0


def restore_runs(names: Sequence[str]) -> int:
    """Restore deleted runs, or list them without names, and return the exit code. Raises TutorError."""
    deleted = list(deletion.deleted_runs(places.runs()))
    if not names:
        lines = [f"{short_id(each)}  {each.stem}, deleted {each.parent.name}" for each in deleted]
        print_lines(lines or ["no deleted runs can be restored"])
        return 0
    found = [_deleted_file(name, deleted) for name in names]
    for aside in dict.fromkeys(found):
        deletion.restore(aside)
        print_lines([f"restored {short_id(aside)}"])
    return 0


def compare_runs(one: str, other: str, as_json: bool) -> int:
    """Print the differences between two runs and return the exit code. Raises TutorError."""
    (first, path), (second, other_path) = open_run(one), open_run(other)
    if path == other_path:
        raise UsageError(f"{path} twice: name two runs")
    found = compare(first, second)
    if as_json:
        print_json(
            {
                "settings": msgspec.to_builtins(found.settings),
                "figures": msgspec.to_builtins(found.figures.figures),
                "limited_by": list(found.figures.limited_by),
                "files": [str(path), str(other_path)],
            }
        )
        return 0
    print_lines(_comparison_lines(found, short_id(path), short_id(other_path)))
    return 0


def _comparison_lines(found: RunComparison, one: str, other: str) -> list[str]:
    settings = [("settings", one, other), *((each.name, each.one, each.other) for each in found.settings)]
    lines = table(settings, indent=0, gap=3)
    output = [toned(lines[0], "title"), *lines[1:]] if found.settings else ["the settings are equal"]
    lines = table(
        [("results", one, other, "change"), *found.results], indent=0, gap=3, right=(False, True, True, True)
    )
    output += ["", *([toned(lines[0], "title"), *lines[1:]] if found.results else ["the results are equal"])]
    if found.same and found.results:
        output.append(f"the same: {', '.join(found.same)}")
    return [*output, *([found.history] if found.history else [])]


def _stored_file(name: str) -> Path:
    """Return the file of a run that the user stored. Raises UsageError."""
    file = find_run(name, warn)
    if file.resolve().parent != places.runs().resolve():
        raise UsageError(f"{file} is not among your stored runs: give an id of `tcptutor runs`")
    return file


def _check_unmarked(file: Path) -> None:
    """Raise UsageError if a page is marked by the run."""
    if not os.path.lexists(places.state() / "journal.db"):
        return
    module, step = places_of_runs().get(file.stem, ("", ""))
    if not step:
        return
    with opened_journal(warn) as journal:
        needed = marked_runs(journal.events(), places.runs(), course.load(), module, step)
    if file.stem in needed:
        raise UsageError(
            f"{short_id(file)} stays: the page {module}/{step} is marked by it, and without it your answers there "
            "would count as not run"
        )


def _deleted_file(name: str, deleted: Sequence[Path]) -> Path:
    """Return the deleted run with that id. Raises TutorError."""
    found = [each for each in deleted if name in (each.stem, short_id(each))]
    if not found:
        raise TutorError(f"no deleted run {name!r} can be restored: `tcptutor runs restore` lists them")
    return found[0]
