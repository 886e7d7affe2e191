"""Questions and predictions of a page for votes of the room: texts, numbers and right answers of both rounds.

An asked question is plain data, so that a restarted lecture process marks later votes in the same way. All marks
come from the activity's own `mark`, with the numbers of the round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UsageError, unknown
from tcptutor.course import personal
from tcptutor.course.activities.choice import MultipleChoice, Order, SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import NO_RUN, Activity, MarkContext
from tcptutor.course.setting_line import experiment_line
from tcptutor.course.step import Step

LETTERS = "ABCDEFGHIJ"
"""Names of choices on the stage, in order."""
MOST_CHARACTERS = 40
"""Longest answer to a numeric question."""

Answer = int | str
"""Answer of a voter: the index of a choice, or a number with its unit as typed."""

Listed = SingleChoice | ShapePrediction | RunQuestion
"""Activities answered with a single choice."""


class CountedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Checked and marked answer of a voter."""

    given: Answer
    value: float | None = None
    """Number in its base unit; None for a choice."""
    right: bool | None = None
    """None for a prediction of a number, which is neither right nor wrong."""


class AskedRound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Question as asked in a round."""

    text: str
    """Markdown."""
    choices: tuple[str, ...] = ()
    right: tuple[int, ...] = ()
    """Indexes of the right choices; empty for a number."""
    feedback: tuple[str, ...] = ()
    """Feedback on each choice."""
    numeric: Numeric | None = None
    """Question about a number, with the numbers of this round."""
    prediction: Predict | None = None
    """Prediction of a number."""

    @property
    def right_value(self) -> float | None:
        """Right number in its base unit; None for choices and predictions."""
        return units.parse(self.numeric.answer, self.numeric.unit) if self.numeric else None

    @property
    def right_answer(self) -> str:
        """Right answer in words, a choice with its letter; empty for a prediction of a number."""
        if self.numeric is not None:
            return self.numeric.answer
        return "; ".join(f"{LETTERS[index]}  {self.choices[index]}" for index in self.right)

    def count(self, answer: Answer) -> CountedAnswer:
        """Check and mark an answer.

        Raises:
            UsageError: The answer does not fit this question, or is too long.
        """
        if self.choices:
            index = _index(answer, len(self.choices))
            return CountedAnswer(index, right=index in self.right if self.right else None)
        text = answer.strip() if isinstance(answer, str) else ""
        if len(text) > MOST_CHARACTERS:
            raise UsageError(
                f"the answer is longer than {MOST_CHARACTERS} characters: write a number with its unit"
            )
        number = self.numeric or self.prediction
        if number is None or not text:
            raise UsageError("the answer is no number: write a number with its unit")
        value = units.parse(text, number.unit, number.plain_unit)
        if value <= 0:
            raise UsageError(f"{units.quoted(text)} is not above 0: write a number above 0 with its unit")
        if self.prediction:
            return CountedAnswer(text, value)
        return CountedAnswer(text, value, self.numeric.mark(text).correct if self.numeric else None)

    def has(self, answer: CountedAnswer) -> bool:
        """Return True if a stored answer fits this question."""
        if self.choices:
            return isinstance(answer.given, int) and 0 <= answer.given < len(self.choices)
        return answer.value is not None and answer.value > 0

    def words(self, answer: CountedAnswer) -> str:
        """Return an answer in words: the text of the choice, or the number with its unit."""
        if isinstance(answer.given, int):
            return self.choices[answer.given]
        number = self.numeric or self.prediction
        return units.write(answer.value, number.unit) if number and answer.value is not None else answer.given

    @property
    def why_right(self) -> str:
        """Reason for the right answer; empty for predictions and for several right answers."""
        if self.numeric is not None:
            return self.numeric.mark(self.numeric.answer).feedback
        reason = self.feedback[self.right[0]] if self.feedback and len(self.right) == 1 else ""
        return f"“{self.choices[self.right[0]]}”: {reason}" if reason else ""

    def why_popular_is_wrong(self, answers: Sequence[CountedAnswer]) -> str:
        """Return the most popular wrong answer with its feedback; empty if none is wrong."""
        wrong = Counter(_answer_key(answer) for answer in answers if answer.right is False)
        if not wrong:
            return ""
        popular = min(wrong, key=lambda each: (-wrong[each], each))
        first = next(answer for answer in answers if answer.right is False and _answer_key(answer) == popular)
        reason = self.feedback[int(popular)] if self.feedback else ""
        if self.numeric is not None:
            reason = self.numeric.mark(str(first.given)).feedback
        return f"Not “{self.words(first)}”: {reason}" if reason else ""


class AskedQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Question or prediction as asked in a lecture, for both rounds."""

    activity: str
    """Id of the activity on its page."""
    module: str = ""
    page: str = ""
    rounds: tuple[AskedRound, AskedRound]
    unit: str = ""
    """Kind of quantity of a numeric answer, such as "rate"; empty for choices."""
    plain_unit: str = ""
    """Default unit of a number, such as "Mbit/s"."""
    example: str = ""
    """Example of a numeric answer, such as "9 Mbit/s"."""
    title: str = ""
    """Headline of the slide of a question that is on no page."""
    setting: str = ""
    """Settings of the predicted experiment, on a single line; empty for other questions."""

    @property
    def place(self) -> tuple[str, str, str]:
        """Module, page and activity."""
        return self.module, self.page, self.activity

    @property
    def is_prediction(self) -> bool:
        """True if no answer is right or wrong."""
        return self.rounds[0].prediction is not None


def can_ask(activity: Activity) -> bool:
    """Return True if a room can vote on the activity, instead of a show of hands."""
    return isinstance(activity, Listed | Numeric | Predict | ReadOff)


def shown_list(step: Step, activity: Activity, *, module: str, seed: str) -> tuple[str, ...]:
    """Return the texts of an activity's choices or events in the order of this lecture."""
    order = activity.shown_order(personal.order_seed(seed, module, step.id, activity.id))
    return tuple(activity.listed[index] for index in order) if order else activity.listed


def by_hands(activity: Activity) -> str:
    """Return the instruction for a show of hands; empty for a question with votes."""
    match activity:
        case MultipleChoice():
            return "Several may be right: raise your hand for each"
        case Order():
            return "In which order? Call out the letters"
    return ""


def ask(
    step: Step, activity_id: str, *, module: str, seed: str, context: MarkContext = NO_RUN
) -> AskedQuestion:
    """Prepare a question of a page for the room.

    Args:
        step: The page.
        activity_id: Id of the question or prediction.
        module: Id of the page's module.
        seed: Seed of the lecture; the same seed gives the same numbers and the same order of choices.
        context: The slide's run; questions about the run need it.

    Raises:
        UsageError: The page has no such activity, the room cannot vote on it, or it needs the run first.
    """
    activity = next((each for each in step.activities if each.id == activity_id), None)
    if activity is None:
        raise UsageError(
            unknown("question", activity_id, (each.id for each in step.activities if can_ask(each)))
        )
    match activity:
        case Numeric():
            rounds = _numeric_rounds(activity, seed, module, step.id)
        case ReadOff():
            if context.run is None:
                raise UsageError("the room reads this value off the run: show the run first")
            number = activity.on_run(context.run)
            rounds = (AskedRound(text=activity.prompt, numeric=number),) * 2
        case Predict():
            rounds = (AskedRound(text=activity.prompt, prediction=activity),) * 2
        case SingleChoice() | ShapePrediction() | RunQuestion():
            order = activity.shown_order(personal.order_seed(seed, module, step.id, activity_id))
            rounds = (_listed_round(activity, order, context),) * 2
        case _:
            kind = "several answers" if isinstance(activity, MultipleChoice) else f"a {activity.table}"
            kind = "an order" if isinstance(activity, Order) else kind
            raise UsageError(
                f"the room cannot vote on {activity_id!r}, which asks for {kind}: ask for a show of hands"
            )
    asked = AskedQuestion(
        activity=activity_id,
        module=module,
        page=step.id,
        rounds=rounds,
        setting=_predicted_setting(step, activity),
    )
    activity = rounds[0].numeric or activity
    if not isinstance(activity, Numeric | Predict):
        return asked
    return msgspec.structs.replace(
        asked, unit=activity.unit, plain_unit=activity.plain_unit, example=units.EXAMPLES[activity.unit]
    )


def _predicted_setting(step: Step, activity: Activity) -> str:
    """Return the settings of the predicted experiment; empty for a prediction about several experiments."""
    is_about_sweep = step.sweep is not None and not (
        isinstance(activity, Predict) and activity.at in step.sweep.values
    )
    experiment = step.predicted_experiment(activity)
    if is_about_sweep or experiment is None or not isinstance(activity, Predict | ShapePrediction):
        return ""
    return experiment_line(experiment)


def _listed_round(activity: Listed, order: Sequence[int], context: MarkContext) -> AskedRound:
    ids = [activity.entry_ids[index] for index in order]
    if isinstance(activity, ShapePrediction):  # its mark needs the run, which comes later
        right: tuple[int, ...] = (order.index(activity.right),)
        feedback = [activity.shapes[index].feedback for index in order]
    else:
        marks = [activity.mark((id,), context) for id in ids]
        right = tuple(at for at, mark in enumerate(marks) if mark.correct)
        feedback = [mark.feedback for mark in marks]
    return AskedRound(
        text=activity.prompt,
        choices=tuple(activity.listed[index] for index in order),
        right=right,
        feedback=tuple(feedback),
    )


def _numeric_rounds(activity: Numeric, seed: str, module: str, page: str) -> tuple[AskedRound, AskedRound]:
    """Return the question for both rounds, with different numbers if it draws numbers."""
    first = activity.draw_numbers(personal.question_seed(seed, module, page, activity.id, 0))
    second = personal.draw_again(
        lambda again: activity.draw_numbers(
            personal.question_seed(seed, module, page, activity.id, 1, again + 1)
        ),
        first,
    )
    posed = [activity.with_numbers(draw) for draw in (first, second)]
    return AskedRound(text=posed[0].prompt, numeric=posed[0]), AskedRound(
        text=posed[1].prompt, numeric=posed[1]
    )


def _index(answer: Answer, choices: int) -> int:
    if (
        isinstance(answer, str)
        and len(answer) <= len(str(choices))
        and answer.isascii()
        and answer.isdecimal()
    ):
        answer = int(answer)
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer < choices:
        raise UsageError(f"the answer is none of the {choices} choices: choose one of them")
    return answer


def _answer_key(answer: CountedAnswer) -> float:
    """Return a key that is equal for equivalent answers."""
    return float(f"{answer.value:.3g}") if answer.value is not None else float(answer.given)
