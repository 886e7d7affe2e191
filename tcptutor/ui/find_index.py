"""Search index of pages, terms, formulas, experiments, questions and runs.

The entries of a page are indexed again once the student's work on it has changed: questions can be found on visited
pages, explanations only once they were shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from tcptutor.course.activity import Question
from tcptutor.course.draws import left_open
from tcptutor.course.glossary import readable_glossary
from tcptutor.course.outline import Module
from tcptutor.course.page_record import PageRecord
from tcptutor.course.page_references import without_links
from tcptutor.course.step import Step
from tcptutor.journal.fold import JournalRecord
from tcptutor.study.matching import IndexedEntry, PaletteEntry, indexed
from tcptutor.study.past_answers import given_answer
from tcptutor.theory.catalogue import GROUPS, PublishedModel
from tcptutor.ui.screens.base import Tutor

_SIGNS = {True: "✓ ", False: "✗ ", None: ""}


class _IndexedPage(NamedTuple):
    record: PageRecord
    """Work on the page when it was indexed."""
    entries: tuple[IndexedEntry, ...]


class FindIndex:
    """Index of the course for a student. `update` may be called in a thread."""

    def __init__(self, tutor: Tutor) -> None:
        self._tutor = tutor
        self._pages: dict[tuple[str, str], _IndexedPage] = {}
        self._fixed: tuple[IndexedEntry, ...] = ()
        """Terms and formulas."""

    def update(self, record: JournalRecord) -> list[IndexedEntry]:
        """Index changed pages, and return the entries of the course: pages before terms and formulas."""
        found: list[IndexedEntry] = []
        for module in self._tutor.course.modules:
            found += map(indexed, self._modules(module, record))
            for number, step in enumerate(module.steps, start=1):
                key, page = (module.id, step.id), record.page(module.id, step.id)
                known = self._pages.get(key)
                if known is None or known.record != page:
                    entries = tuple(map(indexed, self._page(module, number, step, page)))
                    known = self._pages[key] = _IndexedPage(page, entries)
                found += known.entries
        self._fixed = self._fixed or tuple(map(indexed, (*self._terms(), *self._formulas())))
        return [*found, *self._fixed]

    def _modules(self, module: Module, record: JournalRecord) -> Iterator[PaletteEntry]:
        tutor, kind = self._tutor, f"module {module.number}"
        about = "; ".join(module.objectives) or "open this module"
        go: Callable[[], object] = partial(tutor.open_module, module.id)
        yield PaletteEntry("pages", module.title, kind, about, go, is_offered=True)
        if record.has_visited(module.id):
            about = "what you can do now, your best and worst predictions, your error over time"
            yield PaletteEntry(
                "pages", f"Summary of {module.title}", kind, about, partial(_show_summary, tutor, module)
            )

    def _page(self, module: Module, number: int, step: Step, page: PageRecord) -> Iterator[PaletteEntry]:
        go = partial(self._tutor.open_step, module, step)
        kind = f"page {module.number}.{number}"
        about = step.subtitle or f"{module.number} {module.title}"
        text = f"{step.prose} {step.after_run}" if step.has_run(page) else step.prose
        topic = step.title.partition(":")[0].removeprefix("The ")
        yield PaletteEntry("pages", step.title, kind, about, go, text, page.bookmarked, names=(topic,))
        if experiment := step.experiment or step.sweep:
            name = experiment.name.partition("/")[2]
            yield PaletteEntry("experiments", step.experiments[0].title, kind, name, go, names=(name,))
        for question in step.activities_of(Question) if page.visited else ():
            if not question.about_run or step.has_run(page):
                show = partial(self._tutor.open_activity, module, step, question.id)
                yield _question(question, page, f"question {module.number}.{number}", show)

    def _terms(self) -> Iterator[PaletteEntry]:
        course = self._tutor.course
        pages = {f"{module.id}/{step.id}" for module in course.modules for step in module.steps}
        for term in readable_glossary(course.root, course.language):
            if term.page in pages:
                also = f" ({', '.join(term.other_words)})" if term.other_words else ""
                show = partial(self._tutor.open_glossary, term)
                yield PaletteEntry("terms", f"{term.title}{also}", "term", term.text, show, names=term.forms)

    def _formulas(self) -> Iterator[PaletteEntry]:
        for models in GROUPS.values():
            for model in models:
                title = f"{model.gives[:1].upper()}{model.gives[1:]}"
                yield PaletteEntry(
                    "formulas",
                    title,
                    "formula",
                    f"{model.formula} · {model.source}",
                    partial(_show_formula, self._tutor, model),
                    names=(f"{model.name.replace('_', ' ')} formula",),
                )


def _question(question: Question, page: PageRecord, kind: str, go: Callable[[], object]) -> PaletteEntry:
    record = page.activity(question.id)
    response = record.right or record.latest
    if response is None:
        prompt = " ".join(left_open(without_links(question.prompt)).split())
        return PaletteEntry("questions", prompt, kind, "not answered yet", go)
    given = given_answer(question, response)
    about = f"{_SIGNS[given.is_right]}{given.answer}"
    explanation = question.explanation if record.right else ""
    return PaletteEntry(
        "questions", " ".join(given.prompt.split()), kind, about, go, f"{given.answer}. {explanation}"
    )


def _show_summary(tutor: Tutor, module: Module) -> None:
    from tcptutor.ui.screens.module_end import module_end  # noqa: PLC0415  # seldom needed

    tutor.push_screen(module_end(tutor, module, "close"), lambda _: None)


def _show_formula(tutor: Tutor, model: PublishedModel) -> None:
    from tcptutor.ui.screens.dialogs import CommandLineScreen  # noqa: PLC0415  # seldom needed

    examples = " ".join(f"{each.name}={each.quantity.example}" for each in model.parameters if each.required)
    remark = f"{model.gives} = {model.formula}\n{model.source}"
    tutor.push_screen(CommandLineScreen(f"tcptutor model {model.name} {examples}", remark), lambda _: None)
