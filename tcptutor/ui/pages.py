"""Order of a course's pages, progress squares, and the page to resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptutor.course.outline import Course, Module
from tcptutor.journal import Journal, Progress

if TYPE_CHECKING:
    from tcptutor.course.step import Step

DONE, OPEN = "■", "□"


def neighbor(course: Course, module: Module, step: Step, by: int) -> tuple[Module, Step] | None:
    """Return the page `by` pages away, across modules; None past either end. Loads only the modules it crosses."""
    place = [page.id for page in module.steps].index(step.id) + by
    at = [each.id for each in course.modules].index(module.id)
    while place < 0 and at > 0:
        at -= 1
        place += len(course.modules[at].steps)
    while place >= len(course.modules[at].steps) and at < len(course.modules) - 1:
        place -= len(course.modules[at].steps)
        at += 1
    target = course.modules[at]
    return (target, target.steps[place]) if 0 <= place < len(target.steps) else None


def find_page(course: Course, page: str) -> tuple[Module, Step] | None:
    """Return the page MODULE/PAGE; None if the course does not have it."""
    of_module, _, id_ = page.partition("/")
    module = next((each for each in course.modules if each.id == of_module), None)
    step = next((each for each in module.steps if each.id == id_), None) if module else None
    return (module, step) if module and step else None


def next_page_line(course: Course, module: Module, step: Step) -> str:
    """Return the footer line that names the next page."""
    target = neighbor(course, module, step, 1)
    if target is None:
        return "This is the last page of the course."
    next_module, page = target
    where = f"{next_module.number} {next_module.title}: " if next_module.id != module.id else ""
    return f"→ {where}{page.title}"


def resume(journal: Journal, module: Module) -> Step | None:
    """Return the last open page if it is in this module, or the first unfinished page.

    None if every page of the module is damaged.
    """
    position = journal.position()
    here = next((step for step in module.steps if (module.id, step.id) == position), None)
    if here is not None:
        return here
    open_steps = (step for step in module.steps if not step.is_done(journal.page(module.id, step.id)))
    return next(open_steps, module.steps[0] if module.steps else None)


def squares(progress: Progress, here: int | None = None) -> str:
    """Return a square per page, filled if done, with page `here` (from 0) in brackets: "■■[□]□"."""
    signs = [DONE if done else OPEN for done in progress.pages]
    if here is not None:
        signs[here] = f"[{signs[here]}]"
    return "".join(signs)


def few_squares(progress: Progress, number: int) -> str:
    """Return `number` squares for all pages, filled in proportion; all or none only if that is exact."""
    if not 0 < progress.done < progress.total:
        return (DONE if progress.done else OPEN) * number
    full = min(max(1, round(number * progress.done / progress.total)), number - 1)
    return DONE * full + OPEN * (number - full)
