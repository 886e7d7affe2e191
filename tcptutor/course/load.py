"""The course from its folder. What is damaged is left out and reported, so that the rest can be taught."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcptutor import places
from tcptutor.course.experiments import Catalogue, module_folders
from tcptutor.course.files import (
    FORMAT_VERSION,
    CourseFile,
    ExperimentUse,
    LessonFile,
    ModuleFile,
    numbered,
)
from tcptutor.course.marking import contradiction
from tcptutor.course.model import Course, Module, Question, Step, StepExperiment
from tcptutor.errors import ContentError, ParameterError, UsageError


def load(folder: Path | None = None) -> Course:
    """The whole course, from `folder` or where it is installed. Raises the first ContentError."""
    course, problems = read_course(folder)
    if problems:
        raise problems[0]
    return course


def read_course(folder: Path | None = None) -> tuple[Course, tuple[ContentError, ...]]:
    """What can be read of the course, and what is wrong with the rest: course.toml, experiments, pages.

    A damaged step is left out of its module, a module without a readable module.toml out of the course;
    without a readable course.toml the modules come in the order of their folders.
    """
    reader = _Reader(folder or places.lessons())
    return reader.course(), tuple(reader.problems)


class _Reader:
    """One reading of the folder; it owns the list of problems."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders = module_folders(root)
        self.catalogue = Catalogue(root)
        self.problems: list[ContentError] = []

    def course(self) -> Course:
        file = LessonFile(self.root / "course.toml", self.root)
        title, ids = "tcptutor", tuple(self.folders)
        with self._keep_going():
            listed = file.read(CourseFile)
            if listed.format_version != FORMAT_VERSION:
                reason = f"this tcptutor reads {FORMAT_VERSION}, not {listed.format_version}: update tcptutor"
                raise file.problem(reason, "format_version")
            title, ids = listed.title, listed.modules
        self.problems += self.catalogue.damaged.values()
        modules: list[Module] = []
        for id_ in dict.fromkeys(ids):
            with self._keep_going():
                if id_ not in self.folders:
                    raise file.problem(f"no folder NN-{id_} for the module {id_!r}", "modules")
                modules.append(self._module(id_, self.folders[id_]))
        return Course(title=title, modules=tuple(modules))

    @contextmanager
    def _keep_going(self) -> Iterator[None]:
        try:
            yield
        except ContentError as error:
            self.problems.append(error)

    def _module(self, id_: str, folder: Path) -> Module:
        head = LessonFile(folder / "module.toml", self.root).read(ModuleFile)
        steps: dict[str, Step] = {}
        for path in sorted(folder.glob("[0-9][0-9]-*.md")):
            with self._keep_going():
                file = LessonFile(path, self.root)
                step = self._step(id_, file)
                if step.id in steps:
                    raise file.problem(f"there is already a step {step.id!r}: rename it")
                steps[step.id] = step
        mine = [name for name in self.catalogue.names if name.startswith(f"{id_}/")]
        return Module(
            id=id_,
            number=int(folder.name[:2]),
            title=head.title,
            objectives=head.objectives,
            minutes=head.minutes,
            sources=head.sources,
            steps=tuple(steps.values()),
            experiments={name: self.catalogue.build(name) for name in mine},
            extra=head.extra,
        )

    def _step(self, module: str, file: LessonFile) -> Step:
        entry = numbered(file.path.stem)
        if entry is None:
            raise file.problem("a step's file is named like 02-one-lossy-flow.md: rename it")
        front, prose = file.read_step()
        _check_questions(file, front.question)
        return Step(
            id=entry[1],
            title=front.title,
            prose=prose,
            predict=front.predict,
            experiment=self._experiment(module, file, front.experiment) if front.experiment else None,
            questions=front.question,
            after=front.after.strip(),
        )

    def _experiment(self, module: str, file: LessonFile, use: ExperimentUse) -> StepExperiment:
        name = use.name if "/" in use.name else f"{module}/{use.name}"
        overrides = {key: str(value) for key, value in use.set.items()}
        try:
            experiment = self.catalogue.build(name, overrides)
        except ParameterError as error:
            raise file.problem(str(error), "experiment.set") from None
        except UsageError as error:
            raise file.problem(str(error), "experiment.name") from None
        return StepExperiment(name=name, experiment=experiment)


def _check_questions(file: LessonFile, questions: tuple[Question, ...]) -> None:
    """Raises ContentError for a question that cannot be marked, or an id that is used twice."""
    seen: set[str] = set()
    for number, question in enumerate(questions, 1):
        where = f"question[{number}]" if len(questions) > 1 else "question"
        if question.id in seen:
            raise file.problem(f"{question.id!r} is the id of another question on this page", f"{where}.id")
        seen.add(question.id)
        wrong = contradiction(question)
        if wrong:
            key, reason = wrong
            raise file.problem(reason, f"{where}.{key}")
