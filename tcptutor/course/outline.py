"""Outline of a course: modules and page ids, from course.toml, module.toml and file names.

Pages, activities and experiments are read on first access, since the first frame of the app needs none of them. Damaged
parts are left out and reported, so that the rest can be taught.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, overload

import msgspec
from msgspec import structs

from tcptutor.base import places
from tcptutor.base.errors import ContentError, UsageError, unknown
from tcptutor.course.lesson_file import (
    ORIGINAL_LANGUAGE,
    PRETEST_FILE,
    LessonFile,
    files_by_step,
    is_slug,
    module_folders,
    step_files,
)
from tcptutor.course.marks import MarkScheme

if TYPE_CHECKING:
    from tcptutor.course.experiments import Catalogue
    from tcptutor.course.step import Step
    from tcptutor.course.translated_files import Translation
    from tcptutor.spec import Experiment

FORMAT_VERSION = 1


class LazySteps(Sequence["Step"]):
    """Steps of a module, in order, read on first access: the first frame needs module titles, not pages.

    Thread-safe. `ids` returns the ids without reading the steps.
    """

    def __init__(
        self,
        ids: Callable[[], tuple[str, ...]],
        read: Callable[[], tuple[Step, ...]],
        is_cheap: Callable[[], bool] = lambda: False,
    ) -> None:
        self._ids, self._read, self._lock = ids, read, Lock()
        self._is_cheap = is_cheap
        self._steps: tuple[Step, ...] | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return self._ids() if self._steps is None else tuple(step.id for step in self._steps)

    @property
    def is_read(self) -> bool:
        """True if the steps are in memory, or derived from steps in memory."""
        return self._steps is not None or self._is_cheap()

    def _all(self) -> tuple[Step, ...]:
        with self._lock:
            if self._steps is None:
                self._steps = self._read()
            return self._steps

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Step]: ...
    def __getitem__(self, place: int | slice) -> Step | Sequence[Step]:
        return self._all()[place]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # unhashable like a list


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """Lesson module in a folder `NN-slug`; its steps and experiments may be loaded lazily."""

    id: str
    """The slug, such as `parallel-streams`."""
    number: int
    title: str
    objectives: tuple[str, ...]
    sources: tuple[str, ...]
    steps: Sequence[Step]
    read_pretest: Callable[[], Step | None] = lambda: None
    read_experiments: Callable[[], Mapping[str, Experiment]] = dict
    extra_experiments: tuple[str, ...] = ()
    """Short names of experiments that no step runs, available on the command line."""

    @property
    def pretest(self) -> Step | None:
        """Page of questions that propose pages to skip; not part of `steps`."""
        return self.read_pretest()

    @property
    def is_read(self) -> bool:
        """True if the steps are in memory."""
        return not isinstance(self.steps, LazySteps) or self.steps.is_read

    @property
    def experiments(self) -> Mapping[str, Experiment]:
        """By full name, `slug/name`, with the settings of their files."""
        return self.read_experiments()

    @property
    def step_ids(self) -> tuple[str, ...]:
        """Ids of the steps; before they are loaded, taken from file names, some of which may be damaged."""
        return self.steps.ids if isinstance(self.steps, LazySteps) else tuple(step.id for step in self.steps)

    def for_student(self, identity: str) -> Module:
        """Return the module with the pages that the student with `identity` sees."""

        def read() -> tuple[Step, ...]:
            return tuple(step.for_student(self.id, identity) for step in self.steps)

        return msgspec.structs.replace(
            self, steps=LazySteps(lambda: self.step_ids, read, lambda: self.is_read)
        )


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """All modules, in order."""

    title: str
    modules: tuple[Module, ...]
    id: str = ""
    """Name of the course in all its versions; empty for a course that was not loaded from disk."""
    version: str = ""
    root: Path | None = None
    """Folder of the course; None for a course that was not loaded from disk."""
    marks: MarkScheme = MarkScheme()
    language: str = ""
    """Tag of the translation that its texts are from, page by page; empty for the original."""

    def for_student(self, identity: str) -> Course:
        """Return the course with the pages that the student with `identity` sees."""
        if not identity:
            return self
        return msgspec.structs.replace(
            self, modules=tuple(module.for_student(identity) for module in self.modules)
        )

    def select(self, modules: Sequence[str]) -> Course:
        """Return the course reduced to the modules with these ids; an empty list selects all.

        Raises:
            UsageError: A module does not exist.
        """
        there = [module.id for module in self.modules]
        for wanted in modules:
            if wanted not in there:
                raise UsageError(unknown("module", wanted, there))
        if not modules:
            return self
        left = tuple(each for each in self.modules if each.id in modules)
        title = self.title
        if len(left) < len(self.modules):
            title = f"{self.title}: {', '.join(each.title for each in left)}"
        return msgspec.structs.replace(self, title=title, modules=left)


class CourseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of lessons/course.toml."""

    title: str
    """Title of the course."""
    modules: tuple[str, ...]
    """Module ids, in course order."""
    id: str = ""
    """Name of the course in all its versions, lower-case words with hyphens; by default made from the title."""
    version: str = ""
    """The teacher's name for this version, such as "autumn 2026"."""
    language: str = ORIGINAL_LANGUAGE
    """Language of the lessons, a tag such as `en`; translations are folders next to the modules."""
    format_version: int
    """1."""
    marks: MarkScheme = MarkScheme()
    """Rules of a graded course: `[marks]`."""


class ModuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of lessons/NN-slug/module.toml."""

    title: str
    """Title of the module."""
    objectives: tuple[str, ...]
    """Learning objectives, "Predict ...", "Choose ...", shown at the end of the module."""
    sources: tuple[str, ...] = ()
    """Books, papers and labs that the module follows."""
    extra_experiments: tuple[str, ...] = ()
    """Experiments that no page uses, such as exam experiments."""


def load(folder: Path | None = None) -> Course:
    """Load the complete course from `folder`, by default the installed course.

    Raises:
        ContentError: The first problem of any file.
    """
    course, problems = read_course(folder)
    if problems:
        raise problems[0]
    return course


def read_course(folder: Path | None = None, language: str = "") -> tuple[Course, tuple[ContentError, ...]]:
    """Load the readable part of the course, in `language` where it has it, and the problems of the rest.

    A damaged step is left out of its module, and a module with a damaged module.toml out of the course.
    Without a readable course.toml the modules come in folder order.
    """
    opened = OpenedCourse(folder, language)
    return opened.course, opened.problems()


class OpenedCourse:
    """Course in a folder, in `language` where it is translated; pages are loaded on first access."""

    def __init__(self, folder: Path | None = None, language: str = "") -> None:
        self._root = folder or places.lessons()
        self._language = language
        self._folders = module_folders(self._root)
        self._of_list: list[ContentError] = []
        self._of_modules: dict[str, list[ContentError]] = {}
        self.course = self._course()

    @cached_property
    def _catalogue(self) -> Catalogue:
        from tcptutor.course.experiments import Catalogue  # noqa: PLC0415  # not for the first frame

        return Catalogue(self._root)

    @cached_property
    def _translation(self) -> Translation | None:
        if not self._language:
            return None
        from tcptutor.course.translated_files import Translation  # noqa: PLC0415  # most courses have no translation

        return Translation(self._root, self._language)

    @property
    def own_problems(self) -> tuple[ContentError, ...]:
        """Problems of course.toml."""
        return tuple(self._of_list)

    def problems(self) -> tuple[ContentError, ...]:
        """Return the problems of every file of the course. Reads all files."""
        for module in self.course.modules:
            _ = len(module.steps), module.pretest
        from tcptutor.course.glossary import glossary  # noqa: PLC0415  # not for the first frame

        of_glossary: list[ContentError] = []
        with _kept(of_glossary):
            glossary(self._root)
        damaged = self._catalogue.damaged.values()
        return (*self._of_list, *damaged, *chain.from_iterable(self._of_modules.values()), *of_glossary)

    def _course(self) -> Course:
        file = LessonFile(self._root / "course.toml", self._root)
        title, ids, marks, id, version = "tcptutor", tuple(self._folders), MarkScheme(), "", ""
        with _kept(self._of_list):
            listed = file.read(CourseFile)
            if listed.format_version != FORMAT_VERSION:
                reason = f"this tcptutor reads version {FORMAT_VERSION}, not {listed.format_version}: update tcptutor"
                raise file.problem(reason, "format_version")
            title, ids, version = listed.title, listed.modules, listed.version
            if listed.id and not is_slug(listed.id):
                raise file.problem("is not lower-case words and digits joined by hyphens", "id")
            id = listed.id
            if wrong := listed.marks.contradiction():
                raise file.problem(wrong[1], f"marks.{wrong[0]}")
            marks = listed.marks
        modules: list[Module] = []
        for id_ in dict.fromkeys(ids):
            with _kept(self._of_modules.setdefault(id_, [])):
                if id_ not in self._folders:
                    raise file.problem(f"no folder NN-{id_} for the module {id_!r}", "modules")
                modules.append(self._module(id_, self._folders[id_]))
        shown = self._translation.table(file, {"title": title})["title"] if self._translation else title
        return Course(
            title=shown,
            modules=tuple(modules),
            id=id or _slug(title),
            version=version,
            root=self._root,
            marks=marks,
            language=self._language,
        )

    def _module(self, id_: str, folder: Path) -> Module:
        file = LessonFile(folder / "module.toml", self._root)
        table = file.tables(file.text())
        head = file.convert_table(
            self._translation.table(file, table) if self._translation else table, ModuleFile
        )
        files = step_files(folder)
        return Module(
            id=id_,
            number=int(folder.name[:2]),
            title=head.title,
            objectives=head.objectives,
            sources=head.sources,
            steps=LazySteps(lambda: tuple(path.stem[3:] for path in files), partial(self._steps, id_, files)),
            read_pretest=cache(partial(self._pretest, id_, folder)),
            read_experiments=lambda: self._catalogue.module_experiments(id_),
            extra_experiments=head.extra_experiments,
        )

    def _pretest(self, module: str, folder: Path) -> Step | None:
        path = folder / PRETEST_FILE
        if not path.exists():
            return None
        from tcptutor.course.loader import StepLoader  # noqa: PLC0415  # not for the first frame

        found: list[Step] = []
        with _kept(self._of_modules[module]):
            found.append(
                StepLoader(self._root, self._catalogue, self._translation).load(
                    module, LessonFile(path, self._root)
                )
            )
        return found[0] if found else None

    def _steps(self, module: str, files: Sequence[Path]) -> tuple[Step, ...]:
        from tcptutor.course.loader import StepLoader  # noqa: PLC0415  # not for the first frame

        loader = StepLoader(self._root, self._catalogue, self._translation)
        steps: dict[str, Step] = {}
        for path in files:
            with _kept(self._of_modules[module]):
                file = LessonFile(path, self._root)
                step = loader.load(module, file)
                if step.id in steps:
                    raise file.problem(f"duplicate step {step.id!r}: rename one")
                steps[step.id] = step
        return tuple(steps.values())


def _slug(title: str) -> str:
    """Return an id for a course with this title."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "-".join(words)[:60].rstrip("-") or f"course-{hashlib.sha256(title.encode()).hexdigest()[:8]}"


@contextmanager
def _kept(problems: list[ContentError]) -> Iterator[None]:
    """Collect a ContentError in `problems` and continue."""
    try:
        yield
    except ContentError as error:
        problems.append(error)


class Pages(NamedTuple):
    """Selected part of the course."""

    modules: tuple[Module, ...]
    """Modules reduced to the selected pages."""
    files: dict[tuple[str, str], Path]
    """Files of the selected pages, by module and step."""


def pages(root: Path, target: str = "") -> Pages:
    """Select the pages of MODULE or MODULE/PAGE (ids or numbers), or the page 1.9; an empty target selects all.

    Unreadable pages are left out.

    Raises:
        UsageError: The module or page does not exist.
    """
    course, folders = read_course(root)[0], module_folders(root)
    id_, _, wanted = target.strip("/").partition("/" if "/" in target else ".")
    modules = [module for module in course.modules if id_ in ("", module.id, str(module.number))]
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
        otherwise = f"`tcptutor list {module.id}` names its {len(module.steps)} pages"
        raise UsageError(unknown("page", wanted, [step.id for step in module.steps], otherwise))
    return tuple(steps)
