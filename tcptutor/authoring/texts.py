"""Texts of a page by key: shown before or after the run, readable, and without spoilers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import cache

import msgspec

from tcptutor.base import units
from tcptutor.course.activities.example import Example
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.shell import telltale
from tcptutor.course.activity import Activity, Question, Stage
from tcptutor.course.formulas import least_limit
from tcptutor.course.page_references import without_links
from tcptutor.course.quantities import in_words, quantities
from tcptutor.course.step import Step
from tcptutor.spec import Experiment

_TEXTS = frozenset({"prompt", "hints", "explanation", "feedback", "text"})
"""Visible text fields of activities and their parts."""


def texts(activity: Activity) -> Iterator[tuple[str, str]]:
    """Yield key and text of everything an activity may show."""
    return _texts(activity, "")


def _texts(part: msgspec.Struct, key: str) -> Iterator[tuple[str, str]]:
    for field in _fields(type(part)):
        value, here = getattr(part, field.name), f"{key}.{field.encode_name}".lstrip(".")
        if isinstance(value, str) and field.name in _TEXTS:
            yield here, value
        elif isinstance(value, tuple):
            for number, entry in enumerate(value, start=1):
                if isinstance(entry, msgspec.Struct):
                    yield from _texts(entry, f"{here}[{number}]")
                elif isinstance(entry, str) and field.name in _TEXTS:
                    yield f"{here}[{number}]", entry


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Cache the fields, which msgspec derives from annotations on each call (a fifth of the linter's time)."""
    return msgspec.structs.fields(kind)


def texts_after(step: Step) -> list[tuple[str, str]]:
    """Return key and text of everything a page shows only after its run."""
    return [
        ("after_run", step.after_run),
        ("idea", step.idea),
        *([("published", step.published)] if step.experiments else []),
        *(
            (f"{where(activity)}{key}", text)
            for activity in step.activities
            for key, text in _later(activity)
        ),
    ]


def texts_by_key(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and text of everything a page shows."""
    yield from _heads(step)
    yield "prose", step.prose
    yield "after_run", step.after_run
    yield "idea", step.idea
    yield "published", step.published
    for activity in step.activities:
        yield from ((f"{where(activity)}{key}", text) for key, text in texts(activity))


def all_texts(step: Step) -> list[str]:
    """Return every text of a page."""
    return [text for _, text in texts_by_key(step)]


def _heads(step: Step) -> Iterator[tuple[str, str]]:
    yield "title", step.title
    yield "subtitle", step.subtitle
    yield "teaser", step.teaser


def _later(activity: Activity) -> Iterator[tuple[str, str]]:
    """Yield the texts an activity shows only after the run: questions about it, feedback, explanations."""
    shown_later = {Stage.BEFORE_RUN: "feedback", Stage.RUN: "explanation"}.get(activity.stage)
    for key, text in texts(activity):
        if activity.about_run or (shown_later and key.endswith(shown_later)):
            yield key, text


def where(activity: Activity) -> str:
    """Return the prefix of an activity's keys: "question how-many: ", "predict."."""
    return f"{activity.table} {activity.id}: " if activity.many else f"{activity.table}."


def texts_before(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and text of everything a page shows before its run."""
    yield from _heads(step)
    yield "prose", step.prose
    if not step.experiments:
        yield "published", step.published
    for activity in step.activities:
        later = dict(_later(activity))
        yield from ((f"{where(activity)}{key}", text) for key, text in texts(activity) if key not in later)


CODE_COLUMNS = 44
"""Code is not wrapped: the prose column is about 46 wide on a terminal of 120."""
MAX_WORDS = 190
MAX_WORDS_AFTER = 130
MAX_LINES = 16
"""Lines of prose before the reader has something to do, at LINE_COLUMNS."""
LINE_COLUMNS = 78

_DRAWING = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1[^\n]*$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*")


def readability_problems(text: str, title: str, max_words: int) -> Iterator[str]:
    """Yield the reasons `text`, shown under `title`, is not readable as a page."""
    if not text.strip():
        yield "is empty"
        return
    heading = _HEADING.fullmatch(text.strip().split("\n", 1)[0])
    if heading and heading[1].lower() == title.strip().lower():
        yield "its first line repeats the title, which is shown above it: remove the line"
    words = len(re.findall(r"\w\S*", without_links(text)))
    if words > max_words:
        yield f"{words} words are too many for a page: at most {max_words}"
    yield from _code(text)


def length_problems(prose: str) -> Iterator[str]:
    """Yield the reason that `prose` is too long to read before the first activity."""
    lines = line_count(prose)
    if lines > MAX_LINES:
        yield f"{lines} lines of prose at {LINE_COLUMNS} columns, at most {MAX_LINES}: shorten it, or split the page"


def line_count(prose: str) -> int:
    """Return the lines that paragraphs and lists take at LINE_COLUMNS, without drawings, tables and blank lines."""
    text = _DRAWING.sub("", without_links(prose))
    blocks = [block for block in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", text) if block.strip()]
    return sum(
        len(textwrap.wrap(" ".join(block.split()), LINE_COLUMNS))
        for block in blocks
        if not block.lstrip().startswith("|")
    )


def _code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence and mark and mark[1].startswith(fence):
            fence = ""
        elif fence:
            if len(line) > CODE_COLUMNS:
                yield f"code of {len(line)} columns, at most {CODE_COLUMNS}: {line.strip()[:24]!r} ..."
        elif mark:
            fence = mark[1]
    if fence:
        yield f"the code block's closing {fence} is missing"


NEAR = 0.03
"""Relative distance below which a rate counts as the rounded result of the page's formulas."""


def spoilers(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and reason of each text that reveals too much."""
    asked: list[tuple[Activity, Numeric]] = [(each, each) for each in step.activities_of(Numeric)]
    asked += [(each, each.gap) for each in step.activities_of(Example) if each.gap]
    for activity, number in asked:
        answer = quantities(number.answer)
        for key, text in texts(activity):
            if "hints" in key and answer and _prints(text, answer[0].value, answer[0].kind, 0.001):
                reason = f"contains the answer, {number.answer}: leave the last step to the student"
                yield f"{where(activity)}{key}", reason
    yield from _faults(step)
    experiment = _asked_about(step)
    if experiment is None:
        return
    result = least_limit(experiment)
    for key, text in texts_before(step):
        if _prints(text, result, "rate", NEAR):
            yield key, f"is shown before the run and contains its result, {units.rate(result)}"


def _faults(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the texts that name the network's fault before the student has found it.

    Choices of a question, which is asked after the repair, must name it, and later hints lead to it: both are allowed.
    """
    if step.shell is None or not step.shell.fault:
        return
    shell = step.shell
    seen = [
        ("id", step.id),
        *_heads(step),
        ("prose", step.prose),
        ("published", step.published),
        ("shell.hints[1]", "".join(shell.hints[:1])),
    ]
    seen += [(f"shell.goal {goal.id}: id", goal.id) for goal in shell.goals]
    seen += [(f"shell.goal {goal.id}: text", goal.text) for goal in shell.goals]
    seen += [("shell.command", command.run) for command in shell.commands]
    seen += [(f"question {asked.id}: prompt", asked.prompt) for asked in step.activities_of(Question)]
    for key, text in seen:
        if word := telltale(shell.fault, text):
            yield key, f"contains {word!r}, which reveals the fault the student should find"


def _asked_about(step: Step) -> Experiment | None:
    """Return the experiment to predict; on a sweep page, the experiment at the predicted value."""
    if step.sweep is None:
        return step.experiment.experiment if step.experiment else None
    asked = [predict.at for predict in step.activities_of(Predict) if predict.at in step.sweep.values]
    if not asked or step.sweep.measure != "throughput":
        return None
    return step.sweep.experiments[step.sweep.values.index(asked[0])]


def _prints(text: str, value: float, kind: str, near: float) -> bool:
    """Return True if `text` contains the quantity."""
    return any(
        written.kind == kind and abs(written.value - value) <= near * value
        for written in quantities(in_words(text))
    )
