"""Versions of a course: comparison of a hand-in's lessons with the grading lessons, and lookup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor.base.errors import TutorError, UsageError, quoted
from tcptutor.base.printable import escaped
from tcptutor.course.lesson_file import numbered
from tcptutor.course.outline import Course, OpenedCourse, load
from tcptutor.course.pack import SUFFIX, lesson_hashes
from tcptutor.course.sources import course_folder
from tcptutor.course.step import Step
from tcptutor.grading.evidence.hand_in import HandIn, HandInManifest
from tcptutor.grading.grade import ActivityMark, GradedFile
from tcptutor.grading.remarks import Remark, decide, note

_MOST_NAMED = 4
"""Pages that a remark names."""
_EXPERIMENTS = "experiments"
_FILES = (SUFFIX, ".zip", ".tar.gz", ".tgz")

_Places = Mapping[tuple[str, str, str], str]
"""SHA-256 by module, kind and name, a key that renumbering does not change."""


class LessonChanges(NamedTuple):
    """Differences between the lessons that a hand-in was made with and the course that grades it."""

    version: str
    """The version it was made with."""
    current: str
    """The version that grades it."""
    pages: tuple[str, ...]
    """Ids of the pages that differ, with the experiments that they run."""
    of: int
    """Number of pages in the course."""

    def remarks(self, marks: Sequence[ActivityMark]) -> Iterator[Remark]:
        """Yield remarks for the grader about the marks of the hand-in."""
        if self.pages:
            named = ", ".join(self.pages[:_MOST_NAMED])
            more = f" and {len(self.pages) - _MOST_NAMED} more" if len(self.pages) > _MOST_NAMED else ""
            other = "other lessons"
            if self.version and self.current and self.version != self.current:
                other = f"version {quoted(self.version)} of the lessons, not {quoted(self.current)}"
            differ = "differs" if len(self.pages) == 1 else "differ"
            yield note(f"made with {other}: {len(self.pages)} of {self.of} pages {differ}: {named}{more}")
        gone = [mark for mark in marks if mark.is_removed]
        if gone:
            named = ", ".join(f"{mark.page} {mark.activity}" for mark in gone[:_MOST_NAMED])
            answers = "1 answer names a choice" if len(gone) == 1 else f"{len(gone)} answers name choices"
            yield decide(f"{answers} that its page does not have, and costs nothing: {named}", shown=True)


def lost_versions(
    graded: Iterable[GradedFile], folder: Path, has_version: Callable[[str], bool]
) -> Iterator[str]:
    """Yield a line for each version used by hand-ins whose lessons the folder lacks."""
    made_with = Counter(
        each.grade.other_version
        for each in graded
        if each.grade is not None and each.grade.other_version is not None and not each.superseded_by
    )
    for version, number in made_with.items():
        if has_version(version):
            continue
        hand_ins = "1 hand-in was" if number == 1 else f"{number} hand-ins were"
        lessons = f"version {quoted(version)}, whose lessons" if version else "lessons that"
        yield f"{hand_ins} made with {lessons} are not in {folder}: the current lessons mark the work"


def check_course(hand_in: HandIn, course: Course) -> None:
    """Raise TutorError if the hand-in belongs to a different course."""
    made = hand_in.manifest
    if made.lessons_id and course.id and made.lessons_id != course.id:
        raise TutorError(
            f"{hand_in.path} is of another course, {quoted(escaped(made.title))} ({escaped(made.lessons_id)}), not"
            f" {quoted(course.title)} ({course.id}): name its course with --course"
        )


def changed_lessons(made: HandInManifest, course: Course) -> LessonChanges:
    """Compare the lessons of a hand-in with a course, in the modules of the course."""
    before, now = _places(made.lessons), _places(lesson_hashes(course))
    differing = {place for place in before.keys() | now.keys() if before.get(place) != now.get(place)}
    experiments = {f"{module}/{name}" for module, kind, name in differing if kind == _EXPERIMENTS}
    pages = []
    for module in course.modules:
        present = {step.id: step for step in module.steps}
        lost = sorted(name for of, kind, name in differing if (of, kind) == (module.id, "page"))
        pages += [
            id
            for id, step in present.items()
            if (module.id, "page", id) in differing or experiments & _experiments(step)
        ]
        pages += [name for name in lost if name not in present]
    return LessonChanges(
        made.version, course.version, tuple(pages), sum(len(each.steps) for each in course.modules)
    )


class CourseVersions:
    """The course that grades, and other versions of it to grade by."""

    def __init__(self, course: Course, folder: Path | None = None) -> None:
        """Find the versions of the course.

        Args:
            course: The current version, with the marks that count.
            folder: Folder of courses and packs; courses with other ids are passed over.

        Raises:
            TutorError: A version cannot be read.
        """
        self.current = course
        opened = ((each, OpenedCourse(course_folder(each)).course) for each in _found(folder))
        self._named = [(each, other) for each, other in opened if other.id == course.id]
        self._others = [other for _, other in self._named]
        self._hashes = [_places(lesson_hashes(each)) for each in (course, *self._others)]
        self._loaded: dict[Path, Course] = {}

    @property
    def hashes(self) -> list[dict[str, str]]:
        """SHA-256 of the lesson files of each version."""
        return [lesson_hashes(each) for each in (self.current, *self._others)]

    @property
    def all(self) -> Iterator[Course]:
        """Every version, the current one first."""
        yield self.current
        for each in self._others:
            yield self._load(each)

    @property
    def ambiguous(self) -> Iterator[str]:
        """Lines about versions in the folder that share a name but differ in their lessons."""
        hashes = self._hashes[1:]
        first: dict[str, int] = {}
        for at, (path, course) in enumerate(self._named):
            before = first.setdefault(course.version, at)
            if course.version and hashes[before] != hashes[at]:
                both = f"{self._named[before][0]} and {path} are both version {quoted(course.version)}"
                yield f"{both} of {course.id}, with different lessons: give each its own version"

    def course_of(self, made: HandInManifest) -> Course:
        """Return the version of the lessons in a hand-in.

        If no version has exactly those lessons, a version with the same name is used, otherwise the current version.
        """
        wanted = _places(made.lessons)
        for hashes, course in zip(self._hashes, (self.current, *self._others), strict=True):
            if hashes == wanted:
                return self.current if course is self.current else self._load(course)
        named = (course for course in self._others if made.version and course.version == made.version)
        return next(map(self._load, named), self.current)

    def has(self, version: str) -> bool:
        """Return whether the folder has a version of that name."""
        return bool(version) and any(each.version == version for each in self._others)

    def _load(self, course: Course) -> Course:
        if course.root is None:
            return course
        if course.root not in self._loaded:
            whole, wanted = load(course.root), {module.id for module in self.current.modules}
            modules = tuple(module for module in whole.modules if module.id in wanted)
            self._loaded[course.root] = msgspec.structs.replace(
                whole, title=self.current.title, modules=modules, marks=self.current.marks
            )
        return self._loaded[course.root]


def _found(folder: Path | None) -> Iterator[Path]:
    """Yield the courses and packs in `folder`."""
    if folder is None:
        return
    found = [
        each
        for each in sorted(folder.iterdir())
        if (each / "course.toml").is_file() or (each.is_file() and each.name.endswith(_FILES))
    ]
    if not found:
        raise UsageError(
            f"no version of a course in {folder}: put folders with a course.toml, {SUFFIX} or .zip files there"
        )
    yield from found


def _places(hashes: Mapping[str, str]) -> _Places:
    found = {}
    for path, digest in hashes.items():
        module, *rest = path.split("/")
        name = numbered(rest[0].removesuffix(".md")) if len(rest) == 1 and rest[0].endswith(".md") else None
        in_module = numbered(module)
        if in_module is None:
            continue
        if name is not None:
            found[in_module[1], "page", name[1]] = digest
        elif len(rest) == 2 and rest[0] == _EXPERIMENTS:
            found[in_module[1], _EXPERIMENTS, rest[1].removesuffix(".toml")] = digest
    return found


def _experiments(step: Step) -> set[str]:
    """Return the full names of the experiments of a page."""
    return {str(getattr(activity, "name", "")) for activity in step.activities}
