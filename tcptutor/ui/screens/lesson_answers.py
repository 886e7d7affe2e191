"""Prediction, answers and hints of a page: what is given goes to the study, what comes back to widgets."""

from __future__ import annotations

from tcptutor.course.model import Question
from tcptutor.course.record import PREDICT
from tcptutor.errors import UsageError
from tcptutor.ui.study import Study
from tcptutor.ui.widgets.page.page import Page


class Answers:
    """Between the page's widgets and the study."""

    def __init__(self, study: Study, page: Page) -> None:
        self._study, self._page = study, page
        self._questions = {question.id: question for question in study.step.questions}

    @property
    def has_hints(self) -> bool:
        """Whether a hint is left for something that is not yet done."""
        return self._next_hint() is not None

    def restore(self) -> None:
        """Show what was answered before."""
        for id_, question in self._questions.items():
            attempt = self._study.last_attempt(question)
            if attempt is not None:
                mark = self._study.mark_again(question, attempt)
                self._page.question(id_).show_answer(attempt.given, mark, just_now=False)

    def predict(self, text: str) -> bool:
        """Lock the prediction; whether it was one."""
        box = self._page.predict_box
        assert box is not None
        try:
            box.show_locked(self._study.predict(text))
        except UsageError as error:
            box.complain(str(error))
            return False
        return True

    def skip_prediction(self) -> None:
        """There is none, and there will be none."""
        box = self._page.predict_box
        if box is not None and self._study.must_predict:
            box.show_locked(self._study.skip_prediction())

    def answer(self, id_: str, answer: tuple[int, ...] | str) -> None:
        """Mark it and say so."""
        box = self._page.question(id_)
        try:
            mark = self._study.answer(self._questions[id_], answer)
        except UsageError as error:
            box.complain(str(error))
        else:
            box.show_answer(answer, mark, just_now=True)

    def digit(self, digit: str) -> None:
        """It begins the prediction that is due, or chooses in the question that is at hand."""
        if self._begin_prediction(digit):
            return
        box = self._page.open_question()
        if box is not None and box.question.choices and digit != "0":
            box.enter()
            box.pick(int(digit) - 1)

    def pasted(self, text: str) -> None:
        """It begins the prediction that is due, if it can be one."""
        if text[:1].isdigit():
            self._begin_prediction(text)

    def _begin_prediction(self, text: str) -> bool:
        prediction = self._page.predict_box
        if prediction is None or not self._study.must_predict or self._page.focused_question() is not None:
            return False
        prediction.begin(text)
        return True

    def hint(self) -> bool:
        """Show the next hint; whether there was one."""
        found = self._next_hint()
        if found is None:
            return False
        target, hints = found
        self._study.hint(target, hints)
        level = self._study.page.activity(target).hints
        box = self._page.predict_box if target == PREDICT else self._page.question(target)
        assert box is not None
        box.show_hints(level)
        box.scroll_visible(animate=False)
        return True

    def _next_hint(self) -> tuple[str, tuple[str, ...]] | None:
        """The target that h speaks about: the question at hand, else what comes first on the page."""
        step, at_hand = self._study.step, self._page.focused_question()
        targets: list[tuple[str, tuple[str, ...]]] = []
        if at_hand is not None:
            targets.append((at_hand.question.id, at_hand.question.hints))
        if step.predict and self._study.must_predict:
            targets.append((PREDICT, step.predict.hints))
        targets += [(question.id, question.hints) for question in step.questions if self._open(question)]
        return next(
            (each for each in targets if self._study.page.activity(each[0]).hints < len(each[1])), None
        )

    def _open(self, question: Question) -> bool:
        return not self._study.is_right(question)
