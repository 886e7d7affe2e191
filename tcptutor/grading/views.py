"""A survey as tables for the screen and the reports, and as a histogram."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.base.chart import COLORS, Chart, ChartAxis, ChartPanel, ChartSeries
from tcptutor.base.errors import TutorError
from tcptutor.course.page_record import moment
from tcptutor.grading.item_statistics import Correlation, QuestionRow
from tcptutor.grading.remarks import to_decide
from tcptutor.grading.similar import SimilarPair
from tcptutor.grading.survey import PageRow, PredictionRow, ReportRow, StudentRow, Survey

_STEPS = " ▁▂▃▄▅▆▇█"
BAR_CHARACTERS = frozenset("█▏▎▍▌▋▊▉")
"""Characters of a bar in a table."""
_BAR_WIDTH = 10
"""Characters of a full bar."""
_FACTORS = (1 / 8, 1 / 4, 1 / 2, 1 / 1.25, 1.25, 2, 4, 8)
"""Bounds between the bins of predictions over measurements; the middle bin is right."""
_ONE_PERCENT = 0.01
_FEWEST_TIMED = 5
"""Fewest questions that both students answered for which equal times are worth a remark."""
_TEXT_WIDTH = 60
"""Characters of a question or answer in a table."""


_Place = Callable[[PageRow | QuestionRow | PredictionRow | ReportRow], str]
"""Returns the name of a row's page."""


class TableView(NamedTuple):
    """A table."""

    id: str
    title: str
    head: tuple[str, ...]
    right: tuple[bool, ...]
    """True for columns of numbers."""
    rows: tuple[tuple[str, ...], ...]
    details: tuple[tuple[str, ...], ...]
    """Further text of each row, line by line."""
    notes: tuple[str, ...] = ()
    """Sentences about the table; for an empty table, the reason."""


def table_views(found: Survey) -> tuple[TableView, ...]:
    """Return all tables of a survey."""
    single_module = len({row.module for row in found.pages}) < 2

    def place(row: PageRow | QuestionRow | PredictionRow | ReportRow) -> str:
        return row.page if single_module else f"{row.module}/{row.page}"

    return (
        _students(found),
        _pages(found, place),
        _questions(found, place),
        _predictions(found, place),
        _similar(found),
        _reports(found, place),
    )


def marks_histogram(found: Survey) -> Chart:
    """Return the number of students by their share of the marks, in tenths. Raises TutorError without a student."""
    shares = [row.total / row.of for row in found.students if row.of]
    if not shares:
        raise TutorError("no hand-in was graded: there are no marks to draw")
    counts = marks_in_tenths(found)
    bars = ChartSeries(points=[(10 * tenth + 5, counts[tenth]) for tenth in range(10)], color=COLORS[0])
    y = ChartAxis(high=max(counts), is_whole=True)
    return Chart(
        title=[found.title, _median(shares)],
        panels=[ChartPanel(heading="students", series=[bars], y=y, has_bars=True)],
        x=ChartAxis(high=100, label="marks, %"),
    )


def marks_in_tenths(found: Survey) -> list[int]:
    """Count the students by their share of the marks; the last tenth includes all of them."""
    shares = (row.total / row.of for row in found.students if row.of)
    counts = Counter(min(9, max(0, math.floor(10 * share + 1e-9))) for share in shares)
    return [counts[tenth] for tenth in range(10)]


def histogram_lines(found: Survey, width: int, height: int) -> list[str]:
    """Draw the number of students by their share of the marks, in tenths; empty without a student.

    Args:
        found: The class.
        width: Columns of the drawing.
        height: Lines of the bars; two more have the numbers and the scale.
    """
    counts = marks_in_tenths(found)
    if not any(counts):
        return []
    column = max(4, width // len(counts))
    full = max(counts)
    eighths = [math.ceil(8 * height * each / full) for each in counts]
    bars = [
        "".join(_STEPS[min(8, max(0, each - 8 * line))] * (column - 1) + " " for each in eighths).rstrip()
        for line in reversed(range(height))
    ]
    numbers = "".join(f"{each or '':^{column - 1}} " for each in counts).rstrip()
    scale = "".join(f"{f'{10 * tenth}–{10 * tenth + 10}':^{column - 1}} " for tenth in range(len(counts)))
    return [numbers, *bars, f"{scale.rstrip()} %"]


def _median(shares: Sequence[float]) -> str:
    number = "1 hand-in" if len(shares) == 1 else f"{len(shares)} hand-ins"
    return f"{number}, median {percent(statistics.median(shares))} of the marks"


def _students(found: Survey) -> TableView:
    shares = [row.total / row.of for row in found.students if row.of]
    notes = [*found.problems, *found.replaced]
    if found.missing:
        names = ", ".join(filter(None, found.missing))
        notes.append(f"{len(found.missing)} without a hand-in" + (f": {names}" if names else ""))
    if shares:
        notes.insert(0, _median(shares))
    return TableView(
        "students",
        "Students",
        ("student", "marks", "of", "", "", "done", "to look at"),
        (False, True, True, True, False, True, False),
        tuple(map(_student, found.students)),
        tuple(
            (*([row.refused] if row.refused else []), *row.decisions, *(each.line for each in row.remarks))
            for row in found.students
        ),
        tuple(notes) or ("no hand-in was graded",),
    )


def _student(row: StudentRow) -> tuple[str, ...]:
    share = row.total / row.of if row.of else 0.0
    doubts = [f"{row.doubts} refused"] if row.doubts else []
    if waiting := to_decide(row.remarks):
        doubts.append(f"{len(waiting)} to decide")
    return (
        row.name,
        f"{row.total:.4g}",
        f"{row.of:.4g}",
        percent(share),
        bar(share),
        f"{row.done}/{row.activities}",
        row.refused or ", ".join(doubts),
    )


def _pages(found: Survey, place: _Place) -> TableView:
    return TableView(
        "pages",
        "Pages",
        ("page", "earned marks", "mean", ""),
        (False, True, True, False),
        tuple(_page(row, place) for row in found.pages),
        tuple((row.title,) for row in found.pages),
        () if found.pages else ("no page was done",),
    )


def _page(row: PageRow, place: _Place) -> tuple[str, ...]:
    return (place(row), f"{row.done} of {row.students}", percent(row.mean), bar(row.mean))


def hardest_first(found: Survey) -> list[QuestionRow]:
    """Return the answered questions, the hardest first."""
    return sorted((row for row in found.questions if row.answered), key=lambda row: row.difficulty)


def _questions(found: Survey, place: _Place) -> TableView:
    rows = hardest_first(found)
    notes = tuple(
        f"{place(row)} {row.activity} does not separate strong students from weak ones:"
        f" r = {_interval(row.discrimination)}"
        for row in found.weak
        if row.discrimination is not None
    )
    return TableView(
        "questions",
        "Questions, the hardest first",
        ("question", "right at once", "", "r", "hints", "time", "commonest wrong answer", "why it is given"),
        (False, True, True, True, True, True, False, False),
        tuple(_question(row, place) for row in rows),
        tuple(tuple(_question_details(row)) for row in rows),
        notes if rows else ("no question was answered",),
    )


def _question(row: QuestionRow, place: _Place) -> tuple[str, ...]:
    commonest = next(iter(row.wrong), None)
    answer, why = "", ""
    if commonest is not None:
        answer = f"{commonest.students} × {shorten(commonest.text or 'a number')}"
        why = shorten(commonest.feedback)
    return (
        f"{place(row)} {row.activity}",
        f"{row.right_first} of {row.answered}",
        percent(row.difficulty),
        "" if row.discrimination is None else f"{row.discrimination.r:.2f}",
        str(row.with_hints or ""),
        "" if row.median_seconds is None else seconds_text(row.median_seconds),
        answer,
        why,
    )


def _question_details(row: QuestionRow) -> Iterator[str]:
    yield " ".join(row.prompt.split())
    for each in row.answers:
        if not each.students and each.right and not each.text:
            continue
        sign, text = "✓" if each.right else "✗", " ".join(each.text.split()) or "a number"
        why = "" if each.right or not each.feedback else f": {' '.join(each.feedback.split())}"
        yield f"{sign} {each.students} × {text}{why}"
    if row.sure_wrong:
        who = "student was" if row.sure_wrong == 1 else "students were"
        yield f"{row.sure_wrong} {who} sure of a wrong answer"
    if row.discrimination is not None:
        yield f"r = {_interval(row.discrimination)} with the share of all other marks"
    if row.with_hints:
        who = "student" if row.with_hints == 1 else "students"
        yield f"{row.with_hints} {who} took hints, {row.mean_hints:.1f} per student of the class"


def _interval(found: Correlation) -> str:
    return f"{found.r:.2f} ({found.low:.2f} to {found.high:.2f} with 95 %)"


def seconds_text(seconds: float) -> str:
    """Return a time such as "45 s" or "2:05"."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02}"


def _predictions(found: Survey, place: _Place) -> TableView:
    return TableView(
        "predictions",
        "Predictions",
        ("page", "predicted", "measured", "model", "÷8  as measured  ×8", "left out"),
        (False, True, True, True, False, True),
        tuple(_prediction(row, place) for row in found.predictions),
        tuple((_ratio_summary(row),) for row in found.predictions),
        (
            "Medians of the class; the row of bars counts predictions as multiples of what each student measured.",
        )
        if found.predictions
        else ("nothing was predicted",),
    )


def _prediction(row: PredictionRow, place: _Place) -> tuple[str, ...]:
    def median_text(numbers: Sequence[float]) -> str:
        return _quantity(statistics.median(numbers), row.unit) if numbers else "-"

    return (
        place(row),
        median_text(row.predicted),
        median_text(row.measured),
        "-" if row.model is None else _quantity(row.model, row.unit),
        ratio_bars(row),
        str(row.left_out or ""),
    )


def _ratio_summary(row: PredictionRow) -> str:
    found = ratio_counts(row)
    if not found:
        return ""
    middle = len(found) // 2
    return f"{sum(found[:middle])} too low, {found[middle]} within 25 %, {sum(found[middle + 1 :])} too high"


def _similar(found: Survey) -> TableView:
    return TableView(
        "similar",
        "Alike",
        ("one", "other", "similarities"),
        (False, False, False),
        tuple((pair.one, pair.other, next(similarities(pair))) for pair in found.similar),
        tuple(tuple(similarities(pair)) for pair in found.similar),
        (
            *(["Events in common prove a copy, but not who copied."] if found.similar[0].events else []),
            "A fact about two files, not a verdict: students who learned together share mistakes as well.",
            "p is the probability of as many equal wrong answers, each given as often as the class gives it.",
        )
        if found.similar
        else ("no two hand-ins are more alike than chance makes them",),
    )


def similarities(pair: SimilarPair) -> Iterator[str]:
    """Yield the similarities of two hand-ins, a clause each."""
    if pair.events:
        page = f" up to {pair.page}" if pair.page else ""
        yield f"{pair.events} events in common{page}: a copy"
    if pair.runs:
        runs = "run has" if len(pair.runs) == 1 else "runs have"
        yield f"{len(pair.runs)} {runs} the same samples: {', '.join(pair.runs[:3])}"
    if pair.same_wrong:
        some = f"{pair.same_wrong} of the {pair.both_wrong} answers that both had wrong"
        which = "the only answer that both had wrong" if pair.both_wrong == 1 else some
        yield (
            f"{which} {'is' if pair.same_wrong == 1 else 'are'} the same"
            f" (p = {pair.probability:.2g}; {pair.pairs:.2g} such pairs by chance)"
        )
    if pair.together and pair.answered >= _FEWEST_TIMED:
        verb = "was" if pair.together == 1 else "were"
        yield f"{pair.together} of {pair.answered} questions {verb} answered within 20 s of each other"


def _reports(found: Survey, place: _Place) -> TableView:
    return TableView(
        "reports",
        "Reports",
        ("page", "student", "what is wrong"),
        (False, False, False),
        tuple((place(row), row.student, row.text) for row in found.reports),
        tuple((f"{row.title}, {_local_time(row.at)}".rstrip(", "), row.text) for row in found.reports),
        () if found.reports else ("no page was reported",),
    )


def _local_time(at: str) -> str:
    """Return "2026-01-31 12:00" in local time; empty for an invalid time."""
    found = moment(at)
    try:
        return f"{found.astimezone():%Y-%m-%d %H:%M}" if found else ""
    except OverflowError:  # the first or the last day of the calendar
        return ""


def bar(share: float) -> str:
    """Render a share as a bar of blocks."""
    eighths = round(max(0.0, min(1.0, share)) * _BAR_WIDTH * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")


def ratio_counts(row: PredictionRow) -> list[int]:
    """Count the predictions in bins of their ratio to the measurement; empty without predictions."""
    if not row.ratios:
        return []
    found = [0] * (len(_FACTORS) + 1)
    for ratio in row.ratios:
        found[sum(ratio > factor for factor in _FACTORS)] += 1
    return found


def ratio_bars(row: PredictionRow) -> str:
    """Render the counts of `ratio_counts` as a row of bars."""
    found = ratio_counts(row)
    most = max(found, default=0)
    return "".join(_STEPS[math.ceil(8 * each / most)] * 2 for each in found) if most else ""


def shorten(text: str) -> str:
    """Return the beginning of the text, without line breaks."""
    words = " ".join(text.split())
    return words if len(words) <= _TEXT_WIDTH else f"{words[: _TEXT_WIDTH - 1].rstrip()}…"


def percent(share: float) -> str:
    """Return a share such as "95 %", or "0.4 %"."""
    return units.percent(share, 1) if 0 < share < _ONE_PERCENT else f"{100 * share:.0f} %"


def _quantity(value: float, kind: units.Kind) -> str:
    return units.write(float(f"{value:.3g}"), kind)
