"""The course from its folder. What is damaged is left out and reported, so that the rest can be taught."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tcptutor import places
from tcptutor.course.activities.run import ExperimentTable
from tcptutor.course.activities.sweep import SweepFrontMatter
from tcptutor.course.activity import Activity, Setting, Stage
from tcptutor.course.claims import PageSetup
from tcptutor.course.experiments import Catalogue, module_folders
from tcptutor.course.files import FORMAT_VERSION, CourseFile, LessonFile, ModuleFile, StepText, numbered
from tcptutor.course.model import Course, Module, Step
from tcptutor.errors import ContentError, ParameterError, UsageError
from tcptutor.spec import Experiment


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
        return Course(title=title, modules=tuple(modules), root=self.root)

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
        text = file.read_step()
        activities = tuple(self._activities(module, file, text))
        return Step(
            id=entry[1],
            title=text.title,
            prose=text.prose,
            activities=activities,
            after=text.after,
            claims=text.claims,
            setup=_setup(module, text),
        )

    def _activities(self, module: str, file: LessonFile, text: StepText) -> Iterator[Activity]:
        """Raises ContentError for one that cannot be marked, or whose id is used twice."""
        ids: set[str] = set()
        ran = ""
        for key, table in text.tables:

            def named(name: str, overrides: Mapping[str, Setting], key: str = key) -> tuple[str, Experiment]:
                return self._experiment(module, file, key, name, overrides)

            activity = table.activity(named)
            if activity.id in ids:
                reason = f"{activity.id!r} is the id of another {activity.table} on this page"
                raise file.problem(reason, f"{key}.id")
            ids.add(activity.id)
            if activity.stage is Stage.RUN and ran:
                raise file.problem(f"the page has [{ran}] already: it runs an experiment or sweeps one", key)
            ran = activity.table if activity.stage is Stage.RUN else ran
            wrong = table.contradiction() or activity.contradiction()
            if wrong:
                raise file.problem(wrong[1], f"{key}.{wrong[0]}")
            yield activity

    def _experiment(
        self, module: str, file: LessonFile, key: str, name: str, overrides: Mapping[str, Setting]
    ) -> tuple[str, Experiment]:
        full = name if "/" in name else f"{module}/{name}"
        try:
            return full, self.catalogue.build(full, {each: str(value) for each, value in overrides.items()})
        except ParameterError as error:
            raise file.problem(str(error), f"{key}.set") from None
        except UsageError as error:
            raise file.problem(str(error), f"{key}.name") from None


def _setup(module: str, text: StepText) -> PageSetup | None:
    """What the page runs, by the table that says so."""
    for _, table in text.tables:
        if isinstance(table, ExperimentTable | SweepFrontMatter):
            name = table.name if "/" in table.name else f"{module}/{table.name}"
            if isinstance(table, ExperimentTable):
                return PageSetup(name, table.set)
            return PageSetup(name, table.set, {table.axis: table.values, **table.along})
    return None
