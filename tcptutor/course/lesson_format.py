"""Lesson files as typed data; every problem is a one-line ContentError with file, key and reason.

A page is TOML front matter between two `+++` lines, followed by Markdown; every other file is plain TOML.

title = "Flow control: the receive window"
subtitle = "Who says how much"                # optional: a line below the title
path = "deeper"                               # or "essential", which every student reads
teaser = "why autotuning stops at half"       # on deeper pages: "Deeper: why autotuning stops at half, 5 min"
idea = "Twice the window, twice the rate."    # the page's main idea, for the notebook
formula = "window_limited"                    # optional: the model of `tcptutor model` to calculate with
published = '''Lab 6 measured 9.4 Gbit/s.'''  # optional Markdown, folded below the text after the run

In a graded course a page may have variants, with other values for each student:

[variants]                                  # in a page's front matter
loss = ["0.1 %", "0.05 %", "0.2 %"]         # the n-th values of all lists form a variant of the page
rate = ["9.0 Mbit/s", "12.8 Mbit/s", "6.4 Mbit/s"]

Elsewhere on the page `{variant.loss}` inserts the value: in settings, prose and claims. Outside graded courses
every student gets the first variant. The linter and the claims check every variant.

A text refers to another page as `[](page:PAGE)`, or `[words](later:MODULE/PAGE)` for a page that comes later. Empty
words become the page's title. The app shows links; exports and commands print the words.

A line `![](figure:ID)` in a text places the `[[figure]]` with that id.

A page compared with another page's run has as many variants, and sets `same_variant_as = "PAGE"` before its tables: a
student gets the same variant number on both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from tcptutor.base.errors import unknown
from tcptutor.course.activities import front_matter
from tcptutor.course.activity import ActivityTable, Setting
from tcptutor.course.claim import Claim
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.paths import PagePath
from tcptutor.course.translation import PageTranslation
from tcptutor.figures.figure import Figure
from tcptutor.figures.kinds import ANY_FIGURE


class ExperimentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of lessons/NN-slug/experiments/name.toml; `spec.build` checks the values."""

    title: str
    """Title in lists."""
    parameters: dict[str, Setting]
    """Settings: `tcptutor list` names all parameters, `tcptutor list NAME` explains one."""
    paper: dict[str, Setting] = {}
    """Values printed in the source where they differ; used by `--scale paper`."""
    pairs: int = 1
    """Host pairs, 1 to 4; `streams` flows of each."""
    seed: int = 1
    """First seed. A graded course gives each student a different seed."""
    sources: tuple[str, ...] = ()
    """Published results that it repeats."""
    reproduces: tuple[str, ...] = ()
    """Matching rows of assets/documentation/settings.toml, as `document: where`."""


StepFile = msgspec.defstruct(
    "StepFile",
    [
        ("title", str),
        ("subtitle", str, ""),
        ("path", PagePath | None, None),
        ("teaser", str, ""),
        ("idea", str, ""),
        ("formula", str, ""),
        ("after_run", str, ""),
        ("published", str, ""),
        ("claim", tuple[Claim, ...], ()),
        ("figure", tuple[ANY_FIGURE, ...], ()),
        ("variants", dict[str, tuple[str, ...]], msgspec.field(default_factory=dict)),
        ("same_variant_as", str, ""),
        *front_matter(),
    ],
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
)
"""Front matter of lessons/NN-slug/NN-step.md."""


@dataclass(frozen=True)
class StepText:
    """Parsed file of a step."""

    title: str
    subtitle: str
    path: PagePath | None
    teaser: str
    idea: str
    formula: str
    after_run: str
    published: str
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    prose: str
    same_variant_as: str
    tables: tuple[tuple[str, ActivityTable], ...]
    """Activities in page order, by front-matter key; repeated keys are numbered."""


CompleteTexts = Callable[[Any], Any]
"""Completes the page references in a text, or in all texts of a table; `course.page_references` has it."""


Translate = Callable[[Mapping[str, Any], str], PageTranslation]
"""Finds the translated words for a page's front matter and Markdown; `course.translated_files` has it."""


def read_step(
    file: LessonFile, complete: CompleteTexts, translate: Translate | None = None
) -> tuple[StepText, ...]:
    """Read the front matter and Markdown of every variant of a step, the page's own first.

    Args:
        file: The step's file.
        complete: Function that completes the page references in its texts.
        translate: Function that finds the translated words; None for the original.

    Raises:
        ContentError: The file cannot be read.
    """
    front, prose = file.split()
    table = file.tables(front)
    words = translate(table, prose) if translate else PageTranslation()
    shown, text = words.apply(table, prose)
    read: Any = file.convert_table(complete(shown), StepFile)
    if not read.variants and "{variant." not in front + prose:
        return (_text(read, complete(text)),)
    return tuple(_variants(file, front, prose, read, complete, words))


def _variants(
    file: LessonFile, front: str, prose: str, read: Any, complete: CompleteTexts, words: PageTranslation
) -> Iterator[StepText]:
    if wrong := _variants_problem(read.variants):
        raise file.problem(wrong[1], wrong[0])
    asked = set(_placeholders(front + prose))
    for name in sorted(asked - set(read.variants)):
        raise file.problem(
            unknown("list", name, read.variants) if read.variants else f"no list {name!r}", "variants"
        )
    for name in read.variants:
        if name not in asked:
            raise file.problem(
                f"{{variant.{name}}} is not used on the page: use it, or remove the list", f"variants.{name}"
            )
    if read.shell is not None:
        raise file.problem("a page with a [shell] cannot have variants: remove it", "variants")
    for variant in range(len(next(iter(read.variants.values())))):
        fill = partial(_filled, lists=read.variants, variant=variant)
        table, text = words.apply(file.tables(fill(front)), fill(prose), fill)
        page: Any = file.convert_table(complete(table), StepFile)
        yield _text(page, complete(text))


def _text(front: Any, prose: str) -> StepText:
    return StepText(
        title=front.title,
        subtitle=front.subtitle,
        path=front.path,
        teaser=front.teaser,
        idea=front.idea,
        formula=front.formula,
        after_run=front.after_run.strip(),
        published=front.published.strip(),
        claims=front.claim,
        figures=front.figure,
        prose=prose,
        same_variant_as=front.same_variant_as,
        tables=tuple(_tables(front)),
    )


def _tables(front: Any) -> Iterator[tuple[str, ActivityTable]]:
    for name, *_ in front_matter():
        found = getattr(front, name)
        if isinstance(found, tuple):
            for number, table in enumerate(found, 1):
                yield f"{name}[{number}]" if len(found) > 1 else name, table
        elif found is not None:
            yield name, found


VariantLists = Mapping[str, tuple[str, ...]]
"""Values of `[variants]` by name."""

MOST_VARIANTS = 8
_PLACEHOLDER = re.compile(r"\{variant\.([^}\n]*)\}")
_VARIANT_NAME = re.compile(r"[a-z][a-z0-9-]*")
_MARKS = frozenset("\"'\\`{}\n")
"""Characters that could end the string around a value."""


def _variants_problem(lists: VariantLists) -> tuple[str, str] | None:
    """Return key and reason of a mistake in the lists, or None."""
    count = len(next(iter(lists.values()), ()))
    for name, values in lists.items():
        if not _VARIANT_NAME.fullmatch(name):
            return f"variants.{name}", "is not a valid name: use lower-case letters, digits and hyphens"
        if len(values) != count:
            return (
                f"variants.{name}",
                f"{len(values)} values, but {count} in the first list: give every list the same length",
            )
        if not 2 <= count <= MOST_VARIANTS:
            return f"variants.{name}", f"{count} values: give 2 to {MOST_VARIANTS}"
        for value in values:
            if _MARKS & set(value):
                return (
                    f"variants.{name}",
                    "a value has a quote, backslash, backquote, brace or line break: remove it",
                )
    return None


def _placeholders(text: str) -> Iterator[str]:
    """Yield the names used in `text`."""
    return (match[1] for match in _PLACEHOLDER.finditer(text))


def _filled(text: str, lists: VariantLists, variant: int) -> str:
    """Insert the values of `variant` into `text`; unknown names stay unchanged."""

    def value(match: re.Match[str]) -> str:
        return lists[match[1]][variant] if match[1] in lists else match[0]

    return _PLACEHOLDER.sub(value, text)
