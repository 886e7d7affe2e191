"""A course that its author edits: signature of its files, reading, and the page to show after a change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from tcptutor.base.errors import ContentError
from tcptutor.course.glossary import glossary
from tcptutor.course.lesson_file import PRETEST_FILE, files_by_step, module_folders
from tcptutor.course.outline import Course, Module, read_course
from tcptutor.course.paths import PRETEST
from tcptutor.course.problem_place import LocatedProblem, locate
from tcptutor.study.pages import ModulePage

FindProblems = Callable[[Path], Sequence[str]]
"""Returns the linter's problems of the course in a folder, a line each."""
PageKey = tuple[str, str]
"""Ids of a module and a page."""
Signature = frozenset[tuple[str, int, int]]
_ENDINGS = (".md", ".toml")


def signature(root: Path) -> Signature:
    """Return the path, time of modification (ns) and size of each lesson file, which a save changes."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".")]
        in_experiments = os.path.basename(folder) == "experiments"  # noqa: PTH119  # as os.walk names it
        for name in names:
            if name.endswith(_ENDINGS) or (in_experiments and not name.startswith(".")):
                path = os.path.join(folder, name)  # noqa: PTH118  # twice a second, for each file
                try:
                    stat = os.stat(path)  # noqa: PTH116
                except OSError:  # deleted meanwhile
                    continue
                found.append((path, stat.st_mtime_ns, stat.st_size))
    return frozenset(found)


class EditedCourse(NamedTuple):
    """The course as its files are now, where pages that cannot be read are as they were before."""

    course: Course
    problems: tuple[ContentError, ...]
    """Problems of the files that cannot be read."""
    files: Mapping[PageKey, str]
    """Path of each page's file in the course, or of its translation; includes unreadable pages."""
    outdated: frozenset[PageKey] = frozenset()
    """Pages that cannot be read now."""

    def file(self, page: ModulePage) -> str:
        """Return the path of a page's file in the course; empty if unknown."""
        return self.files.get(_key(page), "")


def read_edited(root: Path, before: EditedCourse | None = None, language: str = "") -> EditedCourse:
    """Read all files again.

    Args:
        root: Folder of the course, which may be half-saved, damaged or gone.
        before: The course as it was read last.
        language: Translation to show, empty for the original; that of `before` if given.
    """
    glossary.cache_clear()
    if before is not None:
        language = before.course.language
    course, problems = read_course(root, language)
    files: dict[PageKey, str] = {}
    for module, folder in module_folders(root).items():
        pages = sorted(files_by_step(folder).items(), key=lambda each: each[1])
        if (folder / PRETEST_FILE).is_file():
            pages.insert(0, (PRETEST, folder / PRETEST_FILE))
        files |= {(module, page): _file(root, language, path) for page, path in pages}
    edited = EditedCourse(course, problems, files)
    return edited if before is None else _with_pages_from_before(edited, before)


def _file(root: Path, language: str, original: Path) -> str:
    path = original.relative_to(root)
    translated = Path(language, path)
    return (translated if (root / translated).is_file() else path).as_posix()


def _with_pages_from_before(now: EditedCourse, before: EditedCourse) -> EditedCourse:
    """Restore the last good version of pages whose files exist but cannot be read."""
    earlier = {module.id: module for module in before.course.modules}
    outdated: set[PageKey] = set()

    def completed(module: Module) -> Module:
        steps = {step.id: step for step in module.steps}
        for step in earlier[module.id].steps if module.id in earlier else ():
            if step.id not in steps and (module.id, step.id) in now.files:
                steps[step.id] = step
                outdated.add((module.id, step.id))
        order = [page for of, page in now.files if of == module.id]
        return structs.replace(
            module, steps=tuple(sorted(steps.values(), key=lambda each: order.index(each.id)))
        )

    modules = [completed(module) for module in now.course.modules]
    present, with_files = {each.id for each in modules}, {module for module, _ in now.files}
    for at, module in enumerate(before.course.modules):
        if module.id not in present and module.id in with_files:
            modules.insert(at, module)
            outdated |= {(module.id, step.id) for step in module.steps}
    if not any(len(module.steps) for module in modules):
        lost = {(module.id, step.id) for module in before.course.modules for step in module.steps}
        return before._replace(problems=now.problems, outdated=frozenset(lost))
    course = structs.replace(now.course, modules=tuple(modules))
    return now._replace(course=course, outdated=frozenset(outdated))


class NextPage(NamedTuple):
    """Page to show after a change of files."""

    page: ModulePage
    notice: str = ""
    """Line about a page that was renamed or deleted."""
    is_same: bool = True
    """True for the same page, possibly renamed."""


def first_page(edited: EditedCourse) -> ModulePage | None:
    """Return the first readable page; None if no page is readable."""
    return next((ModulePage(module, step) for module in edited.course.modules for step in module.steps), None)


def next_page(here: ModulePage, before: EditedCourse, now: EditedCourse) -> NextPage:
    """Return the page to show after a change: the same page, possibly renamed, or its neighbor."""
    key = _key(here)
    if found := _find(now.course, key):
        return NextPage(found)
    new = [each for each in now.files if each not in before.files]
    renamed = [each for each in new if each[0] == key[0]] or [each for each in new if each[1] == key[1]]
    old = before.files.get(key, key[1])
    if len(renamed) == 1 and (found := _find(now.course, renamed[0])):
        return NextPage(found, f"{old} is {now.files[renamed[0]]} now.")
    module = next((each for each in now.course.modules if each.id == key[0] and len(each.steps)), None)
    at = here.module.step_ids.index(key[1]) if key[1] in here.module.step_ids else 0
    step = module.steps[min(at, len(module.steps) - 1)] if module else None
    neighbor = ModulePage(module, step) if module and step else first_page(now)
    return NextPage(neighbor or here, f"{old} is gone.", is_same=False)


def is_shown_as(one: ModulePage, other: ModulePage) -> bool:
    """Return whether two versions of a page look the same."""
    return one.step == other.step and _around(one.module) == _around(other.module)


def sorted_problems(problems: Iterable[str], file: str, root: Path) -> list[LocatedProblem]:
    """Return problems with their places, sorted so that problems of `file` come first."""
    found = [locate(each, root) for each in problems]
    return sorted(found, key=lambda each: each.file != file)


def reasons(edited: EditedCourse, page: ModulePage, root: Path) -> list[LocatedProblem]:
    """Return the first problem of an unreadable page, its own file's first; empty for a readable page."""
    if _key(page) not in edited.outdated:
        return []
    return sorted_problems(map(str, edited.problems), edited.file(page), root)[:1]


def _key(page: ModulePage) -> PageKey:
    return page.module.id, page.step.id


def _around(module: Module) -> tuple[object, ...]:
    return module.id, module.number, module.title, module.step_ids


def _find(course: Course, key: PageKey) -> ModulePage | None:
    module = next((each for each in course.modules if each.id == key[0]), None)
    if module is None:
        return None
    if key[1] == PRETEST:
        return ModulePage(module, module.pretest) if module.pretest else None
    return next((ModulePage(module, step) for step in module.steps if step.id == key[1]), None)
