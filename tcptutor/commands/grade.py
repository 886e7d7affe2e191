"""`tcptutor grade`: what hand-ins are worth, and why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from tcptutor.base.columns import table
from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.files import atomic
from tcptutor.commands.bar import Bar
from tcptutor.commands.output import print_lines, toned, warn
from tcptutor.commands.targets import check_targets
from tcptutor.grading import batch, session
from tcptutor.grading.batch import Asked
from tcptutor.grading.evidence.hand_in import SUFFIX
from tcptutor.grading.evidence.keys import CourseKey, course_code, read_key
from tcptutor.grading.formats import formatted, modules
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.reruns import Reruns, chosen
from tcptutor.grading.students import replaced

_SIGNS = {"full": "✓", "part": "◐", "none": "✗", "missing": "○", "refused": "✗", "inconclusive": "?"}


class GradeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `tcptutor grade` was asked for."""

    names: tuple[str, ...]
    key: str | None
    lessons: Path | None
    modules: tuple[str, ...]
    kind: str
    output: str | None
    replace: bool
    everything: bool
    rerun: str | None
    audit: str | None
    jobs: int | None
    cluster: str | None


def grade_files(asked: GradeRequest) -> int:
    """The exit code: 1 when one of the hand-ins could not be read, or none is of the course. Raises TutorError for what
    is wrong with all at once.
    """
    paths = hand_ins(asked.names)
    if asked.output is not None:
        check_targets([Path(asked.output)], paths, replace=asked.replace)
    code, key = key_of(asked.key)
    choice = chosen(asked.rerun, asked.audit, key)
    by = Asked.of(asked.lessons, code, asked.modules)
    graded = grade_all(paths, by, asked.jobs, asked.cluster)
    if choice is not None:
        reruns = Reruns(choice, by.course, asked.jobs, asked.cluster)
        if experiments := reruns.plan(paths, graded):
            with Bar("runs", len(experiments)) as bar:
                reruns.run(experiments, bar.one_more)
        graded = reruns.compare(paths, graded)
    _tell(graded, asked)
    return exit_code(graded)


def exit_code(graded: Sequence[GradedFile]) -> int:
    """1 when one could not be read, or none counts."""
    return int(session.none_counts(graded) or any(each.grade is None for each in graded))


def _tell(graded: Sequence[GradedFile], asked: GradeRequest) -> None:
    if asked.output is None and asked.kind == "text":
        for each in graded:
            if each.grade is not None:
                print_lines(_lines(each, each.grade, asked.everything))
        return
    if asked.kind == "text":
        told = [line for each in graded if each.grade for line in _lines(each, each.grade, asked.everything)]
        text = "\n".join([*map(click.unstyle, told), ""])
    else:
        text = formatted(graded, asked.kind)
    if asked.output is None:
        print_lines(text.splitlines())
        return
    with atomic(Path(asked.output), "give another place with -o") as beside:
        beside.write_text(text)
    print_lines([f"wrote {asked.output}"])


def hand_ins(names: Sequence[str]) -> list[Path]:
    """All that are named, or in folders that are. Raises UsageError where there is none."""
    paths = batch.hand_ins([Path(name) for name in names])
    if not paths:
        raise UsageError(f"no hand-in is in {', '.join(names)}: their names end in {SUFFIX}")
    return paths


def key_of(given: str | None) -> tuple[str, CourseKey | None]:
    """The code of the course, empty for none, and its key where `given` is the name of a key's file."""
    if given is None:
        return "", None
    # A code first: the folder may be a student's, and a file in it called like the code.
    with contextlib.suppress(UsageError):
        return course_code(given), None
    path = Path(given)
    if not path.exists():
        raise UsageError(
            f"{quoted(given)} is no course's code, which looks like ABCD-EFGH-2345-WXQG, and no file of a key"
        )
    key = read_key(path)
    return key.code, key


def grade_all(paths: Sequence[Path], basis: Asked, jobs: int | None, cluster: str | None) -> list[GradedFile]:
    """Grade with a bar, and warn of what could not be graded. Raises as `grading.session.grade_all`."""
    with Bar("hand-ins", len(paths)) as bar:
        graded = session.grade_all(paths, basis, jobs, cluster, bar.one_more)
    for each in graded:
        if each.grade is None:
            warn(each.problem)
    for line in replaced(graded):
        warn(line)
    if session.none_counts(graded):
        warn(f"none of the hand-ins is of the course {basis.code}: is that the right key?")
    return graded


def _lines(graded: GradedFile, found: Grade, everything: bool) -> Iterator[str]:
    who = found.student or graded.file
    if graded.instead:
        yield f"{toned(who, 'title')}  {graded.file} does not count: {graded.instead} was made later"
        return
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
