"""Words of the feedback on a response: verdict, the lesson's feedback, explanation."""

from __future__ import annotations

import re

from textual.content import Content

from tcptutor.base.key_names import key_name
from tcptutor.course.activity import Activity, Mark
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.widgets.page.text import inline, paragraphs

_PRAISE = re.compile(r"^(?:Right|Yes|Correct|Exactly)[:,] *(\w)")
"""Openings of a lesson's feedback that would repeat the verdict."""


def feedback_on(response: MarkedResponse, activity: Activity) -> Content:
    """Return the feedback on a response that is right or wrong."""
    mark, typed = response.mark, ""
    if isinstance(response.answer, str):
        understood = activity.interpret(response.answer)
        typed = f"{response.answer} ({understood}): " if understood else f"{response.answer}: "
    wrong = "✗ Wrong. " if response.final else "✗ Not yet. "
    verdict = ("✓ Right. ", "$success bold") if mark.correct else (wrong, "$error bold")
    lesson_feedback = mark.feedback
    if mark.correct:  # the verdict says so already
        lesson_feedback = _PRAISE.sub(lambda found: found[1].upper(), lesson_feedback)
    lines = [Content.assemble(verdict, typed, paragraphs(lesson_feedback))]
    if response.explanation:
        is_guess = mark.correct and response.sureness == "guessing"
        lead = "You were guessing, so here is why: " if is_guess else ""
        lines.append(lead + paragraphs(response.explanation))
    if response.sure_error:
        lines.append("You were sure of another answer first. " + paragraphs(response.sure_error))
    if response.read:
        lines.append(Content(f"It is explained on {response.read}."))
    return Content("\n").join(lines)


def source_line(page: str, mark: Mark) -> Content:
    """Return the source page of a review question; after a wrong answer, with the key that opens it."""
    source = Content.assemble(("From: ", "$text-muted"), inline(page))
    if mark.correct:
        return source
    return source + f"  ({key_name('lesson.follow')} goes there, {key_name('lesson.return')} comes back)"
