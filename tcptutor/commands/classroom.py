"""`tcptutor class`: show the results of a class on screen, as text, JSON, CSV or an HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tcptutor.base.columns import table
from tcptutor.base.files import atomic
from tcptutor.commands.grade import exit_code, grade_all, hand_ins, read_course_key
from tcptutor.commands.output import on_terminal, print_json, print_lines, toned, width
from tcptutor.commands.targets import check_plot, check_targets, draw_plot
from tcptutor.grading import views
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.formats import format_grades
from tcptutor.grading.survey import Survey, anonymize, anonymize_files, survey
from tcptutor.grading.views import TableView, marks_histogram, table_views


class ClassRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor class`."""

    names: tuple[str, ...]
    key: str | None
    lessons: Path | None
    modules: tuple[str, ...]
    as_json: bool
    csv: str | None
    html: str | None
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
    targets = [Path(name) for name in (request.csv, request.html) if name is not None]
    check_plot(request.plot, paths, replace=request.replace, as_json=request.as_json)
    check_targets(targets, paths, replace=request.replace, elsewhere="give another name")
    basis = GradingBasis.from_options(request.lessons, code, request.modules)
    graded = grade_all(paths, basis, request.jobs, request.cluster)
    named = survey(graded, basis.course)
    shown = anonymize(named) if request.anonymous else named
    if request.csv is not None:
        rows = anonymize_files(graded, named) if request.anonymous else graded
        _write(Path(request.csv), format_grades(rows, "csv"))
    if request.html is not None:
        _write(Path(request.html), views.class_page(shown))
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

        ended = show_on_screen(named, anonymous=request.anonymous)
        return ended or exit_code(graded)
    else:
        print_lines(_lines(shown))
    return exit_code(graded)


def _write(target: Path, text: str) -> None:
    with atomic(target, "give another name") as temporary:
        temporary.write_text(text, encoding="utf-8")


def _lines(shown: Survey) -> Iterator[str]:
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
