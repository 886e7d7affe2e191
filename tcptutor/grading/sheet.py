"""A student's sheet: every mark with its answers, reason and evidence, as self-contained HTML.

The sheet goes to the student, and names no other student.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

from tcptutor.analysis import report, total_throughput
from tcptutor.base import units
from tcptutor.base.errors import TutorError
from tcptutor.base.printable import escaped
from tcptutor.course import personal
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity
from tcptutor.course.marks import MarkScheme
from tcptutor.course.outline import Course
from tcptutor.course.page_record import moment
from tcptutor.course.page_references import without_links
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade
from tcptutor.grading.gradebooks import format_number, modules
from tcptutor.grading.remarks import shown_to_student

SUFFIX = ".sheet.html"
_MOST_RUNS = 40
"""Runs of a student whose verdict is computed: a run takes about 25 ms."""
_HOSTILE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_MOST_ANSWERS = 12
"""Answers that are listed for an activity; the first and the last of more."""
_KINDS = {
    "question": "Question",
    "predict": "Prediction",
    "experiment": "Run",
    "sweep": "Sweep",
    "challenge": "Challenge",
    "shell": "By hand",
}
_SIGNS = {
    "full": ("✓", "good"),
    "part": ("◐", "part"),
    "none": ("✗", "bad"),
    "missing": ("○", "dim"),
    "refused": ("✗", "bad"),
    "inconclusive": ("?", "part"),
    "excused": ("–", "dim"),
}
_WITHOUT_FULL_MARKS = {
    "missing": "not done",
    "refused": "the evidence does not hold",
    "inconclusive": "counts neither for nor against you",
    "excused": "excused",
}
_SURENESS = {"sure": "sure", "fairly": "fairly sure", "guessing": "guessing"}
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "link"])
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --line: #d5dae0; --ground: #fff; --box: #f4f6f8;
  --good: #116329; --part: #855400; --bad: #a40e26; --bar: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --dim: #9aa4ae; --line: #3a424a; --ground: #14181c;
  --box: #1d2329; --good: #56d364; --part: #e6b422; --bad: #ff7b72; --bar: #56b4e9; } }
* { box-sizing: border-box; }
body { font: 16px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 54rem;
  margin: 1.5rem auto; padding: 0 1rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.5rem 0 .3rem; font-size: 1.25rem;
  border-bottom: 2px solid var(--line); } h3 { margin: 1.3rem 0 .2rem; font-size: 1rem; }
h2, h3, .row { display: grid; grid-template-columns: 1fr auto; gap: 0 1rem; }
.row { grid-template-columns: 1.1rem 1fr auto; padding: .35rem 0; border-top: 1px solid var(--line); }
.row > *, h2 > *, h3 > * { min-width: 0; } .row p, .row ul { margin: .15rem 0; } .row ul { padding-left: 1.1rem; }
.mark, .time { white-space: nowrap; } .mark { text-align: right; } .total { font-size: 1.3rem; margin: .6rem 0 .2rem; }
.bar { height: .5rem; background: var(--line); border-radius: .25rem; }
.bar i { display: block; height: 100%; background: var(--bar); border-radius: .25rem; }
.dim, .place { color: var(--dim); } .good { color: var(--good); }
.part { color: var(--part); } .bad { color: var(--bad); }
.place, code { font-family: ui-monospace, monospace; font-size: .85em; font-weight: normal; }
.box { background: var(--box); border-left: 4px solid var(--bar); padding: .5rem 1rem; margin: 1rem 0; }
.box p { margin: .3rem 0; } .prompt p { margin: .1rem 0; } .prompt { color: var(--dim); font-size: .93em; }
@page { margin: 16mm; }
@media print { :root { --ink: #000; --dim: #444; --line: #bbb; --ground: #fff; --box: #fff; --good: #063; --part: #640;
  --bad: #900; --bar: #036; } body { font-size: 10pt; max-width: none; margin: 0; padding: 0; }
  h2, h3 { break-after: avoid; } .row, .box { break-inside: avoid; } }
"""


class Sheet(NamedTuple):
    """Contents of a sheet."""

    grade: Grade
    course: Course
    file: str
    """Name of the hand-in; empty for a student without a hand-in."""
    verdicts: Mapping[str, str] = {}
    """Sentences about the runs, by id."""


def write_sheet(sheet: Sheet) -> str:
    """Return the HTML page."""
    return "\n".join([*_lines(sheet), ""])


def run_verdicts(path: Path, grade: Grade) -> dict[str, str]:
    """Return verdicts on the runs behind partial marks, by id, without unreadable runs."""
    ids = dict.fromkeys(id for mark in grade.marks if mark.outcome != "full" for id in mark.runs)
    found: dict[str, str] = {}
    with suppress(TutorError), open_hand_in(path) as hand_in:
        for id in [each for each in ids if each in hand_in.run_ids][:_MOST_RUNS]:
            # Samples may be forged: any number that breaks the analysis costs the verdict alone.
            with suppress(TutorError, *_HOSTILE):
                run, _ = hand_in.run(id)
                rate = units.rate(float(f"{total_throughput(run):.3g}"))
                found[id] = f"{rate}, {run.fidelity.status}: {report(run).verdict.sentence}"
    return found


def _lines(sheet: Sheet) -> Iterator[str]:
    grade, course = sheet.grade, sheet.course
    who = grade.student or sheet.file
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(who)}: {_text(course.title)}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{_text(who)}</h1>"
    handed_in = f" · handed in on {_time(grade.made)}" if grade.made else ""
    yield f'<p class="dim">{_text(course.title)}{handed_in}</p>'
    percent = f" marks, {100 * grade.share:.0f} %" if grade.of else " marks"
    yield f'<p class="total"><b>{_marks(grade.total, grade.of)}{percent}</b></p>'
    yield f'<div class="bar"><i style="width:{100 * min(1.0, grade.share):.1f}%"></i></div>'
    for title, lines, tone in (
        ("Why nothing counts", [grade.refused] if grade.refused else [], "bad"),
        ("Decided by your teacher", [*map(str, grade.decisions)], ""),
        ("Remarks on your hand-in", shown_to_student(grade.remarks), "part"),
    ):
        if lines:
            yield f'<div class="box"><b class="{tone}">{title}</b>'
            yield from (f"<p>{_text(line)}</p>" for line in lines)
            yield "</div>"
    yield from _rules(
        course.marks, next((_place(mark) for mark in grade.marks if mark.outcome != "full"), "")
    )
    order = {mark.module: None for mark in grade.marks}
    reached = modules(grade)
    for module in course.modules:
        if module.id in order:
            yield f"<h2><span>{_text(module.title)}</span><span>{_marks(*reached[module.id])}</span></h2>"
            own = [mark for mark in grade.marks if mark.module == module.id]
            yield from _module(sheet, own)
    yield "</body></html>"


def _rules(scheme: MarkScheme, example: str) -> Iterator[str]:
    yield '<div class="box"><b>How marks came about, and what to do if one is wrong</b>'
    yield "<p>All marks were computed from your file: answers by the page's rules, runs by their samples."
    rules = []
    if scheme.retry < 1:
        rules.append(f"each wrong attempt at a question multiplies its marks by {scheme.retry:g}")
    if scheme.hint < 1:
        rules.append(f"each hint by {scheme.hint:g}")
    if scheme.deadline:
        grace = f" plus {scheme.grace_hours:g} h" if scheme.grace_hours else ""
        deadline = moment(scheme.deadline)
        rules.append(f"work after {deadline:%Y-%m-%d %H:%M %Z}{grace} by {scheme.late:g}")
    if rules:
        yield _text(_sentence(", ".join(rules)))
    yield "Times are those of your computer.</p>"
    such = f', such as <span class="place">{_text(example)}</span>,' if example else ""
    yield f"<p><b>To appeal</b>, write to your teacher: copy the gray name of the mark{such} and say what it should"
    yield "be and why. Your file stays as it is; your teacher's decision replaces the mark, and a new sheet shows why."
    yield "</p></div>"


def _module(sheet: Sheet, marks: Sequence[ActivityMark]) -> Iterator[str]:
    not_done: list[tuple[str, float]] = []
    for page, each in groupby(marks, key=lambda mark: mark.page):
        own = list(each)
        left = [mark for mark in own if mark.outcome == "missing" and not mark.answers]
        if len(left) == len(own):
            not_done.append((own[0].title, sum(mark.of for mark in own)))
            continue
        counted = [mark for mark in own if mark.counts]
        reached = 0.0 if sheet.grade.refused else sum(mark.marks for mark in counted)
        marks_of_page = _marks(reached, sum(mark.of for mark in counted))
        yield f"<h3><span>{_text(own[0].title)}</span><span>{marks_of_page}</span></h3>"
        activities = _activities(sheet, own[0].module, page)
        for mark in own:
            if mark not in left:
                yield from _row(sheet, mark, activities.get(mark.activity))
        if left:
            names = ", ".join(f'<span class="place">{_text(_place(mark))}</span>' for mark in left)
            yield f'<div class="row"><span class="dim">○</span><div>Not done: {names}</div>'
            yield f'<span class="mark">{_marks(0.0, sum(mark.of for mark in left))}</span></div>'
    if not_done:
        of = format_number(sum(worth for _, worth in not_done))
        names = ", ".join(_text(title) for title, _ in not_done)
        yield f'<p class="dim"><b>Not done, {of} marks:</b> {names}</p>'


def _activities(sheet: Sheet, module: str, page: str) -> dict[str, Activity]:
    name = sheet.grade.enrolled_as or sheet.grade.student
    identity = personal.identity(sheet.grade.course, name) if sheet.grade.course else ""
    return {
        activity.id: activity
        for each in sheet.course.modules
        if each.id == module
        for step in each.steps
        if step.id == page
        for activity in step.for_student(module, identity).activities
    }


def _row(sheet: Sheet, mark: ActivityMark, activity: Activity | None) -> Iterator[str]:
    sign, tone = _SIGNS[mark.outcome]
    yield f'<div class="row"><span class="{tone}">{sign}</span><div>'
    yield f'<b>{_KINDS.get(mark.kind, mark.kind)}</b> <span class="place">{_text(_place(mark))}</span>'
    prompt = next((each.asked for each in reversed(mark.answers) if each.asked), "")
    prompt = prompt or without_links(str(getattr(activity, "prompt", "")))
    if prompt:
        yield f'<div class="prompt">{_MARKDOWN.render(escaped(prompt, lines=True))}</div>'
    reason = mark.reason or ("" if mark.outcome == "full" else _WITHOUT_FULL_MARKS.get(mark.outcome, ""))
    if reason:
        yield f'<p class="{tone}">{_text(_sentence(reason))}</p>'
    yield from _answers(mark)
    yield from _evidence(sheet, mark, activity)
    yield f'</div><span class="mark">{_shown_marks(sheet, mark)}</span></div>'


def _place(mark: ActivityMark) -> str:
    return f"{mark.module}/{mark.page}/{mark.activity}"


def _answers(mark: ActivityMark) -> Iterator[str]:
    if not mark.answers:
        return
    half = _MOST_ANSWERS // 2
    many = len(mark.answers) > _MOST_ANSWERS
    shown = [*mark.answers[:half], *mark.answers[-half:]] if many else mark.answers
    yield "<ul>"
    for number, each in enumerate(shown):
        if many and number == half:
            yield f'<li class="dim">and {len(mark.answers) - len(shown)} more</li>'
        yield f"<li>{_answer(each)}</li>"
    yield "</ul>"


def _answer(given: GivenAnswer) -> str:
    right = {True: ' <span class="good">right</span>', False: ' <span class="bad">wrong</span>', None: ""}
    sure = f", {_SURENESS[given.sureness]}" if given.sureness else ""
    feedback = f" {_MARKDOWN.renderInline(escaped(given.feedback, lines=True))}" if given.feedback else ""
    answer = f"“{_text(given.text)}”" if given.text else "no answer"
    return f'{answer}{right[given.correct]} <span class="dim time">{_time(given.at)}{sure}</span>{feedback}'


def _evidence(sheet: Sheet, mark: ActivityMark, activity: Activity | None) -> Iterator[str]:
    facts: list[str] = []
    if isinstance(activity, Predict) and mark.measured is not None:
        facts.append(f"measured {units.write(float(f'{mark.measured:.3g}'), activity.unit)}")
    if mark.at and not mark.answers:
        facts.append(f"done {_time(mark.at)}")
    if mark.hints:
        facts.append("1 hint" if mark.hints == 1 else f"{mark.hints} hints")
    verdicts = [f"run {id}: {sheet.verdicts[id]}" for id in mark.runs if id in sheet.verdicts]
    if mark.runs and (mark.answers or not verdicts):
        ids = ", ".join(mark.runs[:3]) + (f" and {len(mark.runs) - 3} more" if len(mark.runs) > 3 else "")
        facts.append(f"{'run' if len(mark.runs) == 1 else 'runs'} {ids}")
    if facts:
        yield f'<p class="dim">{_text(" · ".join(facts))}</p>'
    if not mark.answers:
        yield from (f'<p class="dim">{_text(verdict)}</p>' for verdict in verdicts)


def _shown_marks(sheet: Sheet, mark: ActivityMark) -> str:
    return _marks(0.0 if sheet.grade.refused else mark.marks, mark.of if mark.counts else 0.0)


def _marks(reached: float, of: float) -> str:
    return f"{format_number(reached)} of {format_number(of)}" if of else "–"


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}".rstrip(".") + "."


def _time(at: str) -> str:
    """Return "2026-01-31 12:00" in the zone of the computer that wrote it; the text itself if it is no time."""
    found = moment(at)
    return f"{found:%Y-%m-%d %H:%M}" if found else _text(at[:40])


def _text(text: str) -> str:
    return escape(escaped(text, lines=True))
