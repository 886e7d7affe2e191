"""A response in the journal, marked again with the feedback to show now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Activity, Mark, MarkContext
from tcptutor.course.page_record import ActivityRecord, Given, Response, Sureness


@dataclass(frozen=True)
class MarkedResponse:
    """A response as the page shows it."""

    answer: Given
    mark: Mark
    explanation: str
    """Explanation of a right response, or of a wrong response given as sure; otherwise empty."""
    final: bool
    """True if the response can no longer change."""
    can_redraw: bool = False
    """True if the question can be posed again with new numbers."""
    can_withdraw: bool = False
    """True if the response is locked and can still be withdrawn."""
    sureness: Sureness | None = None
    """Sureness of the answer; None if not stated."""
    sure_error: str = ""
    """Explanation of an earlier wrong response given as sure, once the response is right."""
    read: str = ""
    """Where to read up after a wrong answer, e.g. "page 4, “Four flows”"; empty if no page explains it."""


def is_locked(activity: Activity, record: ActivityRecord) -> bool:
    """Return True if the activity takes one response only, and has it."""
    return activity.locked and record.attempts > 0


def marked_response(
    activity: Activity, record: ActivityRecord, drawn: Mapping[str, str] | None, context: MarkContext
) -> MarkedResponse | None:
    """Return the response that counts, with its feedback; None without a response.

    Args:
        activity: The activity as the lesson states it.
        record: The student's work on the activity.
        drawn: The numbers with which the activity is posed; None if it uses no random numbers.
        context: Runs and curve to mark the response against.
    """
    response = record.first if activity.locked else record.right or record.latest
    if drawn is not None:
        response = record.latest if record.latest and record.latest.draw == drawn else None
    if response is None:
        return None
    mark = _mark_now(activity, response, context)
    if record.latest and response.correct and not mark.correct:
        # The lesson was edited since the correct answer: a later response may match its new version.
        response = record.latest
        mark = _mark_now(activity, response, context)
    return MarkedResponse(
        answer=response.answer,
        mark=mark,
        explanation=activity.explanation if mark.correct else _detail(response, mark),
        final=bool(mark.correct) or is_locked(activity, record),
        can_redraw=drawn is not None and bool(mark.correct),
        sureness=response.sureness,
        sure_error=_explained_error(activity, record, drawn, context) if mark.correct else "",
    )


def _mark_now(activity: Activity, response: Response, context: MarkContext) -> Mark:
    """Mark the response again, since the lesson may have been edited."""
    try:
        mark = activity.mark(response.answer, context)
    except UsageError:
        return Mark(correct=response.correct)
    if mark.correct == response.correct or not activity.against_run:
        return mark
    # A newer run would mark the response differently: keep the original mark.
    before = "" if response.correct else "Marked against an earlier run: answer again."
    return Mark(correct=response.correct, feedback=before)


def _explained_error(
    activity: Activity, record: ActivityRecord, drawn: Mapping[str, str] | None, context: MarkContext
) -> str:
    """Return the full explanation of the student's sure error with the same numbers; empty without a sure error."""
    error = record.sure_error
    if error is None or error.draw != (drawn or {}):
        return ""
    mark = _mark_now(activity, error, context)
    return "" if mark.correct else f"{mark.feedback} {mark.detail}".strip()


def _detail(response: Response, mark: Mark) -> str:
    """Return the further explanation of a wrong response of which the student was sure; otherwise empty."""
    return mark.detail if response.sureness == "sure" and mark.correct is False else ""
