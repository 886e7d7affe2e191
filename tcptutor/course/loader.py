"""Loading of the course; damaged parts are left out and reported, so that the rest can be taught."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from tcptutor.base import places
from tcptutor.base.errors import ContentError, ParameterError, UsageError, unknown
from tcptutor.course.activities.challenge import ChallengeTable
from tcptutor.course.activities.run import ExperimentTable, SweepFrontMatter
from tcptutor.course.activity import Activity, Setting, Stage
from tcptutor.course.claim import PageSetup
from tcptutor.course.experiments import Catalogue, files_by_step, module_folders, qualified_name, step_files
from tcptutor.course.glossary import glossary
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.lesson_format import (
    FORMAT_VERSION,
    CourseFile,
    ModuleFile,
    StepText,
    numbered,
    read_step,
)
from tcptutor.course.marks import MarkScheme
from tcptutor.course.model import Course, LazySteps, Module, Step
from tcptutor.course.page_references import PageTitles
from tcptutor.spec import Experiment


def load(folder: Path | None = None) -> Course:
    """Load the whole course from `folder`, by default the installed one.

    Raises:
        ContentError: The first problem of any file.
    """
    course, problems = read_course(folder)
    if problems:
        raise problems[0]
    return course


def read_course(folder: Path | None = None) -> tuple[Course, tuple[ContentError, ...]]:
    """Load the readable part of the course, and return it with the problems of the rest.

    A damaged step is left out of its module, and a module with a damaged module.toml out of the course.
    Without a readable course.toml the modules come in folder order.
    """
    opened = OpenedCourse(folder)
    return opened.course, opened.problems()


class OpenedCourse:
    """Course in a folder, with pages loaded on first access, and the problems found so far."""

    def __init__(self, folder: Path | None = None) -> None:
        self._root = folder or places.lessons()
        self._folders = module_folders(self._root)
        self._catalogue = Catalogue(self._root)
        self._titles = PageTitles(self._root)
        self._of_list: list[ContentError] = []
        self._of_modules: dict[str, list[ContentError]] = {}
        self.course = self._course()

    def problems(self) -> tuple[ContentError, ...]:
        """Return the problems of every file of the course. Reads all files."""
        for module in self.course.modules:
            len(module.steps)
        of_glossary: list[ContentError] = []
        with _kept(of_glossary):
            glossary(self._root)
        damaged = self._catalogue.damaged.values()
        return (*self._of_list, *damaged, *chain.from_iterable(self._of_modules.values()), *of_glossary)

    def _course(self) -> Course:
        file = LessonFile(self._root / "course.toml", self._root)
        title, ids, marks = "tcptutor", tuple(self._folders), MarkScheme()
        with _kept(self._of_list):
            listed = file.read(CourseFile)
            if listed.format_version != FORMAT_VERSION:
                reason = f"this tcptutor reads version {FORMAT_VERSION}, not {listed.format_version}: update tcptutor"
                raise file.problem(reason, "format_version")
            title, ids = listed.title, listed.modules
            if wrong := listed.marks.contradiction():
                raise file.problem(wrong[1], f"marks.{wrong[0]}")
            marks = listed.marks
        modules: list[Module] = []
        for id_ in dict.fromkeys(ids):
            with _kept(self._of_modules.setdefault(id_, [])):
                if id_ not in self._folders:
                    raise file.problem(f"no folder NN-{id_} for the module {id_!r}", "modules")
                modules.append(self._module(id_, self._folders[id_]))
        return Course(title=title, modules=tuple(modules), root=self._root, marks=marks)

    def _module(self, id_: str, folder: Path) -> Module:
        head = LessonFile(folder / "module.toml", self._root).read(ModuleFile)
        files = step_files(folder)
        return Module(
            id=id_,
            number=int(folder.name[:2]),
            title=head.title,
            objectives=head.objectives,
            minutes=head.minutes,
            sources=head.sources,
            steps=LazySteps(lambda: tuple(path.stem[3:] for path in files), partial(self._steps, id_, files)),
            read_experiments=partial(self._catalogue.module_experiments, id_),
            extra_experiments=head.extra_experiments,
        )

    def _steps(self, module: str, files: Sequence[Path]) -> tuple[Step, ...]:
        steps: dict[str, Step] = {}
        for path in files:
            with _kept(self._of_modules[module]):
                file = LessonFile(path, self._root)
                step = self._step(module, file)
                if step.id in steps:
                    raise file.problem(f"duplicate step {step.id!r}: rename one")
                steps[step.id] = step
        return tuple(steps.values())

    def _step(self, module: str, file: LessonFile) -> Step:
        entry = numbered(file.path.stem)
        if entry is None:
            raise file.problem("rename the file: steps are named like 02-one-lossy-flow.md")
        texts = read_step(file, self._titles.completing(module))
        first, *others = (self._variant(module, file, entry[1], text) for text in texts)
        return msgspec.structs.replace(first, variants=tuple(others))

    def _variant(self, module: str, file: LessonFile, id_: str, text: StepText) -> Step:
        if text.path is None:
            raise file.problem('is missing: write "essential" or "deeper"', "path")
        activities = tuple(self._activities(module, file, text))
        return Step(
            id=id_,
            title=text.title,
            subtitle=text.subtitle,
            path=text.path,
            teaser=text.teaser,
            prose=text.prose,
            activities=activities,
            after_run=text.after_run,
            published=text.published,
            claims=text.claims,
            setup=_setup(module, text),
            same_variant_as=text.same_variant_as,
        )

    def _activities(self, module: str, file: LessonFile, text: StepText) -> Iterator[Activity]:
        ids: set[str] = set()
        ran = ""
        for key, table in text.tables:

            def named(name: str, overrides: Mapping[str, Setting], key: str = key) -> tuple[str, Experiment]:
                return self._experiment(module, file, key, name, overrides)

            activity = table.activity(named)
            if activity.id in ids:
                reason = f"{activity.id!r} is also the id of another {activity.table} on this page"
                raise file.problem(reason, f"{key}.id")
            ids.add(activity.id)
            if activity.stage is Stage.RUN and ran:
                raise file.problem(
                    f"the page already has [{ran}]: use one experiment, sweep or challenge per page", key
                )
            ran = activity.table if activity.stage is Stage.RUN else ran
            wrong = table.contradiction() or activity.contradiction()
            if wrong:
                raise file.problem(wrong[1], f"{key}.{wrong[0]}")
            yield activity

    def _experiment(
        self, module: str, file: LessonFile, key: str, name: str, overrides: Mapping[str, Setting]
    ) -> tuple[str, Experiment]:
        full = qualified_name(module, name)
        try:
            return full, self._catalogue.build(full, {each: str(value) for each, value in overrides.items()})
        except ParameterError as error:
            raise file.problem(str(error), f"{key}.set") from None
        except UsageError as error:
            raise file.problem(str(error), f"{key}.name") from None


@contextmanager
def _kept(problems: list[ContentError]) -> Iterator[None]:
    """Collect a ContentError in `problems` and continue."""
    try:
        yield
    except ContentError as error:
        problems.append(error)


def _setup(module: str, text: StepText) -> PageSetup | None:
    for _, table in text.tables:
        if isinstance(table, ExperimentTable | SweepFrontMatter | ChallengeTable):
            name = qualified_name(module, table.name)
            if not isinstance(table, SweepFrontMatter):
                return PageSetup(name, table.set)
            return PageSetup(name, table.set, {table.axis: table.values, **table.along})
    return None


class Pages(NamedTuple):
    """Selected part of the course."""

    modules: tuple[Module, ...]
    """Modules reduced to the selected pages."""
    files: dict[tuple[str, str], Path]
    """Files of the selected pages, by module and step."""


def pages(root: Path, target: str = "") -> Pages:
    """Select the pages of MODULE or MODULE/PAGE (id or number); an empty target selects all.

    Unreadable pages are left out.

    Raises:
        UsageError: The module or page does not exist.
    """
    course, folders = read_course(root)[0], module_folders(root)
    id_, _, wanted = target.strip("/").partition("/")
    modules = [module for module in course.modules if id_ in ("", module.id)]
    if not modules:
        raise UsageError(unknown("module", id_, [module.id for module in course.modules]))
    files = {}
    found = []
    for module in modules:
        steps = _steps(module, wanted)
        by_id = files_by_step(folders[module.id])
        files.update({(module.id, step.id): by_id[step.id] for step in steps})
        found.append(structs.replace(module, steps=steps))
    return Pages(tuple(found), files)


def _steps(module: Module, wanted: str) -> tuple[Step, ...]:
    steps = [step for number, step in enumerate(module.steps, 1) if wanted in ("", step.id, str(number))]
    if wanted and not steps:
        raise UsageError(unknown("page", wanted, [step.id for step in module.steps]))
    return tuple(steps)
