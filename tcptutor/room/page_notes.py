"""Speaker's notes from a page: explanations, right answers, and feedback on wrong choices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.base import units
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.choice import ChoiceQuestion, Order
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activity import Activity
from tcptutor.course.measures import MEASURES, expected
from tcptutor.course.page_references import without_links
from tcptutor.course.step import Step
from tcptutor.room.model_names import page_model, room_name, shown_models

_GAPS = re.compile(r"\n{3,}")


def speakers_notes(module: str, page: Step) -> str:
    """Return the page's text before its run, and the shell work to demonstrate."""
    return "\n\n".join([_plain_notes(page.prose), *_by_hand(module, page)]).strip()


def _by_hand(module: str, page: Step) -> Iterator[str]:
    if page.shell is not None:
        yield f"Show it by hand: `tcptutor shell {module}/{page.id}` in a terminal that the room sees."
        yield "\n".join(f"- {goal}" for goal in page.shell.listed)
        yield "\n\n".join(hint for hint in page.shell.hints)


def run_notes(page: Step) -> str:
    """Return the page's explanation of its run."""
    return _plain_notes(page.after_run)


def prediction_notes(page: Step, prediction: Predict) -> str:
    """Return the models' predictions, and the page's hints except the first nudge."""
    hints = [hint for hint in prediction.hints if "{" not in hint]
    return "\n\n".join([*_by_models(page, prediction), *(hints[1:] or hints)])


def _by_models(page: Step, prediction: Predict) -> Iterator[str]:
    from tcptutor.analysis import expect  # noqa: PLC0415  # takes 0.1 s, and a lecture file may have no prediction

    experiment = page.predicted_experiment(prediction)
    if experiment is None or prediction.knee:
        return
    measure = page.sweep.measure if page.sweep is not None else prediction.measure
    if measure == "throughput":
        shown = shown_models(expect(experiment).predictions, page_model(page))
        values = "; ".join(
            f"{room_name(each)}: {units.rounded(each.throughput_bps, 'rate')}" for each in shown
        )
        yield f"**By the models:** {values}"
    elif (value := expected(measure, experiment)) is not None:
        yield f"**By the models:** {MEASURES[measure].written(value)}"


def _plain_notes(markdown: str) -> str:
    """Return a page's text without links and figures, and without the resulting gaps."""
    return _GAPS.sub("\n\n", without_links(markdown)).strip()


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
        case Order():
            yield "**Right order:**"
            yield "\n".join(f"{number}. {text}" for number, text in enumerate(activity.listed, start=1))
            yield activity.explanation
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
