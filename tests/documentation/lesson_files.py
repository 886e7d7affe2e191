"""The reference of lesson files, made from their types: `python -m tests.documentation lessons`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from tcptutor.base import places
from tcptutor.course.activities import TABLES
from tcptutor.course.claim import Claim
from tcptutor.course.glossary import Term
from tcptutor.course.lesson_format import ExperimentFile, StepFile
from tcptutor.course.outline import CourseFile, ModuleFile
from tcptutor.course.step import Step
from tcptutor.figures.kinds import KINDS

PAGE = places.assets() / "documentation" / "lessons.md"
_HEAD = """\
# Lesson files

A course is a folder of TOML and Markdown. `tcptutor new-course FOLDER` begins one with a commented example of every
kind of page, question and figure: change it rather than begin from nothing. `tcptutor preview FOLDER` shows the pages
as students see them, again after each save, with the mistakes next to them; a preview keeps no answer and no run.
`tcptutor lint FOLDER` lists every mistake with file, line and key, `tcptutor lint FOLDER --run` measures what the pages
say about runs, `tcptutor --course FOLDER` opens the course, and `tcptutor course pack FOLDER` makes one file of it for
students. [A course](course.md) says how students open one.

    course.toml                     title, modules, and in a graded course [marks]
    glossary.toml                   terms that pages print in bold
    01-my-module/module.toml        title and objectives
    01-my-module/experiments/x.toml the experiments of the module
    01-my-module/01-my-page.md      a page: TOML between two lines of +++, then Markdown
    de/01-my-module/01-my-page.md   the words of the page in German: see "Translations"

In texts, `[](page:PAGE)` refers to a page before this one and `[](later:MODULE/PAGE)` to one after it, and
`![](figure:ID)` on a line of its own places a figure. `{variant.NAME}` inserts a value of `[variants]`, which differs
between the students of a graded course. Quantities are written with their unit: "20 ms", "64 KiB", "10 Mbit/s",
"0.1 %".

## Translations

A translation is a folder named by a language tag (`de`, `pt-BR`), with the words of some pages. All else is the
original's: other pages, ids, right answers, experiments. So marks are the same in every language, and a class may mix.

    tcptutor course translate FOLDER de MODULE/PAGE     write the file to fill in; MODULE alone: all its files
    tcptutor course translate FOLDER de                 how far the translation is
    tcptutor lint FOLDER                                what is wrong with it
    tcptutor preview FOLDER --language de               see it, again after each save

Translate the texts in place; a text that you leave is shown in the original. Keep numbers as they are written (only
the comma in 1,448 may go), `code`, `{placeholders}`, links and figures: a text without them is shown in the original.
`original = "..."` is a digest of the words that a part (the page's own texts, a question, a figure) was translated
from. Once they change, students see the original of this part, so nobody is marked by an old text; `lint` warns, and
names the new digest to write after you have compared. `module.toml` and `course.toml` may be translated for titles,
and with `glossary` in place of MODULE the terms; the app's own words stay in English, lectures and question banks in
the original. Without `--language`, `language` in the configuration file counts, then the locale. If the lessons
themselves are not in English, write `language` in `course.toml`.

## Reference

This page is made from the program by `python -m tests.documentation lessons`. Keys without a default (–) are required.
"""


def page() -> str:
    """Return the reference as Markdown."""
    parts = [_HEAD]
    told: dict[type, str] = {}
    parts += _section("course.toml", CourseFile, told)
    parts += _section("[[term]] in glossary.toml", Term, told)
    parts += _section("module.toml", ModuleFile, told)
    parts += _section("experiments/NAME.toml", ExperimentFile, told)
    parts += ["## A page\n", *_table(_page_rows())]
    parts += _section("[[claim]]", Claim, told)
    for table in TABLES:
        many = "[[{}]]" if table.many else "[{}]"
        kind = table.__struct_config__.tag
        parts += _section(many.format(table.table) + (f', kind = "{kind}"' if kind else ""), table, told)
    for figure in KINDS:
        parts += _section(f'[[figure]], kind = "{figure.__struct_config__.tag}"', figure, told)
    return "\n".join(parts)


def _section(title: str, kind: type[msgspec.Struct], told: dict[type, str]) -> Iterator[str]:
    """Yield a table of keys, and those of tables inside; `told` has the tables so far, each told once."""
    yield f"## `{title}`\n"
    yield f"{_first_line(kind)}\n"
    yield from _table(_rows(kind))
    as_elsewhere: list[str] = []
    for name, nested in _nested(kind):
        if any(name.startswith(f"{each}.") for each in as_elsewhere):
            continue
        if nested in told:
            as_elsewhere.append(name)
            yield f"`{name}`: as in `{told[nested]}`.\n"
            continue
        told[nested] = title
        yield f"`{name}`: {_first_line(nested)[:1].lower()}{_first_line(nested)[1:]}\n"
        yield from _table(_rows(nested))


def _table(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    yield "| key | value | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _rows(kind: type[msgspec.Struct]) -> list[tuple[str, str, str, str]]:
    hints, told = get_type_hints(kind), _meanings(kind)
    return [
        (f"`{field.encode_name}`", _value(hints[field.name]), _default(field), told.get(field.name, ""))
        for field in msgspec.structs.fields(kind)
    ]


def _page_rows() -> list[tuple[str, str, str, str]]:
    told, tables = _meanings(Step), {table.table for table in TABLES} | {"claim", "figure"}
    told |= {"variants": "Lists of values, the n-th of each for the n-th variant of the page."}
    return [
        (f"`{field.name}`", _value(field.type), _default(field), told.get(field.name, ""))
        for field in msgspec.structs.fields(StepFile)
        if field.name not in tables
    ]


def _nested(kind: type[msgspec.Struct], before: str = "") -> Iterator[tuple[str, type[msgspec.Struct]]]:
    hints = get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        for inner in _structs(hints[field.name]):
            name = f"{before}{field.encode_name}"
            yield name, inner
            yield from _nested(inner, f"{name}.")


def _structs(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for each in get_args(hint):
        yield from _structs(each)


_NAMES = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def _value(hint: Any) -> str:
    if hint in _NAMES:
        return _NAMES[hint]
    inner = [each for each in get_args(hint) if each not in (type(None), ...)]
    origin = get_origin(hint)
    if origin is Literal:
        return " or ".join(f'"{each}"' for each in inner if each != "")
    if origin is tuple:
        return f"list of {_value(inner[0])}" if len(inner) == 1 else "pair"
    if origin is dict:
        return f"table of {_value(inner[1])}"
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return "table"
    if origin is Union or inner:
        return " or ".join(dict.fromkeys(map(_value, inner)))
    return "value"


def _default(field: Any) -> str:
    if field.required:
        return "–"
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    if value is None or value in ("", (), {}, []) or isinstance(value, msgspec.Struct):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _first_line(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())


@cache
def _meanings(kind: type) -> dict[str, str]:
    """Return the docstrings of the fields of a class and its bases."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not each.__module__.startswith("tcptutor"):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for statement, after in pairwise(body):
            text = after.value if isinstance(after, ast.Expr) else None
            if isinstance(statement, ast.AnnAssign) and isinstance(text, ast.Constant):
                found[ast.unparse(statement.target)] = " ".join(str(text.value).split())
    return found
