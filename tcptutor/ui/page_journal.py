"""The journal's calls by page and activity, made of the calls that it has now."""

from __future__ import annotations

from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.model import Step
from tcptutor.course.record import ActivityRecord, PageRecord, Response
from tcptutor.journal import Journal
from tcptutor.run import Run
from tcptutor.spec import Experiment

_ANY_RUN = RunActivity(name="", experiment=Experiment(name=""))


class PageJournal:
    """What the journal will offer itself under these names. Raises JournalError."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def page(self, module: str, step: str) -> PageRecord:
        """All that was done on that page."""
        records: dict[str, ActivityRecord] = {}
        prediction = self._journal.prediction(module, step)
        if prediction:
            response = Response(prediction.text, None, prediction.at, prediction.value)
            records[Predict.table] = ActivityRecord().responded(response)
        for answer in self._journal.answers(module, step):
            before = records.get(answer.question) or ActivityRecord()
            records[answer.question] = before.responded(Response(answer.answer, answer.correct, answer.at))
        for target, level in self._journal.hints(module, step).items():
            records[target] = (records.get(target) or ActivityRecord()).hinted(level)
        ran = Step(id=step, title="", prose="", activities=(_ANY_RUN,))
        visited = Step(id=step, title="", prose="")
        whole = int(self._journal.step_done(module, ran))
        return PageRecord(
            visited=self._journal.step_done(module, visited),
            runs=whole,
            whole_runs=whole,
            activities=records,
        )

    def respond(self, module: str, step: str, activity: str, response: Response) -> None:
        """Record one response."""
        if activity == Predict.table:
            self._journal.record_prediction(module, step, str(response.given), response.value)
        else:
            self._journal.record_answer(module, step, activity, response.given, bool(response.correct))

    def hint(self, module: str, step: str, activity: str, level: int) -> None:
        """Record that the hints up to `level` were shown."""
        self._journal.record_hint(module, step, activity, level)

    def visit(self, module: str, step: str) -> None:
        """Record that the page is on the screen."""
        self._journal.set_position(module, step)

    def latest_run(self, module: str, step: str) -> Run | None:
        """The latest run of the page whose file can be read."""
        return self._journal.latest_run(module, step)
