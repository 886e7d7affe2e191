"""Facts about a module on the home screen: the page that Enter opens, unfinished pages, and objectives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tcptutor.course import duration
from tcptutor.course.outline import Module
from tcptutor.journal import Journal
from tcptutor.study import pages
from tcptutor.ui.widgets.home.facts import HomeFacts
from tcptutor.ui.widgets.home.text import count_pages, name_of
from tcptutor.ui.widgets.page.text import hanging


def entering_lines(
    journal: Journal, modules: Sequence[Module], facts: HomeFacts, module: Module
) -> Iterator[Content]:
    """Yield the target of Enter on a module, and the earlier modules to finish before a new module."""
    if journal.record.has_visited(module.id):
        step = pages.resume(journal, module)
        all_pages = facts.progress[module.id]["everything"]
        how = "reopens" if all_pages.done == all_pages.total else "continues with"
        yield Content.assemble(f"Enter {how} ", (name_of(module, step), "bold"))
        return
    size = ""
    of = facts.progress[module.id].get(facts.path)
    if of is not None and of.total and of.minutes_left is not None:
        size = f": {count_pages(of.total)}, about {duration.in_words(of.minutes_left)}"
    yield Content.assemble("Enter begins ", (name_of(module, None), "bold"), size)
    earlier = [
        name_of(each, None) for each in modules[: modules.index(module)] if _is_unfinished(facts, each)
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


def _is_unfinished(facts: HomeFacts, module: Module) -> bool:
    found = facts.progress[module.id]
    of = found.get(facts.path, found["everything"])
    return of.done < of.total if of.minutes_left is None else bool(of.minutes_left)
