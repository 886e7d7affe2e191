"""The student's work on the home screen: today's pages, predictions, unfinished pages, sureness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from textual.content import Content

from tcptutor.base import ratios
from tcptutor.base.key_names import key_name
from tcptutor.course import duration
from tcptutor.course.outline import Module
from tcptutor.course.paths import PRETEST
from tcptutor.journal import Journal, Progress
from tcptutor.journal.day import DayRecord
from tcptutor.journal.fold import JournalRecord
from tcptutor.study import words
from tcptutor.ui.widgets.home.text import count_pages, labeled

if TYPE_CHECKING:
    from tcptutor.review import Reviews

_SHOWN_PAGES = 3
"""Pages to name in a line."""


def due_lines(reviews: Reviews | None, width: int) -> Iterator[Content]:
    """Yield "3 questions are due, about 2 min: v asks them"; empty if no question is due."""
    if reviews is None or not reviews.due:
        return
    due, asked = len(reviews.due), len(reviews.session)
    key = key_name("home.review")
    text = f"{due} question{' is' if due == 1 else 's are'} due, about {reviews.session_minutes} min: {key} asks "
    if asked < due:
        text = f"{due} questions are due; {key} asks {asked} in {reviews.session_minutes} min"
    else:
        text += "it" if due == 1 else "them"
    yield labeled("Review", text, width)


def due_of_module(reviews: Reviews | None, module: Module) -> Iterator[Content]:
    """Yield the number of due questions of a module; empty if no question is due."""
    due = [card for card in reviews.due if card.module.id == module.id] if reviews else []
    if due:
        yield Content(f"{len(due)} question{' is' if len(due) == 1 else 's are'} due for review")


def work_facts(
    journal: Journal, modules: Sequence[Module], progress: Mapping[str, Progress], daily_minutes: int
) -> Iterator[tuple[str, str]]:
    """Yield label and text of each fact about the student's work."""
    if text := _new_comments(journal.record, modules):
        yield "Comments", text
    today = journal.record.today
    is_today = today.day == date.today()
    if text := _time_spent(journal.record, today if is_today else DayRecord(), daily_minutes):
        yield "Today", text
    accuracy = []
    if is_today and today.predictions:
        accuracy.append(f"{today.close} of {today.predictions} within 10 % today")
    if (found := journal.calibration()) is not None:
        accuracy.append(f"{found.predictions} so far, {ratios.off_by(found.factor)} in the median")
    if accuracy:
        yield "Predictions", "; ".join(accuracy)
    if unfinished := [*_unfinished_pages(journal, modules, progress)]:
        yield "Unfinished", _enumerate(unfinished)
    if counts := journal.sureness_counts():
        stated = [
            f"{word} {counts[key].right} of {counts[key].total}"
            for key, word in reversed(words.SURENESS.items())
            if key in counts
        ]
        yield "First tries", f"right when {', '.join(stated)}"


def _time_spent(record: JournalRecord, today: DayRecord, goal: int) -> str:
    """Return "14 of 30 min, 3 pages; 2 h 20 in all"; empty for a day without work or goal."""
    if not today.pages and not goal:
        return ""
    spent = max(1, today.minutes) if today.pages else 0
    reached = " ✓" if 0 < goal <= spent else ""
    text = f"{spent} of {goal} min{reached}" if goal else duration.in_words(spent)
    if today.pages:
        text += f", {count_pages(len(today.pages))}"
    whole = round(record.seconds / 60)
    return f"{text}; {duration.in_words(whole)} in all" if whole > spent else text


def _enumerate(names: Sequence[str]) -> str:
    """Return "1.1, 1.2, 1.3 and 4 more"."""
    more = len(names) - _SHOWN_PAGES
    return ", ".join(names[:_SHOWN_PAGES]) + (f" and {more} more" if more > 0 else "")


def _new_comments(record: JournalRecord, modules: Sequence[Module]) -> str:
    """Return "2 from your teacher: open 1.9"; empty without comments on pages that were not opened since."""
    found = {}
    for module in modules:
        pages = record.pages.get(module.id, {})
        for at, step in enumerate((PRETEST, *module.step_ids)):
            if step in pages and (new := sum(comment.is_new for comment in pages[step].comments)):
                found[f"{module.number}.{at}" if at else f"the pre-test of {module.number}"] = new
    return f"{sum(found.values())} from your teacher: open {_enumerate([*found])}" if found else ""


def _unfinished_pages(
    journal: Journal, modules: Sequence[Module], progress: Mapping[str, Progress]
) -> Iterator[str]:
    """Yield the numbers of pages that the student opened and did not finish, without the page to continue."""
    record = journal.record
    for module in modules:
        opened = record.pages.get(module.id, {})
        if not module.is_read or not opened:
            continue
        for at, (step, done) in enumerate(zip(module.steps, progress[module.id].pages, strict=True), start=1):
            is_open = step.id in opened and opened[step.id].visited and not done
            if is_open and (module.id, step.id) != record.position:
                yield f"{module.number}.{at}"
