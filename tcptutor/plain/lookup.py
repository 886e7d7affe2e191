"""Lists and searches: modules, pages of a module, terms, full text, and marking rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tcptutor.base.errors import UsageError
from tcptutor.course import duration
from tcptutor.course.glossary import of_name, readable_glossary
from tcptutor.course.outline import Course, Module
from tcptutor.course.rules import rules
from tcptutor.journal import Journal
from tcptutor.plain.prose import inline_text
from tcptutor.study import pages
from tcptutor.study.matching import Hit, IndexedEntry, PaletteEntry, indexed, search
from tcptutor.study.pages import ModulePage

MOST_HITS = 9
_STATES = {"done": "done", "known": "known by the pre-test", "wrong": "has a wrong answer", "open": "open"}


def modules(course: Course, journal: Journal) -> Iterator[str]:
    """Yield a line for each module with its progress on the student's path."""
    progress = journal.progress(course)
    for module in course.modules:
        of_path = pages.path_progress(module, progress[module.id], journal.record.path)
        done = f": {of_path.done} of {of_path.total} pages done" if of_path else ""
        left = f", {duration.in_words(of_path.minutes_left)} left" if of_path and of_path.minutes_left else ""
        yield f"{module.number}. {module.title}{done}{left}."


def module_pages(course: Course, module: Module, journal: Journal) -> Iterator[str]:
    """Yield a line for each page of a module with its state."""
    states = pages.page_states(journal, module, journal.progress(course)[module.id])
    path = journal.record.path
    for step, state in zip(module.steps, states, strict=True):
        deeper = "" if step.is_on(path) else ", deeper"
        yield f"{ModulePage(module, step).title}: {_STATES[state]}{deeper}."


def page_of_number(course: Course, words: str) -> ModulePage:
    """Return the page of "1.3", "MODULE.3", "MODULE/PAGE" or "1.0" for a pre-test.

    Raises:
        UsageError: The course has no such page.
    """
    if (found := pages.find_page(course, words)) is not None:
        return ModulePage(*found)
    of_module, dot, of_page = words.strip().partition(".")
    module = next((each for each in course.modules if of_module in (str(each.number), each.id)), None)
    if module is None or (dot and not of_page.isdecimal()):
        numbers = f"{course.modules[0].number}.1" if course.modules else ""
        raise UsageError(f"{words[:40]!r} is no page: write its number, such as {numbers}, or a module's")
    if dot and int(of_page) == 0 and module.pretest is not None:
        return ModulePage(module, module.pretest)
    if not dot or not 1 <= int(of_page) <= len(module.steps):
        raise UsageError(
            f"module {module.number} has the pages {module.number}.1 to {module.number}.{len(module.steps)}"
        )
    return ModulePage(module, module.steps[int(of_page) - 1])


def term_lines(course: Course, words: str) -> Iterator[str]:
    """Yield the explanation of a term.

    Raises:
        UsageError: The glossary does not contain the term.
    """
    terms = readable_glossary(course.root, course.language)
    term = of_name(terms, words)
    if term is None:
        close = [hit.entry.title for hit in _hits(words, course) if hit.entry.group == "terms"][:3]
        like = f": did you mean {', or '.join(close)}?" if close else ""
        raise UsageError(f"the glossary has no {words[:40]!r}{like}")
    yield f"{term.title}: {inline_text(term.text)}"
    if (found := pages.find_page(course, term.page)) is not None:
        yield f"Explained on {ModulePage(*found).title}."


def found(words: str, course: Course) -> Sequence[Hit]:
    """Return up to `MOST_HITS` pages and terms that contain the words, best match first."""
    return _hits(words, course)[:MOST_HITS]


def hit_line(hit: Hit) -> str:
    """Format a hit as a line."""
    about = f": {inline_text(hit.entry.about)}" if hit.entry.about else ""
    return f"{hit.entry.kind}, {hit.entry.title}{about}"


def _hits(words: str, course: Course) -> list[Hit]:
    return search(words, [*_entries(course)])


def _entries(course: Course) -> Iterator[IndexedEntry]:
    for module in course.modules:
        for number, step in enumerate(module.steps, start=1):
            yield indexed(
                PaletteEntry(
                    "pages",
                    step.title,
                    f"page {module.number}.{number}",
                    step.subtitle,
                    lambda: None,
                    step.prose,
                )
            )
    for term in readable_glossary(course.root, course.language):
        yield indexed(PaletteEntry("terms", term.title, "term", term.text, lambda: None, names=term.forms))


def mark_lines(course: Course, student: str) -> Iterator[str]:
    """Yield the line about the student, then the marking rules."""
    yield student
    yield from (f"{subject}: {sentence}." for subject, sentence in rules(course.marks))
