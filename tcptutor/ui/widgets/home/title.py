"""Title of the home screen: the course, progress and time left along both paths, and who is enrolled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from textual.content import Content

from tcptutor.course import duration
from tcptutor.course.marks import MarkScheme
from tcptutor.course.page_record import moment
from tcptutor.course.paths import PATHS
from tcptutor.journal.fold import Enrolment
from tcptutor.ui.widgets.home.facts import HomeFacts
from tcptutor.ui.widgets.home.modules import HEADS
from tcptutor.ui.widgets.home.text import count_pages


def title_lines(title: str, facts: HomeFacts) -> Iterator[Content]:
    """Yield the title, and both paths with progress and time left; the student's path is highlighted."""
    yield Content.styled(title, "bold")
    for path in PATHS:
        found = [each[path] for each in facts.progress.values() if path in each]
        times = [each.minutes_left for each in found if each.minutes_left is not None]
        if len(times) < len(facts.progress) or not any(each.total for each in found):
            continue  # some pages are not read yet, or no page is on the path
        finished, pages = sum(each.done for each in found), count_pages(sum(each.total for each in found))
        done = f"{finished} of {pages}" if finished else pages
        left = f", {duration.in_words(sum(times))}{' left' if finished else ''}"
        line = f"{HEADS[path].capitalize():<11} {done}{left if any(times) else ''}"
        if path == facts.path:
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
