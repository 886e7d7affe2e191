"""The reference of lesson files, made from their types: `python -m tests.documentation lessons`."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from tcptutor.base import places
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.activities import TABLES
from tcptutor.course.claim import MEASURED_SUBJECTS, Claim
from tcptutor.course.formulas import KNOWN
from tcptutor.course.glossary import Term
from tcptutor.course.goals.terms import PLACES, TERMS
from tcptutor.course.lesson_format import ExperimentFile, StepFile
from tcptutor.course.measurements import MEASURED
from tcptutor.course.outline import CourseFile, ModuleFile
from tcptutor.course.step import Step
from tcptutor.figures.curve.law import REQUIRED
from tcptutor.figures.curve.laws import law, law_names
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
"0.1 %". The interface where the first switch sends towards the receivers is s1-eth2 with one host pair, and s1-eth1
with several: a figure of the kind "network" shows all names.

## Numbers about runs

A number that a page says about a run needs a `[[claim]]`: its words, and the [quantity](#quantities) to measure.

    tcptutor lint FOLDER --run MODULE/PAGE              measure it; runs take their time, and are kept
    tcptutor lint FOLDER --run MODULE/PAGE --seeds 5    with more seeds, before students see the page

By default two runs have to agree. In a graded course each student has a seed of their own, so a number that holds for
two of five seeds is wrong on the screens of many: give its claim a larger `tolerance`, or say less, such as "about four
fifths".

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
    printed: set[str] = set()
    parts += _section("course.toml", CourseFile, told, printed)
    parts += _section("[[term]] in glossary.toml", Term, told, printed)
    parts += _section("module.toml", ModuleFile, told, printed)
    parts += _section("experiments/NAME.toml", ExperimentFile, told, printed)
    parts += ["## A page\n", *_docstring(StepFile.__module__), *_table(_page_rows())]
    parts += _section("[[claim]]", Claim, told, printed)
    parts += _quantities()
    for table in TABLES:
        many = "[[{}]]" if table.many else "[{}]"
        kind = table.__struct_config__.tag
        parts += _section(
            many.format(table.table) + (f', kind = "{kind}"' if kind else ""), table, told, printed
        )
    parts += _goal_quantities()
    for figure in KINDS:
        parts += _section(f'[[figure]], kind = "{figure.__struct_config__.tag}"', figure, told, printed)
    parts += _laws()
    return "\n".join(parts)


def _quantities() -> Iterator[str]:
    """Yield what can be claimed of a run, and asked about it."""
    yield "## Quantities\n"
    yield (
        "For `quantity` of claims and of conditions. Formulas take the settings and need no run. A *yes* under *flow*"
        " allows `flow = 1`, under *period* `start` and `end`; without them the sum or the mean of all flows counts,"
        " after the warm-up.\n"
    )
    yield from _columns("quantity", "kind", "flow", "period", "meaning")
    for name, known in KNOWN.items():
        yield _cells(
            f"`{name}`", known.kind, "", "", f"formula: {_KNOWN.get(name) or _of_function(known.compute)}"
        )
    yield _cells("`arithmetic`", "any", "", "", "formula: what `formula` gives, `70 / (30 + 70)`")
    yield _cells("`published`", "any", "", "", "the entry of a document that `source` names")
    for name, figure in MEASURED.items():
        by_flow, periods = ("yes" if each else "" for each in (figure.by_flow, figure.has_periods))
        yield _cells(f"`{name}`", figure.kind, by_flow, periods, figure.phrase.format("…"))
    causes = ", ".join(f"`{each}`" for each in CAUSE_NAMES)
    yield _cells("`limited-by`", "name", "yes", "yes", f"what limited the flows: {causes}")
    yield ""


_KNOWN = {"segment": "payload of a full segment, bytes"}
"""Meanings of formulas without a docstring."""


def _goal_quantities() -> Iterator[str]:
    """Yield what goals of shells and challenges are about."""
    yield "## Quantities of goals\n"
    own = {name: each for name, each in TERMS.items() if name.partition("run.")[2] not in MEASURED}
    named = ", ".join(f"`{name}` ({each.kind})" for name, each in own.items())
    yield (
        'For `when` of goals: a value (`"20 ms"`), a bound (`">= 90 %"`) or a range (`"8 ms to 9 ms"`). A quantity of a'
        " run is `run.` and a name of [the table above](#quantities), such as `run.max-rtt`. Further:"
        f" {named}.\n"
    )
    yield (
        "`sysctl.tcp_sack` is a setting of the kernel on all hosts, `sysctl.h1.tcp_sack` on one. Of a place, such as"
        f" `mtu.h1` or `mtu.s1-eth2`: {', '.join(f'`{name}`' for name in PLACES)}. `ping.h1` counts answers to pings of"
        " h1 since the network last changed, `filtered.h2` packets that rules of h2 dropped; `server.h2` is on while a"
        " program of h2 listens, `capture.h1` while one on h1 captures.\n"
    )


def _laws() -> Iterator[str]:
    """Yield the laws that a curve can show."""
    yield "## Laws of curves\n"
    yield (
        "For `law` of a curve's line. `x.of` is one of its axes, `shows` one of its results (the first by default),"
        " `set` has its other parameters; those in brackets may be left out. `tcptutor model` explains those that are"
        " models, with `_` for `-`.\n"
    )
    yield from _columns("law", "x.of", "shows", "set")
    for name in law_names():
        found = law(name)
        given = (
            f"`{each}`" if default is REQUIRED else f"[`{each}`]"
            for each, (_, default) in found.parameters.items()
        )
        axes, results = (", ".join(f"`{each}`" for each in names) for names in (found.over, found.gives))
        yield _cells(f"`{name}`", axes, results, " ".join(given))
    yield ""


def _of_function(function: Callable[..., object]) -> str:
    """Return what a function returns, by its docstring."""
    line = _first_line(function).removeprefix("Return the ").removeprefix("Return ")
    return line.rstrip(".")


def _columns(*names: str) -> Iterator[str]:
    yield _cells(*names)
    yield _cells(*["---"] * len(names))


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _section(
    title: str, kind: type[msgspec.Struct], told: dict[type, str], printed: set[str]
) -> Iterator[str]:
    """Yield a table of keys, and those of tables inside.

    Args:
        title: The heading: a file or the header of a table.
        kind: The table.
        told: Titles by table so far; each is told once.
        printed: Modules so far whose example is printed.
    """
    yield f"## `{title}`\n"
    yield f"{_first_line(kind)}\n"
    yield from _example(kind, title.strip("[").partition("]")[0], printed)
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
        yield from _example(nested, name, printed)
        yield f"`{name}`: {_first_line(nested)[:1].lower()}{_first_line(nested)[1:]}\n"
        yield from _table(_rows(nested))


def _example(kind: type[msgspec.Struct], header: str, printed: set[str]) -> Iterator[str]:
    """Yield the docstring of the module of `kind`, once, if it has an example of a table with that header."""
    name = kind.__module__
    if name not in printed and re.search(
        rf"^\[+(\w+\.)*{header}\]", sys.modules[name].__doc__ or "", re.MULTILINE
    ):
        printed.add(name)
        yield from _docstring(name)


_CODE = re.compile(r"\[|#|\w+ = ")


def _docstring(module: str) -> Iterator[str]:
    """Yield the paragraphs below a docstring's first line, with the lines of files as code; nothing without any."""
    parts = (sys.modules[module].__doc__ or "").strip().split("\n\n")[1:]
    if not any(map(_CODE.match, parts)):
        return
    for part in parts:
        yield f"{textwrap.indent(part, '    ')}\n" if _CODE.match(part) else f"{part}\n"


def _table(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    yield from _columns("key", "value", "default", "meaning")
    for row in rows:
        yield _cells(*row)
    yield ""


def _rows(kind: type[msgspec.Struct]) -> list[tuple[str, str, str, str]]:
    hints, told = get_type_hints(kind), _meanings(kind)
    return [
        (
            f"`{field.encode_name}`",
            _value(hints[field.name]),
            _default(field),
            told.get(field.name, "") or _below(hints[field.name]),
        )
        for field in msgspec.structs.fields(kind)
    ]


def _below(hint: Any) -> str:
    return "Below." if any(_structs(hint)) else ""


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
    if origin is Literal and {*inner} >= MEASURED_SUBJECTS:
        return "a [quantity](#quantities)"
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


def _first_line(kind: object) -> str:
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
