"""`tcptutor submit`: hand in a student's work, and show the marks that its evidence supports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tcptutor.base import places, sizes
from tcptutor.base.errors import TutorError, UsageError, quoted
from tcptutor.commands.folding import fold_line, fold_rows
from tcptutor.commands.grade import mark_row
from tcptutor.commands.output import Bar, count, print_json, print_lines, remark, toned, warn, width
from tcptutor.commands.targets import check_targets
from tcptutor.course.known_courses import course_option, other_courses
from tcptutor.course.outline import Course, read_course
from tcptutor.course.rules import activity_rule, deadline_rule, pages_rule
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import SUFFIX, HandInManifest, open_hand_in, write_hand_in
from tcptutor.grading.formats import modules
from tcptutor.grading.grade import ActivityMark, Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.remarks import shown_to_student
from tcptutor.grading.views import percent
from tcptutor.journal import opened_journal

_MAX_PAGES = 5
"""Largest number of pages listed per module."""
_MAX_REASONS = 20
"""Largest number of activities without full marks that are listed."""
_LONG_RUNS = 20
"""Number of runs above which grading is slow enough to announce."""


def submit(output: str | None, replace: bool, as_json: bool) -> int:
    """Write the hand-in, report its marks and the missing work, and return the exit code. Raises TutorError."""
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
    manifest = collected.manifest
    if not collected.events:
        raise UsageError(
            f"there is no work in this course yet: `tcptutor{course_option()}` opens it{other_courses()}"
        )
    if not as_json:
        print_lines(part for line in _head(manifest, course) for part in fold_line(line, width()))
    with Bar("runs", len(collected.runs)) as bar:
        write_hand_in(path, manifest, collected.events, collected.runs, bar.advance)
    if len(collected.runs) > _LONG_RUNS and not as_json:
        remark("grading it as your teacher will ...")
    grade = _grade(path, course, manifest.course)
    if as_json:
        print_json(
            {
                "file": str(path),
                "bytes": path.stat().st_size,
                "student": manifest.student,
                "course": manifest.course,
                "events": manifest.events,
                "runs": [id for id, _ in collected.runs],
                "missing": manifest.missing,
                "pages_left": [f"{module}/{step}" for module, steps in left.items() for step in steps],
                "grade": _document(grade) if grade else None,
            }
        )
        return 0
    if grade:
        print_lines(_worth(grade, course, left, path))
    size, runs = sizes.decimal(path.stat().st_size), count(len(collected.runs), "run")
    print_lines([f"wrote {path}, {size}: {count(len(collected.events), 'event')}, {runs}"])
    return 0


def _grade(path: Path, course: Course, code: str) -> Grade | None:
    """Grade the written file; where that fails, the file can still be handed in."""
    try:
        with open_hand_in(path) as hand_in:
            return grade_hand_in(hand_in, course, code)
    except TutorError as error:
        warn(f"its marks cannot be computed here: {error}")
        return None


def _head(manifest: HandInManifest, course: Course) -> Iterator[str]:
    if manifest.student:
        yield f"{manifest.student} in the course {manifest.course}"
    else:
        yield "you are not enrolled: if your course is graded, run `tcptutor enrol CODE STUDENT`"
    if deadline := deadline_rule(course.marks):
        yield f"  {deadline}"
    if question := activity_rule(course.marks, "question"):
        yield f"  a question: {question}; {pages_rule(course.marks)}"


def _worth(grade: Grade, course: Course, left: Mapping[str, Sequence[str]], path: Path) -> Iterator[str]:
    columns = width()
    total = f"{grade.total:.4g} of {grade.of:.4g} marks, {percent(grade.share)}"
    yield f"worth {toned(total, 'title')}, by its own evidence"
    of_modules = modules(grade)
    rows = []
    for module in course.modules:
        got, of = of_modules.get(module.id, (0.0, 0.0))
        rows.append((module.title, f"{got:.4g}", "of", f"{of:.4g}", _pages_left(left[module.id])))
    yield from fold_rows(rows, columns, right=(False, True, False, True, False))
    for line in shown_to_student(grade.remarks):
        yield from fold_line(f"  {line}", columns, "doubt")
    reduced = _reduced(grade)
    yield from fold_rows([mark_row(mark) for mark in reduced[:_MAX_REASONS]], columns)
    if len(reduced) > _MAX_REASONS:
        more = f"  and {len(reduced) - _MAX_REASONS} more: `tcptutor grade {path} --all` shows every mark"
        yield from fold_line(more, columns)


def _pages_left(of_module: Sequence[str]) -> str:
    if not of_module:
        return "complete"
    named = ", ".join(of_module[:_MAX_PAGES])
    more = f" and {len(of_module) - _MAX_PAGES} more" if len(of_module) > _MAX_PAGES else ""
    return f"{count(len(of_module), 'page')} left: {named}{more}"


def _reduced(grade: Grade) -> list[ActivityMark]:
    """Return activities with less than full marks, repeatable activities first."""
    order = ("refused", "inconclusive", "none", "part")
    return sorted(
        (mark for mark in grade.marks if mark.outcome in order), key=lambda mark: order.index(mark.outcome)
    )


def _document(grade: Grade) -> dict[str, object]:
    return {
        "marks": grade.total,
        "of": grade.of,
        "modules": {id: {"marks": got, "of": of} for id, (got, of) in modules(grade).items()},
        "remarks": shown_to_student(grade.remarks),
        "reduced": [
            {
                "page": f"{mark.module}/{mark.page}",
                "activity": mark.activity,
                "outcome": mark.outcome,
                "marks": mark.marks,
                "of": mark.of,
                "reason": mark.reason,
            }
            for mark in _reduced(grade)
        ],
    }
