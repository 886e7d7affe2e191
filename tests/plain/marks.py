"""Marks of a student's hand-in, as a teacher's program computes them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from tcptutor.course.outline import Course
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.grading.marking import grade_hand_in
from tcptutor.journal import Journal

Marks: TypeAlias = dict[tuple[str, str, str], tuple[float, str]]
"""Marks and outcome by module, page and activity."""


def marks_of(course: Course, file: Path) -> Marks:
    """The marks of a hand-in."""
    with open_hand_in(file) as hand_in:
        found = grade_hand_in(hand_in, course)
    return {(mark.module, mark.page, mark.activity): (mark.marks, mark.outcome) for mark in found.marks}


def marks_of_journal(course: Course, journal: Journal, folder: Path) -> Marks:
    """The marks of what a journal's student would hand in."""
    collected = collect(journal, course)
    file = folder / "of-journal.tcphandin"
    write_hand_in(file, collected.manifest, collected.events, collected.runs)
    return marks_of(course, file)
