"""Title of the home screen: the course, progress and time left along both paths, and who is enrolled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from textual.content import Content

from tcptutor.course import duration
from tcptutor.course.marks import MarkScheme
from tcptutor.course.outline import Course
from tcptutor.course.page_record import moment
from tcptutor.course.paths import PATHS, CoursePath
from tcptutor.journal import Progress
from tcptutor.journal.fold import Enrolment
from tcptutor.ui.pages import PathProgress, path_progress
from tcptutor.ui.widgets.home.modules import HEADS
from tcptutor.ui.widgets.home.text import count_pages


def title_lines(course: Course, progress: Mapping[str, Progress], own: CoursePath) -> Iterator[Content]:
    """Yield the title, and both paths with progress and time left; the student's `own` path stands out."""
    yield Content.styled(course.title, "bold")
    for path in PATHS:
        found = [path_progress(module, progress[module.id], path) for module in course.modules]
        sums = _sum([each for each in found if each is not None])
        if None in found or not sums.total:
            continue
        done = f"{sums.done} of {count_pages(sums.total)}" if sums.done else count_pages(sums.total)
        left = f", {duration.in_words(sums.minutes_left)}{' left' if sums.done else ''}"
        line = f"{HEADS[path].capitalize():<11} {done}{left if sums.minutes_left else ''}"
        if path == own:
            yield Content.styled(f"▸ {line}", "bold")
        else:
            yield Content.styled(f"  {line}", "$text-muted")


def enrolment_text(enrolment: Enrolment | None, marks: MarkScheme) -> Content:
    """Return who is enrolled, until when, which path counts, and the key for the rules."""
    parts = [enrolment.student if enrolment else "Not enrolled"]
    if deadline := moment(marks.deadline):
        verb = "was due" if deadline < datetime.now(UTC) else "due"
        parts.append(f"{verb} {deadline.astimezone():%-d %b %Y %H:%M %Z}")
    if marks.path == "essential":
        parts.append("essentials count")
    return Content.assemble(f"{' · '.join(parts)} · ", ("M", "bold"), " marks")


def _sum(parts: Sequence[PathProgress]) -> PathProgress:
    return PathProgress(
        sum(each.done for each in parts),
        sum(each.total for each in parts),
        sum(each.minutes_left for each in parts),
    )
