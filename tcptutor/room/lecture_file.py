"""Lecture file of a teacher: pages in order, custom slides between them, and questions to ask.

title = "Parallel streams in 45 minutes"
minutes = 45                            # optional: the available time

[[slide]]
title = "Before we begin"               # a custom slide; `text` is Markdown, a blank line starts the next step
text = "Phones out, please."
notes = "Wait for the last row."        # optional on any slide but a module's: speaker's notes

[[slide]]
page = "parallel-streams/one-lossy-flow"     # or a number such as "3.4"
minutes = 8                             # optional: the time for this slide
ask = ["predict", "faster-link"]        # optional: ids of the questions to ask
steps = ["opening", "ask predict", "run", "verdict", "idea"]   # or, optional: all steps, see `room.page_steps`

[[slide]]
module = "pacing"                       # the default slides of a module
hide = ["how-fast-to-pace"]             # optional: without these pages
add = ["token-buckets"]                 # optional: with these deeper pages

[[slide]]
title = "Who gets what?"
flows = "parallel-streams/one-small-window"  # each student owns a flow of this experiment's network
algorithms = ["reno", "cubic", "bbr"]   # optional: algorithms to choose from
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from tcptutor.base import decoding, places
from tcptutor.base.errors import ContentError, UsageError, unknown
from tcptutor.course.experiments import Catalogue
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.outline import Course, Module
from tcptutor.course.step import Step
from tcptutor.room.deck import (
    default_lecture,
    find_module,
    find_step,
    lecture_of,
    module_slides,
    planned_minutes,
    slide_of,
)
from tcptutor.room.page_steps import default_steps
from tcptutor.room.slide_runs import flows_run
from tcptutor.room.slides import AnyStep, FlowsShown, Lecture, OwnText, Slide
from tcptutor.spec import ALGORITHMS

MOST_SLIDES = 500

_MOST_MINUTES = 600
_MOST_MISTAKES = 20
"""Mistakes after which the rest of the file is not read."""
_NUMBERED = re.compile(r"\d+\.\d+")
"""Number of a page on the screen, such as 1.9."""


class SlideTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Table `[[slide]]` as written: for a page, for all pages of a module, or a custom slide."""

    title: str = ""
    page: str = ""
    module: str = ""
    hide: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    text: str = ""
    flows: str = ""
    algorithms: tuple[str, ...] = ()
    steps: tuple[str, ...] | None = None
    ask: tuple[str, ...] | None = None
    minutes: float | None = None
    notes: str = ""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield key and reason of each unusable value."""
        if self.page and self.module:
            yield "module", "goes without page: it stands for all pages of the module"
        if self.page and self.flows:
            yield "flows", "goes without page: give it a slide of its own"
        if not (self.page or self.module or self.title.strip()):
            yield "", "shows nothing: give it a page, a module, or a title of its own"
        if self.module:
            keys = [key for key in ("title", "text", "flows", "minutes", "notes") if getattr(self, key)]
            yield from ((key, "goes with a single slide: module stands for several") for key in keys)
        else:
            yield from ((key, "goes with module") for key in ("hide", "add") if getattr(self, key))
        if not self.page:
            given = [key for key in ("steps", "ask") if getattr(self, key) is not None]
            yield from ((key, "goes with page: they are steps of a page") for key in given)
        if self.steps is not None and self.ask is not None:
            yield "ask", "goes without steps: write it there as a step, such as `ask predict`"
        if self.algorithms and not self.flows:
            yield "algorithms", "goes with flows"
        if self.minutes is not None and not 0 <= self.minutes <= _MOST_MINUTES:
            yield "minutes", f"{self.minutes:g} is out of bounds: 0 to {_MOST_MINUTES}"


class LectureTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lecture file as written."""

    title: str
    minutes: float = 0.0
    slide: tuple[SlideTable, ...] = ()


class LectureMistakes(ContentError):
    """Several mistakes in a lecture file."""

    def __init__(self, mistakes: Sequence[ContentError]) -> None:
        others = len(mistakes) - 1
        super().__init__(f"{mistakes[0]} (and {others} more mistake{'s' if others > 1 else ''})")
        self.mistakes = tuple(mistakes)


def read_lecture(path: Path, course: Course) -> Lecture:
    """Read a lecture file.

    Raises:
        LectureMistakes: The file has several mistakes.
        ContentError: The file cannot be read, or has a mistake; the message names file and key.
    """
    absolute = path.absolute()
    file = LessonFile(absolute, absolute.parent)
    table = file.tables(file.text())
    mistakes = list(islice(_top_mistakes(file, table), _MOST_MISTAKES))
    entries: list[Any] = table["slide"] if isinstance(table.get("slide"), list) else []
    slides: list[Slide] = []
    catalogue = Catalogue(course.root or places.lessons())
    for number, entry in enumerate(entries):
        found = list(islice(_slide_mistakes(file, entries, number), _MOST_MISTAKES))
        if not found:
            key = f"slide[{number + 1}]" if len(entries) > 1 else "slide"
            try:
                slides += _Reader(file, course, catalogue, key).slides(decoding.convert(entry, SlideTable))
            except ContentError as error:
                found = [error]
            if len(slides) > MOST_SLIDES:
                raise file.problem(f"the lecture has more than {MOST_SLIDES} slides: split it", key)
        mistakes += found
        if len(mistakes) >= _MOST_MISTAKES:
            break
    if mistakes:
        raise LectureMistakes(mistakes) if len(mistakes) > 1 else mistakes[0]
    lecture = lecture_of(course, table["title"].strip(), slides)
    return msgspec.structs.replace(lecture, planned_minutes=float(table.get("minutes", 0)))


def _top_mistakes(file: LessonFile, table: dict[str, Any]) -> Iterator[ContentError]:
    """Yield the mistakes outside of slides."""
    usable: dict[str, Any] = {"title": "x"}
    for key, value in table.items():
        if key == "slide" and isinstance(value, list):
            continue
        found = list(_mistake(file, {"title": "x", key: value}))
        yield from found
        if not found:
            usable[key] = value
    if "title" not in table:
        yield from _mistake(file, {})
    lecture = decoding.convert(usable, LectureTable)
    if not lecture.title.strip():
        yield file.problem("is empty", "title")
    if not 0 <= lecture.minutes <= _MOST_MINUTES:
        yield file.problem(f"{lecture.minutes:g} is out of bounds: 0 to {_MOST_MINUTES}", "minutes")
    if table.get("slide", []) == []:
        yield file.problem("is missing: add a [[slide]] with a page, a module or a title", "slide")


def _slide_mistakes(file: LessonFile, entries: list[Any], at: int) -> Iterator[ContentError]:
    """Yield the mistakes in a slide's keys, except unknown names."""
    entry, is_shaped = entries[at], True
    for part in [{key: value} for key, value in entry.items()] if isinstance(entry, dict) else [entry]:
        try:
            decoding.convert(part, SlideTable)
        except msgspec.ValidationError:
            is_shaped = False
            padded = [*[{}] * at, part, *[{}] * (len(entries) - at - 1)]
            yield from _mistake(file, {"title": "x", "slide": padded})
    if is_shaped:
        name = f"slide[{at + 1}]" if len(entries) > 1 else "slide"
        for key, reason in decoding.convert(entry, SlideTable).contradictions():
            yield file.problem(reason, ".".join(filter(None, (name, key))))


def _mistake(file: LessonFile, table: dict[str, Any]) -> Iterator[ContentError]:
    """Yield the mistake in a table, if any."""
    try:
        file.convert_table(table, LectureTable)
    except ContentError as error:
        yield error


def write_lecture(course: Course, target: str = "") -> str:
    """Return the default lecture of MODULE or MODULE/PAGE as a lecture file to edit.

    Raises:
        UsageError: The module or page does not exist.
    """
    lecture, _ = default_lecture(course, target)
    lines = [f"title = {_toml(lecture.title)}", f"minutes = {sum(each.minutes for each in lecture.slides):g}"]
    for slide in lecture.slides:
        lines += ["", "[[slide]]", *(_page_lines(course, slide) if slide.page else _own_lines(slide))]
    return "\n".join([*lines, ""])


def _page_lines(course: Course, slide: Slide) -> Iterator[str]:
    page = find_step(find_module(course, slide.module), slide.page)
    yield f"# {slide.headline}"
    yield f'page = "{slide.module}/{slide.page}"'
    yield f"minutes = {slide.minutes:g}"
    yield "steps = ["
    yield from (f"    {_toml(words)}," for words in default_steps(page))
    yield "]"


def _own_lines(slide: Slide) -> Iterator[str]:
    text = "\n\n".join([getattr(step, "text", "") or getattr(step, "markdown", "") for step in slide.steps])
    yield f"title = {_toml(slide.headline)}"
    yield f"minutes = {slide.minutes:g}"
    yield f"text = {_toml_text(text)}"
    if slide.notes:
        yield f"notes = {_toml_text(slide.notes)}"


def _toml_text(text: str) -> str:
    if "\n" not in text or "\\" in text or '"""' in text:
        return _toml(text)
    return f'"""\n{text}\n"""'


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class _Reader:
    """Reads the slide under `key` of a lecture file."""

    def __init__(self, file: LessonFile, course: Course, catalogue: Catalogue, key: str) -> None:
        self._file, self._course, self._catalogue, self._key = file, course, catalogue, key

    def slides(self, table: SlideTable) -> Iterator[Slide]:
        """Yield the slides that the table defines. Raises ContentError."""
        if table.module:
            yield from self._module_slides(table)
            return
        slide = self._page_slide(table) if table.page else self._own_slide(table)
        if table.title.strip():
            slide = msgspec.structs.replace(slide, headline=table.title.strip())
        if table.minutes is not None:
            slide = msgspec.structs.replace(slide, minutes=table.minutes)
        notes = "\n\n".join(filter(None, (table.notes.strip(), slide.notes)))
        yield msgspec.structs.replace(slide, notes=notes)

    def _module_slides(self, table: SlideTable) -> Iterator[Slide]:
        with self._at("module"):
            module = find_module(self._course, table.module)
        with self._at("hide"):
            hidden = {find_step(module, name).id for name in table.hide}
        with self._at("add"):
            added = {find_step(module, name).id for name in table.add}
        return (slide for slide in module_slides(self._course, module, added) if slide.page not in hidden)

    def _page_slide(self, table: SlideTable) -> Slide:
        with self._at("page"):
            module, page = _find_page(self._course, table.page)
        if table.steps is not None:
            with self._at("steps"):
                slide = slide_of(module, page, table.steps)
        else:
            with self._at("ask"):
                slide = slide_of(module, page, default_steps(page, table.ask))
        return _with_steps(slide, (*slide.steps, *_own_steps(table.text))) if table.text.strip() else slide

    def _own_slide(self, table: SlideTable) -> Slide:
        steps: tuple[AnyStep, ...] = tuple(_own_steps(table.text))
        if table.flows:
            steps = (*steps, self._flows(table))
        return _with_steps(Slide(headline=table.title.strip()), steps)

    def _flows(self, table: SlideTable) -> FlowsShown:
        with self._at("flows"):
            name = self._catalogue.full_name(table.flows)
        with self._at("algorithms"):
            for algorithm in table.algorithms:
                if algorithm not in ALGORITHMS:
                    raise UsageError(unknown("algorithm", algorithm, ALGORITHMS))
        shown = FlowsShown(experiment=name)
        if table.algorithms:
            shown = FlowsShown(experiment=name, algorithms=tuple(dict.fromkeys(table.algorithms)))
        with self._at("flows"):
            flows_run(self._catalogue, shown)
        return shown

    @contextmanager
    def _at(self, key: str) -> Iterator[None]:
        """Add the file and the key to errors about names."""
        try:
            yield
        except UsageError as error:
            raise self._file.problem(str(error), f"{self._key}.{key}") from None


def _find_page(course: Course, name: str) -> tuple[Module, Step]:
    """Return the page of a name like tcp-basics/a-larger-window, tcp-basics/7 or 1.7. Raises UsageError."""
    module, _, page = name.strip("/").partition("." if _NUMBERED.fullmatch(name) else "/")
    if not page:
        every = [f"{module.id}/{id_}" for module in course.modules for id_ in module.step_ids]
        raise UsageError(unknown("page", name, every, "write it like 1.7 or MODULE/PAGE"))
    found = find_module(course, module)
    return found, find_step(found, page)


def _own_steps(markdown: str) -> Iterator[OwnText]:
    """Yield the blocks of custom text, split at blank lines outside of code."""
    block: list[str] = []
    in_code = False
    for line in [*markdown.strip().splitlines(), ""]:
        in_code ^= line.lstrip().startswith("```")
        if line.strip() or in_code:
            block.append(line)
        elif block:
            yield OwnText(markdown="\n".join(block))
            block = []
    if block:
        yield OwnText(markdown="\n".join(block))


def _with_steps(slide: Slide, steps: tuple[AnyStep, ...]) -> Slide:
    return msgspec.structs.replace(slide, steps=steps, minutes=planned_minutes(steps))
