"""The teacher's lists of a class, for `tcptutor grade` and `class`: its roster, and decisions on single students."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.commands.output import warn
from tcptutor.grading.adjustments import adjust
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.decisions import Decision, DecisionsByStudent, read_decisions
from tcptutor.grading.grade import GradedFile
from tcptutor.grading.roster import RollCall, Roster, call_roll, missing_line, read_roster


class ClassLists(NamedTuple):
    """A roster and decisions, as given on the command line."""

    whole: Roster | None
    """All students."""
    roster: Roster | None
    """The students of the chosen section, or all."""
    decisions: tuple[Decision, ...]

    @property
    def for_marking(self) -> DecisionsByStudent:
        """The decisions that marking applies: deadlines, and ids that are the same student."""
        return DecisionsByStudent(
            [each for each in self.decisions if each.is_extension or each.same_as], self._ids
        )

    @property
    def _ids(self) -> list[tuple[str, ...]]:
        return [row.ids for row in self.whole.students] if self.whole else []

    def adjust(self, graded: Sequence[GradedFile], basis: GradingBasis) -> list[GradedFile]:
        """Apply the decisions, and warn about decisions without effect."""
        if not self.decisions:
            return [*graded]
        found, lines = adjust(graded, self.decisions, basis.whole_course, self._ids, basis.modules)
        for line in lines:
            warn(line)
        return found

    def call_roll(self, graded: Sequence[GradedFile]) -> tuple[list[GradedFile], RollCall | None]:
        """Call the roll, with warnings; return the hand-ins of the chosen section."""
        found = [*graded]
        if self.roster is None:
            return found, None
        roll = call_roll(self.roster, found, self.whole)
        for line in (*roll.lines, *filter(None, [missing_line(roll)])):
            warn(line)
        if self.roster is not self.whole:
            found = [each for each in found if each in roll.found.values()]
        return found, roll


def read_lists(
    roster: Path | None,
    column: str | None,
    section: str | None,
    exceptions: Path | None,
    places: Sequence[Path] = (),
) -> ClassLists:
    """Read the files of the options, and warn of rows that cannot be used. Raises UsageError.

    Without `exceptions`, warn of a file of decisions in the working folder, or in or next to `places`: the hand-ins
    and their folders.
    """
    if roster is None and (column or section):
        raise UsageError(
            f"{'--roster-column' if column else '--section'} is about a roster: add --roster FILE"
        )
    if exceptions is None and (unused := _unused_decisions(places)):
        warn(f"{unused} is not applied: add --exceptions {shlex.quote(unused)}")
    if exceptions is not None and not exceptions.is_file():
        raise UsageError(f"no file {exceptions}: `tcptutor decide` writes the first decision into it")
    decisions = read_decisions(exceptions) if exceptions is not None else ()
    if roster is None:
        return ClassLists(None, None, decisions)
    whole = read_roster(roster, column or "")
    for problem in whole.problems:
        warn(problem)
    return ClassLists(whole, whole.section(section) if section else whole, decisions)


def _unused_decisions(places: Sequence[Path]) -> str:
    folders = dict.fromkeys([Path(), *(each if each.is_dir() else each.parent for each in places)])
    return next((str(file) for each in folders if (file := each / "exceptions.toml").is_file()), "")
