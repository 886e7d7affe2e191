"""Dialogue of a page: its text, then its activities in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tcptutor.base import places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.example import Example
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import Activity, Question
from tcptutor.course.outline import Module
from tcptutor.course.page_references import PageTitles
from tcptutor.course.paths import PRETEST
from tcptutor.course.rules import hint_cost
from tcptutor.course.step import Step
from tcptutor.plain import asking, module_end, result
from tcptutor.plain.commands import COMMANDS, PAGE_HELP, Command, parse
from tcptutor.plain.feedback import feedback
from tcptutor.plain.page_lab import PageLab
from tcptutor.plain.page_reader import PageReader, steps_shown
from tcptutor.plain.prose import Paragraph, inline_text, paragraphs, sentence
from tcptutor.plain.shell import LabShell
from tcptutor.plain.sitting import Destination, Sitting
from tcptutor.study import pages
from tcptutor.study.pages import ModulePage
from tcptutor.study.study import Study

Elsewhere = Callable[[Command], Awaitable[Destination | None]]


class PageDialogue:
    """Dialogue of a page while the student works on it."""

    def __init__(self, sitting: Sitting, module: Module, step: Step, elsewhere: Elsewhere) -> None:
        """Open the page.

        Args:
            sitting: Console, journal, course and lab.
            module: Module of the page.
            step: The page.
            elsewhere: Executes commands that do not concern the page.
        """
        self.sitting, self.module, self.step, self._elsewhere = sitting, module, step, elsewhere
        self.study = Study(module, step, sitting.journal)
        self.lab = PageLab(self.study, sitting.runs, sitting.console)
        self.reader = PageReader(sitting, module, step, self.study, self.lab)
        self._posed = {each.id: self.study.posed(each) for each in step.activities}
        self._passed: set[str] = set()
        """Ids of activities that the student passed over on this visit."""
        self._asked = ""
        """Id of the latest activity that was asked."""
        self._confirming = ""
        """Line that must be typed again to take effect; empty otherwise."""
        self._last = ""
        """Id of the latest activity that was answered."""

    @property
    def place(self) -> ModulePage:
        """Page with its module."""
        return ModulePage(self.module, self.step)

    @property
    def activity(self) -> Activity | None:
        """Current activity: the first due activity that was not passed over."""
        return next((each for each in self._posed.values() if self._is_due(each)), None)

    def _is_due(self, activity: Activity) -> bool:
        if activity.id in self._passed or not self.study.reveals(activity):
            return False
        if isinstance(activity, RunActivity):
            return not self.step.has_run(self.study.record)
        return self.study.is_due(activity)

    # The dialogue

    async def hold(self) -> Destination:
        """Run the dialogue until the student leaves the page, and return the destination.

        Raises:
            EndOfInput: The input has no more lines.
        """
        self.sitting.runs.begin_to_warm()
        self.reader.read()
        await self.lab.recall()
        self._mark_again()
        self.reader.report_earlier_work(self._posed.values())
        while True:
            self.reader.report_news()
            activity = self.activity
            if activity is not None and activity.id != self._asked:
                self.reader.pose(activity)
            self._asked = activity.id if activity else ""
            line = await self.sitting.console.ask(self._prompt(activity))
            if outdated := self.sitting.own.update():
                self._say(outdated)
                return Destination(self.sitting.own.page(self.module, self.step))
            try:
                destination = await self._obey(line, activity)
            except TutorError as error:
                self._say(sentence(str(error)))
                destination = None
            self.reader.report_trouble()
            if destination is not None:
                return destination

    def _say(self, *texts: str | Paragraph) -> None:
        self.sitting.console.say(*texts)

    def _prompt(self, activity: Activity | None) -> str:
        if activity is None:
            return f"{self.reader.onward} Enter goes on, ? helps:"
        hint = f", hint {self.study.hints_shown(activity) + 1}" if self._has_hint(activity) else ""
        return f"{asking.how_to_answer(activity)}{hint}, next, or ?:"

    def _has_hint(self, activity: Activity) -> bool:
        return self.study.is_due(activity) and self.study.hints_left(activity)

    # Lines

    async def _obey(self, line: str, activity: Activity | None) -> Destination | None:
        again, self._confirming = self._confirming, ""
        command = parse(line)
        if command is None:
            if activity is None:
                return await self._leave_line(line)
            await self._answer(activity, line, confirmed=line == again)
            return None
        handler = self._handlers.get(command.name)
        if handler is None:
            return await self._elsewhere(command)
        return await handler(command, command.name == again)

    @property
    def _handlers(self) -> dict[str, Callable[[Command, bool], Awaitable[Destination | None]]]:
        return {
            "help": self._help,
            "again": self._again,
            "read": self._read_again,
            "hint": self._hint,
            "run": self._run,
            "repeat": self._run,
            "skip": self._skip,
            "undo": self._undo,
            "new": self._new,
            "next": self._next,
            "back": self._back,
            "deeper": self._deeper,
            "where": self._where,
            "note": self._note,
            "answers": self._answers,
            "result": self._details,
            "models": self._details,
            "flows": self._details,
            "chart": self._details,
            "at": self._details,
            "others": self._others,
            "terminal": self._terminal,
        }

    async def _leave_line(self, line: str) -> Destination | None:
        """Leave a finished page at an empty line; refuse any other line."""
        if line:
            raise UsageError(asking.unknown(None, line))
        return await self._next(Command("next", ""), True)

    async def _answer(self, activity: Activity, line: str, confirmed: bool) -> None:
        if isinstance(activity, Example) and activity.gap is None and not line:
            self._show_step(activity)
            return
        if not line:
            self._say(asking.how_to_answer(activity) + ".")
            return
        if isinstance(activity, ChallengeActivity):
            self._say(self.lab.set_knob(activity, line))
            return
        text, sureness = asking.split_sureness(line)
        given = asking.response(activity, self.study.shown_order(activity), text)
        if not confirmed and activity.locked and (doubt := self.study.doubt(activity, given)):
            self._confirming = line
            self._say(f"{doubt} Type {line} again to lock it as it is.")
            return
        self.study.respond(activity, given, sureness)
        self._report_response(activity)

    def _report_response(self, activity: Activity) -> None:
        response = self.study.response(activity)
        if response is None:
            return
        self._last = activity.id
        self._say(*feedback(response, activity))
        if isinstance(activity, RunQuestion) and self.study.due_observation is None and self.lab.live:
            self.lab.live.awaits_observation = False
            self._say(*result.explanation(self.lab.live))
        if isinstance(activity, Question) and activity.recall:
            titles = PageTitles(self.sitting.course.root or places.lessons())
            self._say(f"From: {inline_text(titles.link(activity.recall))}.")
        if response.can_redraw:
            self._say("new asks it again with new numbers.")

    def _show_step(self, activity: Example) -> None:
        shown = steps_shown(self.study, activity)
        if shown < len(activity.steps):
            self.study.respond(activity, (activity.entry_ids[shown],))
            self._say(f"Step {shown + 1}: {inline_text(activity.steps[shown].text)}")

    # Commands

    async def _help(self, command: Command, _again: bool) -> None:
        if command.words in COMMANDS:
            self._say(f"{command.words}: {COMMANDS[command.words]}")
            return
        if self.activity is not None:
            self._say(f"{asking.how_to_answer(self.activity)}.")
        self._say(
            "Add guessing, fairly or sure after an answer to say how sure you are.",
            "Texts name keys of the app: r, t, x, u and h are run, terminal, skip, undo and hint here.",
        )
        self._say(*(f"{name}: {COMMANDS[name]}" for name in PAGE_HELP))

    async def _again(self, _command: Command, _again: bool) -> None:
        if self.activity is None:
            self._passed.clear()
        self._asked = ""

    async def _read_again(self, _command: Command, _again: bool) -> None:
        self.reader.begin_again()
        self._asked = ""

    async def _hint(self, _command: Command, again: bool) -> None:
        activity = self.activity
        if activity is None or not self._has_hint(activity):
            raise UsageError("there are no more hints here")
        level, of = self.study.hints_shown(activity) + 1, len(activity.hints)
        if not again and self._costs_marks(activity) and (cost := hint_cost(self.sitting.course.marks)):
            self._confirming = "hint"
            self._say(f"Hint {level} of {of} takes {cost} of its marks. Type hint again to see it.")
            return
        self.study.hint(activity)
        first, *rest = [*paragraphs(activity.hints[level - 1])]
        self._say(f"Hint {level} of {of}: {first.text}", *rest)

    def _costs_marks(self, activity: Activity) -> bool:
        return self.study.is_enrolled and bool(self.sitting.rule(activity, self.step))

    async def _run(self, command: Command, _again: bool) -> None:
        if self.lab.activity is None:
            raise UsageError("this page has nothing to run")
        due = self.study.due_before_run
        if due is not None:
            if due.id in self._passed:
                self._passed.discard(due.id)
                self._asked = ""
            raise UsageError(f"first comes your prediction. {asking.how_to_answer(due)}")
        before, was_reached = self._answered_against_run(), self._has_reached_challenge
        await self.lab.start(same=command.name == "repeat")
        self._mark_again()
        for activity in before:
            if isinstance(activity, Predict | ShapePrediction) and (found := self.study.response(activity)):
                self._say(*paragraphs(found.mark.feedback))
        if (challenge := self.step.challenge) is not None and (found := self.study.response(challenge)):
            self._report_standing(challenge)
            if found.mark.correct and not was_reached:
                self._say(*paragraphs(found.explanation))

    @property
    def _has_reached_challenge(self) -> bool:
        challenge = self.step.challenge
        return challenge is not None and self.study.record_of(challenge).right is not None

    def _report_standing(self, challenge: ChallengeActivity) -> None:
        standing = challenge.describe_status(self.study.record_of(challenge))
        self._say(f"The challenge is {standing}.")

    def _answered_against_run(self) -> list[Activity]:
        return [
            each for each in self._posed.values() if each.against_run and self.study.record_of(each).attempts
        ]

    def _mark_again(self) -> None:
        """Mark responses against the latest run."""
        for activity in self._posed.values():
            if activity.against_run:
                self.study.record_measured(activity)

    async def _skip(self, _command: Command, again: bool) -> None:
        due = self.study.due_before_run
        if due is not None and due.locked:
            if not again:
                self._confirming = "skip"
                self._say("Without a prediction it stays empty for good. Type skip again to go on without.")
                return
            self.study.skip(due)
            self._report_response(due)
        elif (observation := self.study.due_observation) is not None:
            self.study.skip(observation)
            self._passed.add(observation.id)
            self._report_response(observation)
        else:
            raise UsageError(
                "only predictions and questions on what a run showed can be skipped: next passes over others"
            )

    async def _undo(self, _command: Command, _again: bool) -> None:
        able = [each for each in self._posed.values() if self.study.can_withdraw(each)]
        activity = next((each for each in able if each.id == self._last), next(iter(able), None))
        if activity is None:
            raise UsageError("no locked prediction can be changed: a run has started, or there is none")
        if not self.study.withdraw(activity):
            raise UsageError("a run has started in another window: the prediction is final")
        self._asked = ""

    async def _new(self, _command: Command, _again: bool) -> None:
        able = [each for each in self._posed.values() if self.study.can_redraw(each)]
        activity = next((each for each in able if each.id == self._last), next(iter(able), None))
        if activity is None:
            raise UsageError("no question here can be asked with new numbers now")
        posed = self.study.redraw(activity)
        # Put it first, so that it becomes current: a right answer to its old numbers does not count.
        self._posed = {posed.id: posed, **{id: each for id, each in self._posed.items() if id != posed.id}}
        self._say("", *asking.question(posed, self.study.shown_order(posed)))
        line = await self.sitting.console.ask(f"{asking.how_to_answer(posed)}, or Enter to leave it:")
        if line:
            text, sureness = asking.split_sureness(line)
            self.study.respond(posed, asking.response(posed, self.study.shown_order(posed), text), sureness)
            self._report_response(posed)

    async def _next(self, _command: Command, _again: bool) -> Destination | None:
        activity = self.activity
        if activity is not None:
            self._passed.add(activity.id)
            if self.activity is None:
                left = [each for each in self._posed.values() if each.id in self._passed]
                self._say(f"Passed over: {len(left)} left on this page. again asks them.")
            return None
        return self._leave()

    async def _back(self, _command: Command, _again: bool) -> Destination | None:
        target = pages.neighbor(self.sitting.course, self.module, self.step, -1)
        if target is None:
            raise UsageError("this is the first page")
        return Destination(target)

    async def _deeper(self, _command: Command, _again: bool) -> Destination | None:
        branch = pages.branch(self.sitting.course, self.module, self.step, self.sitting.journal)
        if not branch.deeper:
            raise UsageError("no deeper page follows here")
        return Destination(ModulePage(self.module, branch.deeper[0]))

    async def _where(self, _command: Command, _again: bool) -> None:
        self.reader.report_place(self._posed.values())

    async def _note(self, command: Command, _again: bool) -> None:
        if not command.words:
            note = self.study.note
            self._say(f"Your note: {note}" if note else "You have no note here. note TEXT writes one.")
            return
        text = "" if command.words == "-" else "\n".join(filter(None, (self.study.note, command.words)))
        self.sitting.journal.note(self.module.id, self.step.id, text)
        self._say("Your note is deleted." if not text else "Saved. note - deletes the note.")

    async def _answers(self, _command: Command, _again: bool) -> None:
        self.reader.report_answers(self._posed.values())

    async def _details(self, command: Command, _again: bool) -> None:
        self._say(*await self.lab.details(command.name, command.words))

    async def _others(self, _command: Command, _again: bool) -> None:
        self.reader.report_others()

    async def _terminal(self, command: Command, _again: bool) -> None:
        shell = self.step.shell
        if shell is None:
            raise UsageError("this page has no shell: `tcptutor shell` opens one on any network")
        host = command.words or shell.hosts[0]
        if host not in shell.hosts:
            raise UsageError(f"there is no shell on {host[:20]!r}: choose {', '.join(shell.hosts)}")
        await LabShell(self.sitting, self.module.id, self.step.id, shell).open(host)
        self.study.reload()
        if shell.is_done(self.study.record):
            self._say("This work by hand is done.")
        self._asked = ""

    def _leave(self) -> Destination | None:
        """Return the next page of the path; print the summary of a finished module."""
        course, journal = self.sitting.course, self.sitting.journal
        if self.step.id == PRETEST:
            self._say(*module_end.known(self.module, self.step, self.study.record))
        target = pages.next_on_path(course, self.module, self.step, journal)
        if (target is None or target.module.id != self.module.id) and module_end.is_finished(
            course, journal, self.module
        ):
            self._say(*module_end.summary(journal, self.module))
        if target is None:
            self._say("That was the last page of your path.")
            return Destination()
        return Destination(target)
