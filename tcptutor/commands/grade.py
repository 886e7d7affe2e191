"""`tcptutor grade`: what hand-ins are worth, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tcptutor import places
from tcptutor.columns import table
from tcptutor.commands.output import print_lines, toned, warn
from tcptutor.commands.targets import check_targets
from tcptutor.course.load import read_course
from tcptutor.course.model import Course
from tcptutor.errors import TutorError
from tcptutor.evidence.hand_in import opened_hand_in
from tcptutor.evidence.keys import course_code, read_key
from tcptutor.files import whole
from tcptutor.grading.formats import GradedFile, formatted, modules
from tcptutor.grading.grade import ActivityMark, Grade
from tcptutor.grading.marking import grade

_SIGNS = {"full": "✓", "part": "◐", "none": "✗", "missing": "○", "refused": "✗", "inconclusive": "?"}


def grade_files(
    names: Sequence[str],
    key: str | None,
    lessons: Path | None,
    kind: str,
    output: str | None,
    replace: bool,
    everything: bool,
) -> int:
    """The exit code: 1 when one of the hand-ins could not be read. Raises TutorError for all others at once."""
    paths = [Path(name) for name in names]
    if output is not None:
        check_targets([Path(output)], paths, replace=replace)
    code = _code(key)
    course = _course(lessons)
    graded = [_graded(path, course, code) for path in paths]
    for each in graded:
        if each.grade is None:
            warn(each.problem)
    if output is not None or kind != "text":
        text = formatted(graded, "json" if kind == "text" else kind)
        if output is None:
            print_lines(text.splitlines())
        else:
            with whole(Path(output), "give another place with -o") as beside:
                beside.write_text(text)
            print_lines([f"wrote {output}"])
    else:
        for each in graded:
            if each.grade is not None:
                print_lines(_lines(each, each.grade, everything))
    return 1 if any(each.grade is None for each in graded) else 0


def _code(key: str | None) -> str:
    """That of a key's file, or one that was typed; empty for none."""
    if key is None:
        return ""
    path = Path(key)
    return read_key(path).code if path.exists() else course_code(key)


def _course(lessons: Path | None) -> Course:
    course, problems = read_course(lessons or places.lessons())
    if problems:
        raise problems[0]  # a page that is left out would cost marks
    return course


def _graded(path: Path, course: Course, code: str) -> GradedFile:
    try:
        with opened_hand_in(path) as hand_in:
            return GradedFile(path.name, grade(hand_in, course, code))
    except TutorError as error:
        return GradedFile(path.name, None, str(error))


def _lines(graded: GradedFile, found: Grade, everything: bool) -> Iterator[str]:
    who = found.student or graded.file
    yield f"{toned(who, 'title')}  {found.total:.4g} of {found.of:.4g} marks, {100 * found.share:.0f} %"
    if found.refused:
        yield f"  {toned(found.refused, 'bad')}"
    for remark in found.remarks:
        yield f"  {toned(remark, 'doubt')}"
    rows = [(name, f"{got:.4g}", "of", f"{of:.4g}") for name, (got, of) in modules(found).items()]
    yield from table(rows, right=(False, True, False, True))
    told = [mark for mark in found.marks if everything or mark.outcome in ("refused", "inconclusive")]
    yield from table([_row(mark) for mark in told], indent=4)


def _row(mark: ActivityMark) -> tuple[str, str, str, str]:
    place = f"{mark.module}/{mark.page}"
    return (
        _SIGNS[mark.outcome],
        f"{place} {mark.activity}",
        f"{mark.marks:.3g} of {mark.of:.3g}",
        mark.reason,
    )
