"""Sentences of a notebook that every format prints."""

from __future__ import annotations

from tcptutor.base import ratios
from tcptutor.course.page_record import moment
from tcptutor.notebook.content import NotebookAnswer, NotebookComment, NotebookPrediction


def day(at: str) -> str:
    """Return the day of an ISO 8601 time, "2026-11-27"; the text itself if it is none."""
    found = moment(at)
    return found.date().isoformat() if found else at


def compared(prediction: NotebookPrediction, who: str = "I") -> str:
    """Return a prediction, by "I" or "You", next to its measurement."""
    said = f"{who} said: {prediction.said}"
    if not prediction.measured or not prediction.ratio:
        return f"{said}."
    return f"{said}. Measured: {prediction.measured} ({ratios.too_high_or_low(prediction.ratio)})."


def answered(answer: NotebookAnswer) -> str:
    """Return how it went: "Right at the second try, with a hint"."""
    if answer.is_right is None:
        return "My answer"
    head = "Right" if answer.is_right else "Still wrong"
    tries = (
        f" after {answer.attempts} tries" if answer.attempts > 1 else " at the first try" * answer.is_right
    )
    hints = (
        "" if not answer.hints else ", with a hint" if answer.hints == 1 else f", with {answer.hints} hints"
    )
    return f"{head}{tries}{hints}"


def commented(comment: NotebookComment) -> str:
    """Return who commented on what: "My teacher, Dr. Ngo, on this question:"."""
    name = f", {comment.by}," if comment.by else ""
    return f"My teacher{name} on {'this question' if comment.prompt else 'this page'}:"
