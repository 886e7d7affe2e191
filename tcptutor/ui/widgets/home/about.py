"""Facts about a module on the home screen: the page that Enter opens, unfinished pages, and objectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from textual.content import Content

from tcptutor.course import duration
from tcptutor.course.outline import Module
from tcptutor.journal import Journal, Progress
from tcptutor.ui import pages
from tcptutor.ui.pages import path_progress
from tcptutor.ui.widgets.home.text import count_pages, name_of
from tcptutor.ui.widgets.page.text import hanging


def entering_lines(
    journal: Journal, modules: Sequence[Module], progress: Mapping[str, Progress], module: Module
) -> Iterator[Content]:
    """Yield where Enter on a module leads, and the earlier modules to finish before a new one."""
    if journal.record.has_visited(module.id):
        step = pages.resume(journal, module)
        is_complete = progress[module.id].done == progress[module.id].total
        how = "reopens" if is_complete else "continues with"
        yield Content.assemble(f"Enter {how} ", (name_of(module, step), "bold"))
        return
    size = ""
    of = path_progress(module, progress[module.id], journal.record.path)
    if of is not None and of.total:  # the pages are read
        size = f": {count_pages(of.total)}, about {duration.in_words(of.minutes_left)}"
    yield Content.assemble("Enter begins ", (name_of(module, None), "bold"), size)
    earlier = [
        name_of(each, None)
        for each in modules[: modules.index(module)]
        if _is_unfinished(journal, each, progress[each.id])
    ]
    if earlier:
        names = " and ".join(filter(None, (", ".join(earlier[:-1]), earlier[-1])))
        yield Content.styled(f"Recommended first: {names}. You can begin here anyway.", "$text-muted")


def objective_lines(module: Module, width: int) -> Iterator[Content]:
    """Yield the module's objectives under a heading, if it has any."""
    if module.objectives:
        yield Content.styled("You will", "$text-muted")
    for objective in module.objectives:
        yield from hanging(Content.styled("· ", "$text-muted"), objective, width)


def _is_unfinished(journal: Journal, module: Module, progress: Progress) -> bool:
    of = path_progress(module, progress, journal.record.path)
    return bool(of.minutes_left) if of else progress.done < progress.total
