"""`tcptutor grade` and `tcptutor class`: grade hand-ins, and show the results of a class."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import click
import msgspec

from tcptutor.base.columns import table
from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.files import atomic
from tcptutor.commands.class_lists import ClassLists, read_lists
from tcptutor.commands.comments import write_drafts
from tcptutor.commands.folding import fold_line, fold_rows
from tcptutor.commands.language import chosen_language
from tcptutor.commands.output import Bar, on_terminal, print_json, print_lines, toned, warn, width
from tcptutor.commands.sheets import write_sheets
from tcptutor.commands.student_files import check_folder
from tcptutor.commands.targets import check_plot, check_targets, draw_plot
from tcptutor.grading import batch, session
from tcptutor.grading.adjustments import settle
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.class_page import class_page
from tcptutor.grading.copies import remark_copies
from tcptutor.grading.drill_down import SIGNS, ClassDetails
from tcptutor.grading.evidence.hand_in import SUFFIX
from tcptutor.grading.evidence.keys import CourseKey, parse_course_code, read_key
from tcptutor.grading.formats import format_grades, modules
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.item_statistics import items_csv
from tcptutor.grading.reruns import Choice, Reruns, parse_choice
from tcptutor.grading.roster import RollCall
from tcptutor.grading.selection import instead, select, superseded_lines
from tcptutor.grading.survey import Survey, anonymize, anonymize_files, survey
from tcptutor.grading.versions import CourseVersions, lost_versions
from tcptutor.grading.views import TableView, marks_histogram, percent, table_views

_MarkRow = tuple[str, str, str, str]
"""Sign, place, marks and reason."""


class GradeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor grade`."""

    names: tuple[str, ...]
    key: str | None
    versions: Path | None = None
    modules: tuple[str, ...]
    roster: Path | None
    roster_column: str | None
    section: str | None
    exceptions: Path | None
    kind: str
    output: str | None
    replace: bool
    everything: bool
    rerun: str | None
    audit: str | None
    comments: Path | None
    sheets: Path | None
    language: str | None = None
    jobs: int | None
    cluster: str | None


def grade_files(request: GradeRequest) -> int:
    """Grade the hand-ins and return the exit code: 1 if a hand-in is unreadable, or none belongs to the course.

    Raises TutorError for a problem that concerns all of them.
    """
    if request.language is not None and request.sheets is None:
        raise UsageError("--language is the language of sheets: give --sheets as well")
    language = chosen_language(request.language) if request.sheets is not None else ""
    paths = hand_ins(request.names)
    if request.output is not None:
        check_targets([Path(request.output)], paths, replace=request.replace)
    for option, folder in (("--comments", request.comments), ("--sheets", request.sheets)):
        if folder is not None:
            check_folder(folder, option)
    code, key = read_course_key(request.key)
    choice = parse_choice(request.rerun, request.audit, key)
    basis, lists = _read_basis(request, paths, code)
    graded = grade_all(paths, basis, lists, request.jobs, request.cluster, choice)
    graded, roll = lists.call_roll(graded)
    _print_grades(graded, roll, request)
    if request.comments is not None:
        write_drafts(graded, request.comments, request.replace)
    if request.sheets is not None:
        write_sheets(graded, basis.course, request.sheets, request.replace, language)
    return exit_code(graded)


def exit_code(graded: Sequence[GradedFile]) -> int:
    """Return 1 if a hand-in could not be read or none counts, otherwise 0."""
    return int(session.none_counts(graded) or any(each.grade is None for each in graded))


def _read_basis(
    request: GradeRequest | ClassRequest, paths: Sequence[Path], code: str
) -> tuple[GradingBasis, ClassLists]:
    """Return the basis of grading and the teacher's lists that the options name. Raises UsageError."""
    places = [*map(Path, request.names), *paths]
    lists = read_lists(request.roster, request.roster_column, request.section, request.exceptions, places)
    basis = GradingBasis.from_options(None, code, request.modules)
    return replace(basis, decisions=lists.for_marking, versions=request.versions), lists


def _print_grades(graded: Sequence[GradedFile], roll: RollCall | None, request: GradeRequest) -> None:
    if request.output is None and request.kind == "text":
        print_lines(_text(graded, roll, request.everything, width()))
        return
    if request.kind == "text":
        text = "\n".join([*map(click.unstyle, _text(graded, roll, request.everything, None)), ""])
    else:
        text = format_grades(graded, request.kind, roll)
    if request.output is None:
        print_lines(text.splitlines())
        return
    with atomic(Path(request.output), "give another place with -o") as temporary:
        temporary.write_text(text)
    print_lines([f"wrote {request.output}"])


def hand_ins(names: Sequence[str]) -> list[Path]:
    """Return the named hand-ins and the contents of named folders. Raises UsageError for an empty result."""
    paths = batch.find_hand_ins([Path(name) for name in names])
    if not paths:
        raise UsageError(f"no hand-ins in {', '.join(names)}: their names end in {SUFFIX}")
    return paths


def read_course_key(given: str | None) -> tuple[str, CourseKey | None]:
    """Return the course code, empty for none, and the key if `given` names a key file."""
    if given is None:
        return "", None
    # Try the code first: a student's folder could contain a file with the code as its name.
    with contextlib.suppress(UsageError):
        return parse_course_code(given), None
    path = Path(given)
    if not path.exists():
        raise UsageError(
            f"{quoted(given)} is neither a course code, like ABCD-EFGH-2345-WXQG, nor a key file"
        )
    key = read_key(path)
    return key.code, key


def grade_all(
    paths: Sequence[Path],
    basis: GradingBasis,
    lists: ClassLists,
    jobs: int | None,
    cluster: str | None,
    choice: Choice | None = None,
) -> list[GradedFile]:
    """Grade with a progress bar, repeat the runs of `choice`, apply decisions, select hand-ins, and warn of failures.

    Raises the errors of `grading.session.grade_all` and of `grading.reruns.Reruns`.
    """
    with Bar("hand-ins", len(paths)) as bar:
        graded = session.grade_all(paths, basis, jobs, cluster, bar)
    if choice is not None:
        reruns = Reruns(choice, basis.all_versions, jobs, cluster)
        if experiments := reruns.plan(graded):
            with Bar("runs", len(experiments)) as bar:
                reruns.run(experiments, bar.advance)
        graded = reruns.compare(graded)
    graded = select(lists.adjust(graded, basis), basis.course.marks.hand_ins)
    graded = settle(remark_copies(graded))
    for each in graded:
        if each.grade is None:
            warn(each.problem)
    for line in superseded_lines(graded):
        warn(line)
    if basis.versions is not None:
        versions = CourseVersions(basis.course, basis.versions)
        for line in (
            *versions.ambiguous,
            *lost_versions(graded, basis.versions, versions.has),
        ):
            warn(line)
    if session.none_counts(graded):
        warn(f"no hand-in belongs to the course {basis.code}: check the key")
    return graded


def _text(
    graded: Sequence[GradedFile], roll: RollCall | None, everything: bool, columns: int | None
) -> Iterator[str]:
    for each in graded:
        if each.grade is not None:
            yield from _lines(each, each.grade, everything, columns)
    for row in roll.missing if roll else ():
        yield f"{toned(row.label, 'title')}  no hand-in"


def _lines(graded: GradedFile, result: Grade, everything: bool, columns: int | None) -> Iterator[str]:
    who = result.student or graded.file
    if graded.superseded_by:
        yield f"{toned(who, 'title')}  {graded.file} {instead(graded)}"
        return
    yield f"{toned(who, 'title')}  {result.total:.4g} of {result.of:.4g} marks, {percent(result.share)}"
    if result.refused:
        yield from fold_line(f"  {result.refused}", columns, "bad")
    for decision in result.decisions:
        yield from fold_line(f"  {decision}", columns)
    for remark in result.remarks:
        yield from fold_line(f"  {remark.line}", columns, "doubt" if remark.level == "decide" else "faint")
    if graded.file or everything:
        rows = [(name, f"{got:.4g}", "of", f"{of:.4g}") for name, (got, of) in modules(result).items()]
        yield from table(rows, right=(False, True, False, True))
    shown = [
        mark
        for mark in result.marks
        if everything
        or mark.distrusted
        or mark.outcome in ("refused", "inconclusive")
        or _is_decided_on_page(mark, result)
    ]
    yield from fold_rows([*_mark_rows(shown)], columns, indent=4)


def _is_decided_on_page(mark: ActivityMark, result: Grade) -> bool:
    """Return whether a decision is on the mark or its page, rather than on all of the module or course."""
    return any(
        each.grounds == mark.decision
        and "/" in each.page
        and each.concerns(mark.module, mark.page, mark.activity)
        for each in result.decisions
    )


def _mark_rows(marks: Sequence[ActivityMark]) -> Iterator[_MarkRow]:
    """Yield a row per mark, and a summary row for the missing activities of each page."""
    for (module, page), of_page in groupby(marks, lambda mark: (mark.module, mark.page)):
        found = [*of_page]
        missing = [mark for mark in found if mark.outcome == "missing" and not mark.decision]
        yield from (mark_row(mark) for mark in found if mark not in missing)
        if missing:
            of = f"0 of {sum(mark.of for mark in missing):.3g}"
            names = ", ".join(mark.activity for mark in missing)
            reason = "not done" if missing == found else f"not done: {names}"
            yield SIGNS["missing"], f"{module}/{page}", of, reason


def mark_row(mark: ActivityMark) -> _MarkRow:
    """Return the sign, place, marks and reason of an activity."""
    place = f"{mark.module}/{mark.page}"
    return (
        SIGNS[mark.outcome],
        f"{place} {mark.activity}",
        f"{mark.marks:.3g} of {mark.of:.3g}" if mark.counts else "–",
        mark.reason,
    )


class ClassRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor class`."""

    names: tuple[str, ...]
    key: str | None
    versions: Path | None = None
    modules: tuple[str, ...]
    roster: Path | None
    roster_column: str | None
    section: str | None
    exceptions: Path | None
    as_json: bool
    csv: str | None
    html: str | None
    items: str | None = None
    plot: Path | None = None
    replace: bool
    anonymous: bool
    as_text: bool
    jobs: int | None
    cluster: str | None


def show_class(request: ClassRequest) -> int:
    """Show the class and return the exit code: 1 if a hand-in is unreadable, or none belongs to the course.

    Raises TutorError.
    """
    paths = hand_ins(request.names)
    code, _ = read_course_key(request.key)
    targets = [Path(name) for name in (request.csv, request.html, request.items) if name is not None]
    check_plot(request.plot, paths, replace=request.replace, as_json=request.as_json)
    check_targets(targets, paths, replace=request.replace, elsewhere="give another name")
    basis, lists = _read_basis(request, paths, code)
    graded, roll = lists.call_roll(grade_all(paths, basis, lists, request.jobs, request.cluster))
    missing = [row.label for row in roll.missing] if roll else []
    named = survey(graded, basis.course, missing)
    shown = anonymize(named) if request.anonymous else named
    if request.csv is not None:
        rows = anonymize_files(graded, named) if request.anonymous else graded
        _write(Path(request.csv), format_grades(rows, "csv", None if request.anonymous else roll))
    if request.html is not None:
        _write(Path(request.html), class_page(shown))
    if request.items is not None:
        _write(Path(request.items), items_csv(named.questions))
    if request.plot is not None:
        draw_plot(request.plot, marks_histogram(shown))
    if request.as_json:
        print_json(msgspec.to_builtins(shown))
    elif targets:
        print_lines(f"wrote {target}" for target in targets)
    elif request.plot is not None:
        pass
    elif not request.as_text and on_terminal():
        from tcptutor.ui.frame import show_class as show_on_screen  # noqa: PLC0415  # importing Textual is slow

        ended = show_on_screen(named, ClassDetails.of(graded, named), anonymous=request.anonymous)
        return ended or exit_code(graded)
    else:
        print_lines(_class_lines(shown))
    return exit_code(graded)


def _write(target: Path, text: str) -> None:
    with atomic(target, "give another name") as temporary:
        temporary.write_text(text, encoding="utf-8")


def _class_lines(shown: Survey) -> Iterator[str]:
    yield toned(shown.title, "title")
    for view in table_views(shown):
        yield ""
        yield from _table(view)


def _table(view: TableView) -> Iterator[str]:
    yield toned(view.title, "title")
    if view.rows:
        rows = [view.head, *view.rows]
        widest = [max(map(len, column)) for column in zip(*rows, strict=True)]
        yield from table(rows, widest[:-1], right=view.right, fold=width() is not None, width=width() or 0)
    for note in view.notes:
        yield f"  {note}"
