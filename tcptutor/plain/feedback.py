"""Feedback on a response in paragraphs: verdict, the lesson's feedback, explanation."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.course.activities.example import Example
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import Activity
from tcptutor.plain.prose import Paragraph, inline_text, paragraphs
from tcptutor.study import words
from tcptutor.study.marking import MarkedResponse


def feedback(response: MarkedResponse, activity: Activity) -> Iterator[Paragraph]:
    """Yield the feedback on a new or earlier response."""
    match activity:
        case Predict() | ShapePrediction():
            yield from _on_prediction(response, activity)
        case RunQuestion() if not response.answer:
            yield Paragraph("Skipped. You can still answer.")
        case Example(gap=None):
            return
        case _:
            yield from _on_answer(response, activity)


def _on_prediction(response: MarkedResponse, activity: Predict | ShapePrediction) -> Iterator[Paragraph]:
    if not response.answer:
        yield Paragraph("You ran this without a prediction.")
        return
    if isinstance(activity, Predict):
        said = activity.written(str(response.answer))
        understood = activity.interpret(response.answer)
        said = f"{said} ({understood})" if understood else said
    else:
        said = inline_text(activity.in_words(response.answer))
    sureness = f", {words.SURENESS[response.sureness]}" if response.sureness else ""
    undo = " undo unlocks it." if response.can_withdraw else ""
    yield Paragraph(f"Your prediction is locked{sureness}: {said.rstrip('.')}.{undo}")
    yield from paragraphs(response.mark.feedback)


def _on_answer(response: MarkedResponse, activity: Activity) -> Iterator[Paragraph]:
    mark, typed = response.mark, ""
    if isinstance(response.answer, str):
        understood = activity.interpret(response.answer)
        typed = f"{response.answer} ({understood}): " if understood else f"{response.answer}: "
    verdict = {True: "Right. ", False: "Wrong. " if response.final else "Not yet. ", None: ""}[mark.correct]
    first, *rest = [*paragraphs(mark.feedback)] or [Paragraph("")]
    yield Paragraph(f"{verdict}{typed}{first.text}".strip().removesuffix(":"))
    yield from rest
    if mark.evidence:
        yield Paragraph(inline_text(mark.evidence))
    if response.explanation:
        is_guess = mark.correct and response.sureness == "guessing"
        if is_guess:
            yield Paragraph("You were guessing, so here is why:")
        yield from paragraphs(response.explanation)
    if response.sure_error:
        yield Paragraph("You were sure of another answer first.")
        yield from paragraphs(response.sure_error)
    if response.read:
        yield Paragraph(f"It is explained on {response.read}.")
