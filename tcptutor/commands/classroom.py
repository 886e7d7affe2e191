"""`tcptutor class`: what a class did, on a screen, as text, JSON, CSV or one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tcptutor.base.columns import table
from tcptutor.base.files import atomic
from tcptutor.commands.grade import exit_code, grade_all, hand_ins, key_of
from tcptutor.commands.output import on_terminal, print_json, print_lines, toned, width
from tcptutor.commands.targets import check_targets
from tcptutor.grading import web
from tcptutor.grading.anonymous import anonymous, anonymous_files
from tcptutor.grading.batch import Asked
from tcptutor.grading.formats import formatted
from tcptutor.grading.survey import Survey, survey
from tcptutor.grading.views import TableView, views


class ClassRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What `tcptutor class` was asked for."""

    names: tuple[str, ...]
    key: str | None
    lessons: Path | None
    modules: tuple[str, ...]
    as_json: bool
    csv: str | None
    html: str | None
    replace: bool
    anonymous: bool
    as_text: bool
    jobs: int | None
    cluster: str | None


def show_class(asked: ClassRequest) -> int:
    """The exit code: 1 when a hand-in could not be read, or none is of the course. Raises TutorError."""
    paths = hand_ins(asked.names)
    code, _ = key_of(asked.key)
    targets = [Path(name) for name in (asked.csv, asked.html) if name is not None]
    check_targets(targets, paths, replace=asked.replace, elsewhere="give another name")
    by = Asked.of(asked.lessons, code, asked.modules)
    graded = grade_all(paths, by, asked.jobs, asked.cluster)
    named = survey(graded, by.course)
    found = anonymous(named) if asked.anonymous else named
    if asked.csv is not None:
        rows = anonymous_files(graded, named) if asked.anonymous else graded
        _write(Path(asked.csv), formatted(rows, "csv"))
    if asked.html is not None:
        _write(Path(asked.html), web.page(found))
    if asked.as_json:
        print_json(msgspec.to_builtins(found))
    elif targets:
        print_lines(f"wrote {target}" for target in targets)
    elif not asked.as_text and on_terminal():
        from tcptutor.ui.viewers import show_class as show_on_screen  # noqa: PLC0415  # Textual takes its time

        ended = show_on_screen(named, anonymous=asked.anonymous)
        return ended or exit_code(graded)
    else:
        print_lines(_lines(found))
    return exit_code(graded)


def _write(target: Path, text: str) -> None:
    with atomic(target, "give another name") as beside:
        beside.write_text(text, encoding="utf-8")


def _lines(found: Survey) -> Iterator[str]:
    yield toned(found.title, "title")
    for view in views(found):
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
