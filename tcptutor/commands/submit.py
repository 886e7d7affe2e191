"""`tcptutor submit`: hand in a student's work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tcptutor.base import places, units
from tcptutor.base.errors import UsageError, quoted
from tcptutor.commands.output import Bar, count, print_json, print_lines, warn
from tcptutor.commands.targets import check_targets
from tcptutor.course.marks import MarkScheme
from tcptutor.course.outline import Course, read_course
from tcptutor.course.page_record import moment
from tcptutor.grading.evidence.collect import HandInContents, collect
from tcptutor.grading.evidence.hand_in import SUFFIX, write_hand_in
from tcptutor.journal import opened_journal

_MAX_PAGES = 5
"""Largest number of pages listed per module."""


def submit(output: str | None, replace: bool, as_json: bool) -> int:
    """Report missing work, write the hand-in and return the exit code. Raises TutorError."""
    path = Path(output or f"hand-in{SUFFIX}")
    if path.suffix != SUFFIX:
        raise UsageError(f"{quoted(path.name)} is not a hand-in's name: use one that ends in {SUFFIX}")
    check_targets([path], [], replace=replace)
    course, problems = read_course(places.lessons())
    for problem in problems:
        warn(str(problem))
    with opened_journal(warn) as journal:
        collected = collect(journal, course)
        progress = journal.progress(course)
    left = {
        module.id: [
            step.id
            for step, done in zip(module.steps, progress[module.id].pages, strict=True)
            if not done and step.is_on(course.marks.path)
        ]
        for module in course.modules
    }
    if not collected.events:
        raise UsageError("there is no work to hand in yet: `tcptutor` opens the course")
    if not as_json:
        print_lines(_missing(collected, course, left))
    with Bar("runs", len(collected.runs)) as bar:
        write_hand_in(path, collected.manifest, collected.events, collected.runs, bar.advance)
    size = path.stat().st_size
    if as_json:
        manifest = collected.manifest
        print_json(
            {
                "file": str(path),
                "bytes": size,
                "student": manifest.student,
                "course": manifest.course,
                "events": manifest.events,
                "runs": [id for id, _ in collected.runs],
                "missing": manifest.missing,
                "pages_left": [f"{module}/{step}" for module, steps in left.items() for step in steps],
            }
        )
    else:
        runs = count(len(collected.runs), "run")
        print_lines([f"wrote {path}, {units.size(size)}: {count(len(collected.events), 'event')}, {runs}"])
    return 0


def _deadline(marks: MarkScheme) -> Iterator[str]:
    if (deadline := moment(marks.deadline)) is None:
        return
    granted = f", plus {marks.grace_hours:g} h of grace" if marks.grace_hours else ""
    late = f"later work gets {marks.late:.0%} of its marks"
    verb = "was" if deadline < datetime.now(UTC) else "is"
    local = deadline.astimezone().isoformat(sep=" ", timespec="minutes")
    yield f"  the deadline {verb} {local}{granted}: {late}"


def _missing(collected: HandInContents, course: Course, left: Mapping[str, Sequence[str]]) -> Iterator[str]:
    manifest = collected.manifest
    if manifest.student:
        yield f"{manifest.student} in the course {manifest.course}"
    else:
        yield "you are not enrolled: if your course is graded, run `tcptutor enrol CODE STUDENT`"
    yield from _deadline(course.marks)
    if course.marks.path == "essential":
        yield "  only essential pages count"
    for module in course.modules:
        of_module = left[module.id]
        if not of_module:
            yield f"  {module.title}: complete"
            continue
        named = ", ".join(of_module[:_MAX_PAGES])
        more = f" and {len(of_module) - _MAX_PAGES} more" if len(of_module) > _MAX_PAGES else ""
        counted = sum(step.is_on(course.marks.path) for step in module.steps)
        yield f"  {module.title}, {len(of_module)} of {count(counted, 'page')} left: {named}{more}"
    for line in manifest.missing:
        yield f"  {line}"
