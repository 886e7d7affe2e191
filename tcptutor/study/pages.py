"""Order of a course's pages: page by page, and along the student's path; the page to resume; states of pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tcptutor.course import duration
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import PageRecord
from tcptutor.course.paths import PRETEST, CoursePath
from tcptutor.journal import Journal, Progress
from tcptutor.journal.fold import known_steps, passed_steps

if TYPE_CHECKING:
    from tcptutor.course.step import Step


class ModulePage(NamedTuple):
    """A page of a module."""

    module: Module
    step: Step

    @property
    def title(self) -> str:
        """Number and title: "1.9 More than the pipe holds"."""
        number = 0 if self.step.id == PRETEST else self.module.step_ids.index(self.step.id) + 1
        return f"{self.module.number}.{number} {self.step.title}" if number else self.step.title


def page_of_experiment(course: Course, experiment: str, first: str = "") -> ModulePage | None:
    """Return the page that runs the experiment, preferring `first` (MODULE/PAGE); None if no page runs it."""
    found = [
        ModulePage(module, step)
        for module in course.modules
        for step in module.steps
        if (run := step.experiment or step.sweep) and run.name == experiment
    ]
    own = (place for place in found if f"{place.module.id}/{place.step.id}" == first)
    return next(own, next(iter(found), None))


def find_page(course: Course, page: str) -> tuple[Module, Step] | None:
    """Return the page MODULE/PAGE; None if the course does not have it."""
    of_module, _, id_ = page.partition("/")
    module = next((each for each in course.modules if each.id == of_module), None)
    step = next((each for each in module.steps if each.id == id_), None) if module else None
    return (module, step) if module and step else None


def neighbor(course: Course, module: Module, step: Step, by: int) -> ModulePage | None:
    """Return the next (1) or the previous (-1) page, across modules and with pre-tests; None past either end.

    Loads only the modules it crosses.
    """
    return next(_places_from(course, module, step, by), None)


def next_on_path(course: Course, module: Module, step: Step, journal: Journal) -> ModulePage | None:
    """Return the next page of the student's path, without pages to skip.

    The pre-test of a module comes first if the student has not visited the module yet.
    """
    record = journal.record
    for place in _places_from(course, module, step, 1):
        if place.step.id == PRETEST:
            if not record.has_visited(place.module.id):
                return place
        elif place.step.is_on(record.path) and place.step.id not in passed_steps(record, place.module):
            return place
    return None


def _places_from(course: Course, module: Module, step: Step, by: int) -> Iterator[ModulePage]:
    """Yield the pages after (1) or before (-1) a page."""
    pages = _pages(module)
    at = [page.id for page in pages].index(step.id) + by
    while 0 <= at < len(pages):
        yield ModulePage(module, pages[at])
        at += by
    number = [each.id for each in course.modules].index(module.id) + by
    while 0 <= number < len(course.modules):
        other = course.modules[number]
        yield from (ModulePage(other, page) for page in _pages(other)[::by])
        number += by


def _pages(module: Module) -> tuple[Step, ...]:
    return (*([module.pretest] if module.pretest else []), *module.steps)


class Branch(NamedTuple):
    """Where a page leads."""

    following: ModulePage | None
    """Next page of the student's path; None at its end."""
    deeper: tuple[Step, ...]
    """Pages off the path between here and the next page of the path in this module."""
    passed_over: tuple[Step, ...]
    """Pages up to `following` that the student knows by the pre-test."""
    is_off_path: bool
    """True if the page itself is off the path."""


def branch(course: Course, module: Module, step: Step, journal: Journal) -> Branch:
    """Describe where a page leads a student."""
    record = journal.record
    following = next_on_path(course, module, step, journal)
    known = known_steps(record, module)
    ids = [each.id for each in module.steps]
    at = ids.index(step.id) + 1 if step.id in ids else 0
    end = (
        ids.index(following.step.id)
        if following and following.module.id == module.id and following.step.id in ids
        else len(ids)
    )
    between = module.steps[at : max(at, end)]
    return Branch(
        following,
        _until_path(module.steps[at:], record.path) if step.id != PRETEST else (),
        tuple(page for page in between if page.id in known and page.is_on(record.path)),
        step.id != PRETEST and not step.is_on(record.path),
    )


def _until_path(steps: Sequence[Step], path: CoursePath) -> tuple[Step, ...]:
    """Return the pages up to the first on the path."""
    end = next((at for at, step in enumerate(steps) if step.is_on(path)), len(steps))
    return tuple(steps[:end])


def offer(step: Step) -> str:
    """Return "Deeper: why autotuning stops at half, 5 min"."""
    return f"Deeper: {step.teaser or step.title}, {duration.minutes(step)} min"


def resume(journal: Journal, module: Module) -> Step | None:
    """Return the last open page if it is in this module, its unopened pre-test, or the first unfinished page.

    Unfinished pages of the student's path come first. None if every page of the module is damaged.
    """
    record = journal.record
    here = next((step for step in _pages(module) if (module.id, step.id) == record.position), None)
    if here is not None:
        return here
    if module.pretest and not record.has_visited(module.id):
        return module.pretest
    passed = passed_steps(record, module)
    unfinished = (
        step
        for step in module.steps
        if step.is_on(record.path)
        and step.id not in passed
        and not step.is_done(record.page(module.id, step.id))
    )
    return next(unfinished, module.steps[0] if module.steps else None)


class PathProgress(NamedTuple):
    """Progress of a module along a path."""

    done: int
    total: int
    minutes_left: int | None
    """For the pages that are neither done nor known; None until the module's pages are read."""


def path_progress(module: Module, progress: Progress, path: CoursePath) -> PathProgress | None:
    """Return the progress along a path; None if that needs the module's pages, and they are not read yet."""
    if not module.is_read:
        return PathProgress(progress.done, progress.total, None) if path == "everything" else None
    known = progress.known or (False,) * progress.total
    pages = [
        (step, done, knows)
        for step, done, knows in zip(module.steps, progress.pages, known, strict=True)
        if step.is_on(path)
    ]
    left = (step for step, done, knows in pages if not done and not knows)
    return PathProgress(sum(done for _, done, _ in pages), len(pages), duration.total_minutes(left))


PageState = Literal["done", "known", "wrong", "open"]
"""State of a page in the line of pages; "wrong" after a wrong answer without a later right answer."""


def page_states(journal: Journal, module: Module, progress: Progress) -> tuple[PageState, ...]:
    """Return the state of each page of a module."""
    known = progress.known or (False,) * progress.total
    record = journal.record
    return tuple(
        "done"
        if done
        else "wrong"
        if has_mistake(record.page(module.id, step.id))
        else "known"
        if knows
        else "open"
        for step, done, knows in zip(module.steps, progress.pages, known, strict=True)
    )


def has_mistake(page: PageRecord) -> bool:
    """Return True if an activity's latest answer is wrong, and it has no right answer."""
    return any(
        each.right is None and each.latest is not None and each.latest.correct is False
        for each in page.activities.values()
    )
