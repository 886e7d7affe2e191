"""Summary of a finished module in sentences: objectives, answers and accuracy of the predictions."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base import ratios
from tcptutor.course.known_courses import course_option
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import PageRecord
from tcptutor.course.pretest import known_pages
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.notebook.module_summary import summarize
from tcptutor.study import pages
from tcptutor.study.pages import ModulePage


def is_finished(course: Course, journal: Journal, module: Module) -> bool:
    """Return True if the student's path has no work left in the module."""
    of_path = pages.path_progress(module, journal.progress(course)[module.id], journal.record.path)
    return of_path is not None and of_path.total > 0 and not of_path.minutes_left


def known(module: Module, pretest: Step, record: PageRecord) -> Iterator[str]:
    """Yield a line with the pages that the pre-test found known, if any."""
    ids = known_pages(pretest, record)
    if titles := [ModulePage(module, each).title for each in module.steps if each.id in ids]:
        yield f"You know {', '.join(titles)} already: next passes over them, go opens them."


def summary(journal: Journal, module: Module) -> Iterator[str]:
    """Yield the sentences for the end of the module."""
    found = summarize(journal.record, module)
    yield f"You have finished module {module.number}, {module.title}."
    yield (
        f"{_count(found.runs, 'run')}, {_count(len(found.predictions), 'prediction')},"
        f" {_count(found.answers, 'right answer')}, {found.first_tries} at the first try."
    )
    if module.objectives:
        yield "You can now:"
        yield from (f"- {each}" for each in module.objectives)
    for name, each in (("best", found.best), ("worst", found.worst)):
        if each is not None:
            yield f"Your {name} prediction: {each.said}, measured {each.measured}, {each.error}, on {each.page}."
    if found.trend is not None:
        before, after = ratios.off_by(found.trend.before), ratios.off_by(found.trend.after)
        yield f"The median of your predictions: {before} in the first half, {after} in the second."
    yield f"`tcptutor certificate {module.id}{course_option()}` writes a certificate."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
