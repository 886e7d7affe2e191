"""Students of a small course, who do all of it as the app would have it recorded, and hand it in.

`python -m tests.grading.evidence.student` makes their runs again, in the guest on the virtual clock.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.course import load as load_course
from tcptutor.course import personal
from tcptutor.course.activity import Activity
from tcptutor.course.goals.session_record import SessionLog
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import Given, Response
from tcptutor.course.step import Step
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import write_hand_in
from tcptutor.grading.evidence.keys import CourseKey
from tcptutor.journal import Journal
from tcptutor.run import Run, load, save
from tcptutor.spec import Experiment
from tcptutor.study.study import Study
from tcptutor.wire.protocol import CommandEnded
from tests.backends.play import play
from tests.course.goals.made import netem, state

LESSONS = Path(__file__).parent / "lessons"
RUNS = Path(__file__).parent / "runs"
"""STUDENT.tcprun, as the lab gave them."""
KEY = CourseKey(secret="5a" * 32)
STUDENTS = ("ada", "bob")
SWEPT = ("swept-1", "swept-2")
"""Runs of the sweep, by its values; STUDENT-swept-1.tcprun."""
TURNED = ("turned-start", "turned-solved")
"""Runs of the challenge: with nothing changed, and as its solution has it."""


def identity(name: str) -> str:
    """Of a student in the course."""
    return personal.identity(KEY.code, name)


def course() -> Course:
    return load_course(LESSONS)


class Student:
    """One with a journal in `folder`, enrolled as `name`."""

    def __init__(self, name: str, folder: Path, *, enrolled: bool = True) -> None:
        self.name, self.folder = name, folder
        self.course = course().for_student(identity(name) if enrolled else "")
        self.journal = Journal.open(folder / "journal.db")
        if enrolled:
            self.journal.enrol(name, KEY.code)

    @property
    def module(self) -> Module:
        return self.course.modules[0]

    def page(self, number: int) -> Study:
        """The page is on the screen, with the latest run that is kept."""
        step = self.module.steps[number - 1]
        study = Study(self.module, step, self.journal)
        file = next(self.journal.run_files(self.module.id, step.id), None)
        study.run = load(Path(file)) if file else None
        return study

    def answer(self, number: int, id: str, given: Given | tuple[int, ...] | None = None) -> None:
        """Respond to it; rightly without `given`, which may name choices by their places from 0."""
        study = self.page(number)
        activity = study.posed(_of(study.step, id))
        right = activity.reference(study.context).right if given is None else given
        assert right is not None
        study.respond(activity, right if isinstance(right, str) else _ids(activity, right))

    def runs(self, run: Run | None = None, number: int = 2) -> Run:
        """A run of a page is made and kept; by default the student's own of the second one."""
        made = run or load(RUNS / f"{self.name}.tcprun")
        while (self.folder / "runs" / f"{made.id}.tcprun").exists():
            made.id += "-again"
        place = self.module.id, self.module.steps[number - 1].id
        self.journal.begin_run(made, *place)
        file = self.journal.runs.file(made.id)
        assert file is not None
        file.parent.mkdir(exist_ok=True)
        save(made, file)
        self.journal.finish_run(made, file)
        return made

    def sweeps(self, *names: str) -> None:
        """The runs of the third page's sweep, and its response."""
        sweep = self.module.steps[2].sweep
        assert sweep is not None
        own = {id: each for id, (_, each) in zip(SWEPT, sweep.cells(), strict=True)}
        for name in names:
            run = load(RUNS / f"{self.name}-{name}.tcprun")
            run.experiment = own[name]  # who is enrolled nowhere has the seeds of the page
            self.runs(run, 3)
        self.journal.respond(self.module.id, "swept", "sweep", Response((), True))

    def turns(self, run: Run) -> None:
        """A run of the fourth page's challenge, and what it is told."""
        self.runs(run, 4)
        study = self.page(4)
        challenge = study.step.challenge
        assert challenge is not None
        study.respond(challenge, challenge.response_of(run.experiment))

    def works(self, delay: float = 0.04) -> None:
        """The fifth page's goal is reached by hand, as the kernel tells of it."""
        log = SessionLog()
        log.take(state())
        log.take(CommandEnded(1, "s1", "sudo tc qdisc add dev s1-eth2 root netem delay 40ms", 0))
        log.take(state({"delay": delay}, {"s1-eth2": (netem(delay=delay),)}))
        self.journal.record_goals(self.module.id, "by-hand", "shell", log.record_reached(("delay",)))
        self.answer(5, "shell", ("delay",))

    def does_all(self) -> None:
        """Everything, rightly and at once."""
        self.does_asked_and_ran()
        self.answer(3, "predict", "9 Mbit/s")
        self.sweeps(*SWEPT)
        for name in TURNED:
            self.turns(load(RUNS / f"{self.name}-{name}.tcprun"))
        self.works()

    def does_asked_and_ran(self) -> None:
        """The first two pages."""
        self.answer(1, "which")
        self.answer(1, "how-much")
        self.answer(2, "predict", "2 Mbit/s")
        self.runs()
        self.answer(2, "largest")
        self.answer(2, "after")

    def hands_in(self, target: Path | None = None) -> Path:
        """What `tcptutor submit` writes."""
        path = target or self.folder / "hand-in.tcphandin"
        collected = collect(self.journal, course())
        write_hand_in(path, collected.manifest, collected.events, collected.runs)
        return path


@contextmanager
def student(name: str, folder: Path, *, enrolled: bool = True) -> Iterator[Student]:
    folder.mkdir(parents=True, exist_ok=True)
    one = Student(name, folder, enrolled=enrolled)
    try:
        yield one
    finally:
        one.journal.close()


def handed_in(
    name: str, folder: Path, do: Callable[[Student], object] = Student.does_all, *, enrolled: bool = True
) -> Path:
    """The file of a student who did that; everything, by default."""
    with student(name, folder, enrolled=enrolled) as one:
        do(one)
        return one.hands_in()


def _ids(activity: Activity, given: tuple[int | str, ...]) -> tuple[str, ...]:
    return tuple(activity.entry_ids[each] if isinstance(each, int) else each for each in given)


def _of(step: Step, id: str) -> Activity:
    return next(activity for activity in step.activities if activity.id == id)


async def main() -> None:
    shutil.rmtree(RUNS, ignore_errors=True)
    for name, experiment in _experiments().items():
        backend = GuestBackend("virtual")
        try:
            run = await play(backend, experiment)
        finally:
            await backend.close()
        save(run, RUNS / f"{name}.tcprun")


def _experiments() -> dict[str, Experiment]:
    found = {}
    for name in STUDENTS:
        _, ran, swept, turned, _ = course().for_student(identity(name)).modules[0].steps
        assert ran.experiment is not None
        assert swept.sweep is not None
        assert turned.challenge is not None
        seed = {page.id: personal.run_seed(identity(name), "small", page.id) for page in (ran, turned)}
        found[name] = msgspec.structs.replace(ran.experiment.experiment, seed=seed[ran.id])
        found |= {f"{name}-{which}": each for which, each in zip(SWEPT, swept.sweep.experiments, strict=True)}
        of_turned = (turned.challenge.experiment, turned.challenge.solution_experiment)
        found |= {
            f"{name}-{which}": msgspec.structs.replace(each, seed=seed[turned.id])
            for which, each in zip(TURNED, of_turned, strict=True)
        }
    return found


if __name__ == "__main__":
    asyncio.run(main())
