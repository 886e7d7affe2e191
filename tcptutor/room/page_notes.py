"""Speaker's notes from a page: what to say, the answers, and what wrong choices tell about those who took them."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.choice import ChoiceQuestion
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activity import Activity
from tcptutor.course.page_references import without_links
from tcptutor.course.step import Step


def speakers_notes(step: Step) -> str:
    """Return what the page says before its run, and what a page by hand has students do."""
    parts = [without_links(step.prose)]
    if step.shell is not None:
        parts.append("By hand, in a terminal of the page:")
        parts.append("\n".join(f"- {goal}" for goal in step.shell.listed))
    return "\n\n".join(filter(None, parts))


def run_notes(step: Step) -> str:
    """Return what the page says after its run."""
    return without_links(step.after_run)


def prediction_notes(prediction: Predict) -> str:
    """Return the way to a good prediction: the page's last hint but one, which is the method."""
    hints = [hint for hint in prediction.hints if "{" not in hint]
    return "\n\n".join(hints[1:] or hints)


def answer_notes(activity: Activity) -> str:
    """Return the right answer, the reason, and the feedback for each wrong choice."""
    return "\n\n".join(filter(None, _answer_parts(activity)))


def _answer_parts(activity: Activity) -> Iterator[str]:
    match activity:
        case ChoiceQuestion():
            yield "\n".join(f"**Right:** {activity.choices[index].text}" for index in activity.right)
            yield activity.explanation
            wrong = [choice for choice in activity.choices if not choice.correct]
            yield "\n".join(f"- *{choice.text}*: {choice.feedback}" for choice in wrong)
        case ShapePrediction():
            yield f"**Right:** {activity.shapes[activity.right].text} {activity.shapes[activity.right].feedback}"
            wrong_shapes = [shape for shape in activity.shapes if not shape.correct]
            yield "\n".join(f"- *{shape.text}* {shape.feedback}" for shape in wrong_shapes)
        case Numeric() if not activity.draw_numbers("notes"):
            yield f"**Right:** {activity.answer}"
            yield activity.explanation
        case Numeric():
            yield f"**Right:** {activity.feedback}"
        case ChallengeActivity():
            changes = ", ".join(f"{name} = {value}" for name, value in activity.solution.items())
            yield f"**A solution:** {changes}"
            yield activity.explanation
