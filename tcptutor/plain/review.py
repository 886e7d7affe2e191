"""Dialogue of a review, which asks the due questions in turn."""

from __future__ import annotations

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.sender_question import SenderQuestion
from tcptutor.course.setting_line import experiment_line
from tcptutor.plain import asking
from tcptutor.plain.commands import parse
from tcptutor.plain.feedback import feedback
from tcptutor.plain.prose import paragraphs, sentence
from tcptutor.plain.sitting import Sitting
from tcptutor.review import ReviewCard
from tcptutor.study.flight_words import instant_in_words
from tcptutor.study.reviews import ReviewQuestion, find_now, recall_run


class ReviewDialogue:
    """Asks the due questions in turn until the student stops."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting
        self._right = self._asked = 0
        self._unreadable = 0

    async def hold(self) -> None:
        """Run the review.

        Raises:
            EndOfInput: The input has no more lines.
        """
        console = self._sitting.console
        found = await find_now(self._sitting.course, self._sitting.journal)
        cards = found.session
        if not cards:
            day = found.next_due
            console.say(
                "No review is due." if day is None else f"No review is due: {day[1]} questions come up later."
            )
            return
        console.say(f"Review: {len(cards)} questions. stop ends it; what you have answered counts.")
        for number, card in enumerate(cards, start=1):
            if not await self._ask(card, number, len(cards)):
                break
        console.say(f"{self._right} of {self._asked} right.")
        left = await find_now(self._sitting.course, self._sitting.journal)
        if due := len(left.due) - self._unreadable:
            console.say(f"{due} still due: review goes on.")

    async def _ask(self, card: ReviewCard, number: int, of: int) -> bool:
        """Ask a question; return False if the student stops."""
        console, journal = self._sitting.console, self._sitting.journal
        context = await recall_run(journal, card)
        question = ReviewQuestion(card, journal.identity, context)
        if not question.can_be_asked:
            self._unreadable += 1
            console.say(f"The run of a question on {card.place} cannot be read: run it again there.")
            return True
        activity = question.activity
        console.say("", f"Question {number} of {of}.")
        if card.question.about_run and card.step.network is not None:
            console.say(f"From {card.place}: {experiment_line(card.step.network)}.")
        console.say(*asking.question(activity, question.order))
        if isinstance(activity, SenderQuestion) and context.run is not None:
            response = activity.response(context.run)
            if response is not None:
                console.say(instant_in_words(response.flight, response.before))
        while question.response is None:
            hint = f", hint {question.hints + 1}" if question.hints < len(activity.hints) else ""
            line = await console.ask(f"{asking.how_to_answer(activity)}{hint}, next, or stop:")
            command = parse(line)
            if command is not None and command.name in ("quit", "home"):
                return False
            if command is not None and command.name == "next":
                return True
            if command is not None and command.name == "hint" and hint:
                console.say(*paragraphs(activity.hints[question.hints]))
                question.hints += 1
            elif command is not None and command.name == "again":
                console.say(*asking.question(activity, question.order))
            elif line and command is None:
                self._answer(question, line)
            else:
                console.say(f"{asking.how_to_answer(activity)}; hint, next, again or stop.")
        return True

    def _answer(self, question: ReviewQuestion, line: str) -> None:
        console, card = self._sitting.console, question.card
        text, sureness = asking.split_sureness(line)
        try:
            marked = question.answer(asking.response(question.activity, question.order, text), sureness)
        except UsageError as error:
            console.say(sentence(str(error)))
            return
        assert question.response is not None
        self._asked += 1
        self._right += bool(marked.mark.correct)
        self._sitting.journal.review(*card.id, question.response, question.hints)
        console.say(*feedback(marked, question.activity))
        if not card.question.about_run:
            console.say(f"From {card.place}.")
