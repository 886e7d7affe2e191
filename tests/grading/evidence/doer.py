"""A student of any course, page by page, who answers by a policy and whose runs come from where they are asked for."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UsageError
from tcptutor.course import personal
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity, Question
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import Given, Response
from tcptutor.course.page_sweep import curve_of
from tcptutor.course.step import Step
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import write_hand_in
from tcptutor.journal import Journal
from tcptutor.run import Run, save
from tcptutor.spec import Experiment
from tcptutor.study.study import Study
from tests.chosen import chosen

Answer = Callable[[Activity, Study], Given | None]
"""What is given to an activity; None for nothing."""
FindRun = Callable[[Experiment], Run | None]
"""The run of an experiment; None where there is none."""


def right(activity: Activity, study: Study) -> Given | None:
    """As the reference has it."""
    return activity.reference(study.context).right


def able(chance: random.Random, ability: float) -> Answer:
    """Right with that probability; else one of the wrong choices, the first of them half of the time."""

    def given(activity: Activity, study: Study) -> Given | None:
        if isinstance(activity, Predict):
            right = activity.value(units.EXAMPLES[activity.unit])
            return units.write(right * 2 ** chance.gauss(0, 3 * (1 - ability) + 0.1), activity.unit)
        if chance.random() < ability:
            return activity.reference(study.context).right
        match activity:
            case SingleChoice():
                wrong = [number for number, each in enumerate(activity.choices) if not each.correct]
                return chosen(activity, wrong[0] if chance.random() < 0.5 else chance.choice(wrong))
            case Numeric():
                return units.write(units.parse(activity.answer, activity.unit) * 3, activity.unit)
        return None

    return given


def no_runs(_: Experiment) -> Run | None:
    """Nothing is run."""
    return None


class Doer:
    """Does a course in a journal of its own, in `folder`."""

    def __init__(
        self,
        course: Course,
        folder: Path,
        answer: Answer = right,
        find: FindRun = no_runs,
        student: str = "",
        code: str = "",
    ) -> None:
        """student: enrolled as that in the course of that code."""
        folder.mkdir(parents=True, exist_ok=True)
        self.course = course.for_student(personal.identity(code, student) if student else "")
        self._folder, self._answer, self._find = folder, answer, find
        self.journal = Journal.open(folder / "journal.db")
        if student:
            self.journal.enrol(student, code)
        self.runs: list[str] = []
        """Ids of what was run."""
        self._made: list[Run] = []
        self.lacking: list[str] = []
        """Pages whose runs were not found."""

    def does(self, *pages: str) -> None:
        """Those pages, MODULE/PAGE; all without any."""
        for module in self.course.modules:
            for step in module.steps:
                if not pages or f"{module.id}/{step.id}" in pages:
                    self._does(module, step)

    def hands_in(self, path: Path | None = None) -> Path:
        """What `tcptutor submit` writes."""
        target = path or self._folder / "hand-in.tcphandin"
        collected = collect(self.journal, self.course)
        write_hand_in(target, collected.manifest, collected.events, collected.runs)
        return target

    def _does(self, module: Module, step: Step) -> None:
        study = Study(module, step, self.journal)
        self._responds(study, lambda each: study.due_before_run is each)
        if not self._ran(study):
            self.lacking.append(f"{module.id}/{step.id}")
        self._responds(study, lambda each: isinstance(each, (Question, ShellActivity)))

    def _responds(self, study: Study, due: Callable[[Activity], bool]) -> None:
        for activity in study.step.activities:
            if not due(activity) or not study.reveals(activity):
                continue
            posed = study.posed(activity)
            given = self._answer(posed, study)
            if given is None:
                continue
            try:
                study.respond(posed, given)
            except UsageError:
                continue  # it cannot be marked, and is no attempt

    def _ran(self, study: Study) -> bool:
        """Whether all that is to be run was found."""
        step = study.step
        if step.sweep is not None:
            done = [self._runs(study, experiment) for _, experiment in step.sweep.cells()]
            if all(done):
                self.journal.respond(study.module.id, step.id, step.sweep.id, Response((), True))
                study.reload()
                study.run, study.curve = None, curve_of(step.sweep, self._made[-len(done) :])
            return all(done)
        if step.challenge is not None:
            if not (
                self._runs(study, step.challenge.experiment)
                and self._runs(study, step.challenge.solution_experiment)
            ):
                return False
            assert study.run is not None
            study.respond(step.challenge, step.challenge.response_of(study.run.experiment))
        return step.experiment is None or self._runs(study, step.experiment.experiment)

    def _runs(self, study: Study, experiment: Experiment) -> bool:
        run = self._find(experiment)
        if run is None:
            return False
        run.id = f"{run.id}-{len(self.runs)}"
        # As if it had been begun so long ago as it took.
        run.started = (datetime.now(UTC) - timedelta(seconds=run.wall_s + 1)).isoformat()
        seed = experiment.seed if study.step.sweep else study.run_seeds(experiment.seed).next
        run.experiment = msgspec.structs.replace(experiment, seed=seed)
        self.journal.begin_run(run, study.module.id, study.step.id)
        file = self.journal.runs.file(run.id)
        assert file is not None
        file.parent.mkdir(exist_ok=True)
        save(run, file)
        self.journal.finish_run(run, file)
        self.runs.append(run.id)
        self._made.append(run)
        study.record_run(run)
        if study.step.challenge is not None and experiment == study.step.challenge.experiment:
            study.baseline = run
        return True
