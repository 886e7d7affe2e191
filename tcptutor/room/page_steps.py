"""Steps that a page offers for its slide, by their names in `lecture.toml`.

opening           the first sentences of the page, or the table at its start
figure ID         a figure
commands          the commands that a page with a shell suggests
network           rate, RTT, loss and senders of a run, before the run; for a sweep `network 4 BDP`
ask ID            a question or the prediction, for the room
run               the page's experiment; for a challenge, without changes
run SETTING       a sweep's point, such as `run 4 BDP`, or a challenge with its solution: `run solved`
verdict           the limit of the run
curve             all points of a sweep, from prepared runs
task              the task of a challenge
answer ID         the right answer, and feedback on the popular wrong answer
idea              the page's main idea
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activity import Activity, Question
from tcptutor.course.figure_places import placed
from tcptutor.course.step import Step
from tcptutor.room.excerpts import first_block, first_sentences, plain
from tcptutor.room.page_notes import answer_notes, prediction_notes, run_notes
from tcptutor.room.slides import (
    SOLVED,
    Answer,
    AnyStep,
    Ask,
    CurveShown,
    FigureShown,
    NetworkShown,
    OwnText,
    RunShown,
    Sentence,
    VerdictShown,
)

_CHECK_QUESTIONS = 5
"""Number of questions from which a page without a run counts as a check, for students on their own."""


def is_check(page: Step) -> bool:
    """Return True for a page with many questions and no run, such as a module's final check."""
    own = [question for question in page.activities_of(Question) if not question.recall]
    return not page.experiments and len(own) >= _CHECK_QUESTIONS


def votable(page: Step) -> tuple[Activity, ...]:
    """Return the activities that a room can vote on: predictions, single choices, and numbers to calculate."""
    kinds = Predict | ShapePrediction | SingleChoice | Numeric
    return tuple(each for each in page.activities if isinstance(each, kinds))


def askable(page: Step) -> tuple[Activity, ...]:
    """Return the activities that a lecture can show: also questions about a run or for a show of hands."""
    kinds = Predict | ShapePrediction | Question
    return tuple(each for each in page.activities if isinstance(each, kinds))


def questions(page: Step) -> list[Question]:
    """Return the questions that a room can vote on, the most useful first.

    The most useful question is the single choice with the most wrong choices that are explained at length, since
    these are real misconceptions; on a page with a run it asks about the run. Questions on earlier material come last.
    """

    def merit(question: Question) -> tuple[bool, bool, bool, int]:
        choices = question.choices if isinstance(question, SingleChoice) else ()
        wrong_at_length = sum(bool(choice.explanation) for choice in choices)
        return (not question.recall, bool(choices), bool(question.about_run), wrong_at_length)

    found = [each for each in votable(page) if isinstance(each, Question)]
    return sorted(found, key=merit, reverse=True)


def prediction(page: Step) -> Predict | ShapePrediction | None:
    """Return the prediction of a page."""
    return next((each for each in page.activities if isinstance(each, Predict | ShapePrediction)), None)


def default_steps(page: Step, ask: tuple[str, ...] | None = None) -> Iterator[str]:
    """Yield the names of the steps of a page's default slide.

    Args:
        page: The page.
        ask: Ids of the questions for the room; None for the prediction and the most useful question.
    """
    predicted = prediction(page)
    if ask is None:
        most = None if is_check(page) else 1
        asked = [question.id for question in questions(page)[:most]]
    else:
        asked = [id_ for id_ in ask if predicted is None or id_ != predicted.id]
    opening = _opening(page)
    # The back row cannot read a table; a lecture file may still add it.
    is_table = isinstance(opening, OwnText) and "\n|" in f"\n{opening.markdown}"
    if opening is not None and not is_table and not is_check(page):
        yield "opening"
    yield from (f"figure {id_}" for id_ in placed(page.prose))
    if page.shell is not None and page.shell.commands:
        yield "commands"
    is_predicted = predicted is not None and (ask is None or predicted.id in ask)
    if is_predicted and predicted is not None:
        at = getattr(predicted, "at", "")
        if page.experiment is not None or at:
            yield f"network {at}".strip()
        yield f"ask {predicted.id}"
    yield from _default_runs(page)
    if is_predicted and isinstance(predicted, ShapePrediction):
        yield f"answer {predicted.id}"
    yield from (f"figure {id_}" for id_ in placed(page.after_run))
    for id_ in asked:
        yield from (f"ask {id_}", f"answer {id_}")
    if page.idea:
        yield "idea"


def _default_runs(page: Step) -> Iterator[str]:
    """Yield the run steps: a sweep's predicted point or both ends, a challenge unchanged and solved."""
    if page.experiment is not None:
        yield from ("run", "verdict")
    elif page.sweep is not None:
        values = page.sweep.values
        predicted = [each.at for each in page.activities_of(Predict) if each.at in values]
        yield from (f"run {value}" for value in (predicted[:1] or (values[0], values[-1])))
        yield from ("verdict", "curve")
    elif page.challenge is not None:
        yield from ("run", "verdict", "task", f"run {SOLVED}", "verdict")


def read_step(page: Step, words: str) -> AnyStep:
    """Return the step of a page with this name.

    Raises:
        UsageError: The page has no such step.
    """
    kind, _, name = " ".join(words.split()).partition(" ")
    match kind:
        case "figure":
            return FigureShown(figure=_known("figure", name, [figure.id for figure in page.figures]))
        case "ask":
            return _ask(page, name)
        case "answer":
            right_or_wrong = {each.id: each for each in askable(page) if not isinstance(each, Predict)}
            _known("question with an answer", name, right_or_wrong)
            return Answer(activity=name, notes=answer_notes(right_or_wrong[name]))
        case "network":
            return NetworkShown(setting=_setting(page, name))
        case "run":
            return RunShown(setting=_setting(page, name))
    found = None if name else _plain_step(page, kind)
    if found is None:
        words_here = _all_words(page)
        raise UsageError(unknown("step", words, words_here, f"this page has {', '.join(words_here)}"))
    return found


def _ask(page: Step, name: str) -> Ask:
    activities = {each.id: each for each in askable(page)}
    activity = activities[_known("question for a room", name, activities)]
    notes = prediction_notes(page, activity) if isinstance(activity, Predict) else answer_notes(activity)
    return Ask(activity=name, notes=notes)


def _plain_step(page: Step, kind: str) -> AnyStep | None:
    found: AnyStep | None = None
    match kind:
        case "opening":
            found = _opening(page)
        case "commands" if page.shell and page.shell.commands:
            typed = "\n".join(f"{each.host}$ {each.run}" for each in page.shell.commands)
            found = OwnText(markdown=f"```\n{typed}\n```")
        case "verdict" if page.experiments or page.challenge:
            found = VerdictShown(notes=run_notes(page))
        case "curve" if page.sweep:
            found = CurveShown()
        case "task" if page.challenge:
            found = Sentence(text=plain(page.challenge.prompt), notes=answer_notes(page.challenge))
        case "idea" if page.idea:
            found = Sentence(text=plain(page.idea))
    return found


def _known(what: str, name: str, names: Collection[str]) -> str:
    if name not in names:
        raise UsageError(unknown(what, name, names))
    return name


def _setting(page: Step, name: str) -> str:
    if page.sweep is not None:
        return _known(f"value of {page.sweep.axis}", name, list(page.sweep.values))
    if page.challenge is not None and name in ("", SOLVED):
        return name
    if page.experiment is not None and not name:
        return ""
    words = [each for each in _all_words(page) if each.startswith("run")]
    raise UsageError(
        unknown("step", f"run {name}".strip(), words, f"this page has {' and '.join(words) or 'no run'}")
    )


def _all_words(page: Step) -> list[str]:
    """Return the names of a page's steps."""
    return [
        *dict.fromkeys(["opening"] * (_opening(page) is not None) + [*default_steps(page)]),
        *(f"figure {figure.id}" for figure in page.figures),
        *(f"ask {each.id}" for each in askable(page)),
    ]


def _opening(page: Step) -> Sentence | OwnText | None:
    if sentences := first_sentences(page.prose):
        return Sentence(text=sentences)
    if block := first_block(page.prose):
        return OwnText(markdown=block)
    return None
