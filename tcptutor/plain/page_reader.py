"""Texts of a page: its prose, the current activity, and texts that become due during the work."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.example import Example
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.sender_question import SenderQuestion
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.outline import Module
from tcptutor.course.page_record import Given
from tcptutor.course.step import Step
from tcptutor.plain import asking
from tcptutor.plain.feedback import feedback
from tcptutor.plain.page_lab import PageLab
from tcptutor.plain.prose import Paragraph, inline_text, paragraphs, sentence
from tcptutor.plain.sitting import Sitting
from tcptutor.study import pages
from tcptutor.study.pages import ModulePage
from tcptutor.study.study import Study

_NEXT_PAGE_KEY = "Press →"
"""Hint of pre-tests on how to skip them, valid in the app only."""


class PageReader:
    """Prints the parts of a page."""

    def __init__(self, sitting: Sitting, module: Module, step: Step, study: Study, lab: PageLab) -> None:
        self._sitting, self._module, self._step, self._study, self._lab = sitting, module, step, study, lab
        self._printed: set[str] = set()
        """Parts printed so far: "after", "idea", and problems of the journal."""

    def _say(self, *texts: str | Paragraph) -> None:
        self._sitting.console.say(*texts)

    def report_trouble(self) -> None:
        """Report once why work could not be saved."""
        if self._study.trouble and self._study.trouble not in self._printed:
            self._printed.add(self._study.trouble)
            self._say(sentence(self._study.trouble))

    def begin_again(self) -> None:
        """Print the page again; `report_news` then repeats the text after the run."""
        self.read()
        self._printed.discard("after")

    @property
    def onward(self) -> str:
        """Sentence about the next page."""
        try:
            target = pages.next_on_path(self._sitting.course, self._module, self._step, self._sitting.journal)
        except JournalError as error:
            return sentence(str(error))
        return f"Next is {target.title}." if target else "This is the last page of your path."

    def report_place(self, posed: Collection[Activity]) -> None:
        """Print the position in the course, the work left on this page, and the next page."""
        self._say(
            f"Module {self._module.number}, {self._module.title}: page {ModulePage(self._module, self._step).title}."
        )
        due = [each for each in posed if not each.is_done(self._study.record)]
        left = [asking.title(each) + ("" if self._study.reveals(each) else " (later)") for each in due]
        self._say(f"Left on this page: {', '.join(left)}." if left else "This page is done.")
        branch = pages.branch(self._sitting.course, self._module, self._step, self._sitting.journal)
        self._say(*(f"{pages.offer(step)}: deeper opens it." for step in branch.deeper[:1]), self.onward)

    def report_others(self) -> None:
        """Print published measurements.

        Raises:
            UsageError: The page has no published measurements, or withholds them until its run.
        """
        if not self._step.published or (
            self._step.experiments and not self._step.has_run(self._study.record)
        ):
            raise UsageError("this page has no published measurements to tell now")
        self._say(*paragraphs(self._step.published, self._step.figures))

    def report_answers(self, posed: Collection[Activity]) -> None:
        """Print every answer with its feedback."""
        answered = [each for each in posed if self.has_answer(each)]
        for activity in answered:
            if (found := self._study.response(activity)) is not None:
                question = inline_text(getattr(activity, "prompt", ""))
                self._say(f"{asking.title(activity)}: {question}", *feedback(found, activity))
        if not answered:
            self._say("You have answered nothing here yet.")

    def read(self) -> None:
        """Print title and text of the page, with the teacher's comments and the student's note."""
        number = f", page {self._number} of {len(self._module.steps)}" if self._number else ""
        self._say("", f"Module {self._module.number}{number}: {self._step.title}")
        if self._step.subtitle:
            self._say(inline_text(self._step.subtitle))
        prose = self._step.prose.replace(_NEXT_PAGE_KEY, f"Type `go {self._module.number}.1`")
        self._say(*paragraphs(prose, self._step.figures))
        if self._step.published and not self._step.experiments:
            self._say("others tells what others measured.")
        for comment in self._study.record.comments:
            by = f", {comment.by}" if comment.by else ""
            self._say(f"Your teacher{by} on this page:", *paragraphs(comment.text))
        if self._study.note:
            self._say(f"Your note: {self._study.note}")

    @property
    def _number(self) -> int:
        """Number of the page in its module, from 1; 0 for a pre-test."""
        ids = [each.id for each in self._module.steps]
        return ids.index(self._step.id) + 1 if self._step.id in ids else 0

    def report_earlier_work(self, posed: Collection[Activity]) -> None:
        """Report answers and runs from earlier visits."""
        done = [each for each in posed if self.has_answer(each)]
        if done:
            asked = [each for each in posed if self._study.reveals(each)]
            self._say(f"You have answered {len(done)} of {len(asked)} here before. answers repeats them.")
        if self._lab.live is not None or self._lab.sweep is not None:
            self._say("You have run this page before. result repeats what it gave.")

    def has_answer(self, activity: Activity) -> bool:
        """Return True if the activity was answered before."""
        return (
            not isinstance(activity, RunActivity | SweepActivity)
            and self._study.record_of(activity).attempts > 0
        )

    def report_news(self) -> None:
        """Print the texts that have become due."""
        study = self._study
        if (
            study.step.has_run(study.record)
            and study.due_observation is None
            and "after" not in self._printed
        ):
            self._printed.add("after")
            if self._step.after_run:
                self._say(*paragraphs(self._step.after_run, self._step.figures))
            if self._step.published and self._step.experiments:
                self._say("others tells what others measured.")
        if study.is_done and self._step.activities and self._step.idea and "idea" not in self._printed:
            self._printed.add("idea")
            self._say(f"This page is done. Its main idea: {inline_text(self._step.idea)}")

    def pose(self, activity: Activity) -> None:
        """Print an activity with its context, progress and marking rule."""
        self._say("")
        if isinstance(activity, SenderQuestion) and self._study.run is not None:
            self._say(*self._instant_of(activity))
        self._say(*asking.question(activity, self._study.shown_order(activity)))
        if isinstance(activity, ChallengeActivity):
            self._say(*self._lab.knob_lines(activity))
        if isinstance(activity, ShellActivity) and self._sitting.runs.replays:
            self._say("There is no lab here that could open a shell: next passes over this.")
        if (
            isinstance(activity, Example)
            and activity.gap is None
            and (shown := steps_shown(self._study, activity))
        ):
            self._say(f"You have seen {shown} of {len(activity.steps)} steps.")
        if self._study.was_right(activity):
            self._say(
                "You got this right before. The numbers are new: answer again if you like, or type next."
            )
        if rule := self._sitting.rule(activity, self._step) if self._study.is_enrolled else "":
            self._say(f"Marks: {rule}.")

    def _instant_of(self, activity: SenderQuestion) -> Iterable[str]:
        from tcptutor.study.flight_words import instant_in_words  # noqa: PLC0415

        response = activity.response(self._study.run) if self._study.run else None
        if response is not None:
            yield instant_in_words(response.flight, response.before)


def steps_shown(study: Study, example: Example) -> int:
    """Return the number of steps of a solved example that were shown."""
    latest = study.record_of(example).latest
    given: Given = latest.answer if latest else ()
    return max((number for number, id in enumerate(example.entry_ids, 1) if id in tuple(given)), default=0)
