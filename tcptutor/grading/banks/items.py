"""The course's questions as plain items, the common source of all bank formats.

A question that draws numbers becomes a group of several items, an item per draw: a quiz asks a single item of a group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import structs

from tcptutor.base import units
from tcptutor.course.activities.choice import ChoiceQuestion, Order
from tcptutor.course.activities.numeric import MIN_TOLERANCE_DRAWN, Numeric
from tcptutor.course.activity import Activity, Question
from tcptutor.course.outline import Module
from tcptutor.course.personal import DRAWS_AGAIN
from tcptutor.course.pointers import ALONE, EVERYWHERE, without_pointers
from tcptutor.course.step import Step
from tcptutor.grading.banks.pages import PageContext, RecordedPages, inline, paragraphs

VARIANTS = 5
"""Default number of draws of a question that draws numbers."""

OWN_RUN = "marked by the student's own run"
BY_HAND = "about work by hand on the page"
NOT_RECORDED = "about a run that is not recorded"
NO_FORM = "of a kind that course systems lack"
NOT_ALONE = "that makes no sense outside its page"


class BankChoice(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    right: bool
    feedback: str
    fixed: bool
    """True if it keeps its place when the others are shuffled."""


class BankChoices(msgspec.Struct, frozen=True, kw_only=True):
    """Options with a single right answer, or with several right answers."""

    is_multiple: bool
    choices: tuple[BankChoice, ...]
    """Shuffled, for course systems that do not shuffle them themselves."""


class BankSlip(msgspec.Struct, frozen=True, kw_only=True):
    """A common wrong number."""

    value: Decimal
    tolerance: Decimal
    text: str
    """With its unit."""
    feedback: str


class BankNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A number, in the unit that the stem names."""

    value: Decimal
    tolerance: Decimal
    """Absolute."""
    right: str
    """Feedback on a right number."""
    wrong: str
    mistakes: tuple[BankSlip, ...] = ()


class BankEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event to be put in order."""

    text: str
    place: int
    """From 1."""
    feedback: str


class BankOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Events to be put in order, listed out of order."""

    events: tuple[BankEvent, ...]


Exportable: TypeAlias = ChoiceQuestion | Numeric | Order
"""Questions of the kinds that course systems have."""
Answers: TypeAlias = BankChoices | BankNumber | BankOrder


class BankItem(msgspec.Struct, frozen=True, kw_only=True):
    """A question as a course system asks it. All texts are HTML."""

    id: str
    """MODULE/PAGE/QUESTION, followed by the number of the draw if the question has several draws."""
    title: str
    """Plain text."""
    stem: str
    answers: Answers
    explanation: str
    """Why the right answer is right."""


class BankGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A question: a single item, or an item per draw."""

    id: str
    """MODULE/PAGE/QUESTION"""
    title: str
    items: tuple[BankItem, ...]


class BankPage(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of a page."""

    id: str
    groups: tuple[BankGroup, ...]


class BankModule(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of a module that have questions."""

    id: str
    title: str
    pages: tuple[BankPage, ...]

    @property
    def groups(self) -> Iterator[BankGroup]:
        """Return the questions of all its pages."""
        return (group for page in self.pages for group in page.groups)


class Exam(NamedTuple):
    """An exam with numbers of its own."""

    name: str
    """Also the category of its questions."""
    seed: Callable[[str], str]
    """Returns the seed of a draw, by EXAM/MODULE/PAGE/QUESTION/NUMBER; only the course's key can compute it."""


class Bank(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the course as a bank."""

    title: str
    modules: tuple[BankModule, ...]
    charts: Mapping[str, bytes]
    """PNG files that the stems show, by name."""
    omitted: Mapping[str, int]
    """Number of omitted questions, by reason."""

    @property
    def questions(self) -> int:
        """Return the number of questions; draws count once."""
        return sum(1 for module in self.modules for _ in module.groups)

    @property
    def items(self) -> int:
        """Return the number of items; each draw counts."""
        return sum(len(group.items) for module in self.modules for group in module.groups)


def build_bank(
    title: str,
    modules: Sequence[Module],
    recorded: RecordedPages,
    draw_variants: int = VARIANTS,
    exam: Exam | None = None,
) -> Bank:
    """Build a bank of the modules' questions, with the recorded runs for questions about runs.

    Without an exam, the numbers are drawn in public: every copy of the course makes the same bank.
    """
    builder = _BankBuilder(recorded, draw_variants, exam)
    pages_of_modules = tuple(
        BankModule(
            id=builder.within(module.id),
            title=f"{exam.name}: {module.title}" if exam else module.title,
            pages=tuple(page for step in module.steps if (page := builder.page(module, step)).groups),
        )
        for module in modules
    )
    return Bank(
        title=title,
        modules=tuple(module for module in pages_of_modules if module.pages),
        charts=builder.charts,
        omitted=dict(builder.omitted),
    )


class _BankBuilder:
    """Makes items; owns their charts and the count of omitted questions."""

    def __init__(self, recorded: RecordedPages, draw_variants: int, exam: Exam | None) -> None:
        self._recorded, self._variants, self._exam = recorded, draw_variants, exam
        self.charts: dict[str, bytes] = {}
        self.omitted: Counter[str] = Counter()

    def within(self, id_: str) -> str:
        """Return the id within the exam, so that no system takes the questions of two exams for the same."""
        return f"{self._exam.name}/{id_}" if self._exam else id_

    def page(self, module: Module, step: Step) -> BankPage:
        questions = step.activities_of(Question)
        about = any(question.about_run and not question.against_run for question in questions)
        shown = self._recorded.page(module, step) if about else None
        groups = []
        for question in questions:
            if reason := _omission_reason(step, question, shown):
                self.omitted[reason] += 1
                continue
            context = shown.html if question.about_run and shown else ""
            id_ = self.within(f"{module.id}/{step.id}/{question.id}")
            groups.append(self._group(id_, step, question, context))
            if context and shown:
                self.charts |= shown.charts
        return BankPage(id=step.id, groups=tuple(groups))

    def _group(self, id_: str, step: Step, question: Question, context: str) -> BankGroup:
        title = f"{step.title}: {question.id.replace('-', ' ')}"
        seed = self._exam.seed if self._exam else public_seed
        if not question.draw_numbers(id_):
            items = [_item(id_, title, question, context, seed)]
        else:
            items = [
                _item(f"{id_}/{number}", f"{title} ({number})", posed, context, seed)
                for number, posed in enumerate(draw_variants(id_, question, self._variants, seed), start=1)
            ]
        return BankGroup(id=id_, title=title, items=tuple(items))


def _omission_reason(step: Step, question: Question, shown: PageContext | None) -> str:
    """Return why the question cannot be asked outside its page; empty where it can."""
    if question.against_run:
        return OWN_RUN
    if not isinstance(question, Exportable):
        return NO_FORM
    if not question.bank:
        return NOT_ALONE
    if step.shell is not None:
        return BY_HAND
    if question.about_run and shown is None:
        return NOT_RECORDED
    return ""


def public_seed(item: str) -> str:
    """Return the seed of a draw that every copy of the course makes alike."""
    return f"bank/{item}"


def draw_variants(
    id_: str, question: Question, count: int, seed: Callable[[str], str] = public_seed
) -> Iterator[Activity]:
    """Yield the question with up to `count` different draws; equal seeds give equal draws."""
    draws: list[dict[str, str]] = []
    for number in range(1, count * DRAWS_AGAIN + 1):
        draw = question.draw_numbers(seed(f"{id_}/{number}"))
        if draw not in draws:
            draws.append(draw)
            yield question.with_numbers(draw)
        if len(draws) == count:
            return


def _item(id_: str, title: str, question: Activity, context: str, seed: Callable[[str], str]) -> BankItem:
    assert isinstance(question, Exportable)
    question = standalone(question)
    stem = context + paragraphs(question.prompt)
    answers: Answers
    match question:
        case Numeric():
            stem += f"<p><em>{_unit_instruction(question)}</em></p>"
            answers = _number(question)
        case Order():
            stem += "<p><em>Give each its place in the order, from 1 on.</em></p>"
            answers = _order(question, seed(id_))
        case _:
            stem += "<p><em>Choose all that hold.</em></p>" if question.several else ""
            answers = _choices(question, seed(id_))
    return BankItem(
        id=id_, title=title, stem=stem, answers=answers, explanation=paragraphs(question.explanation)
    )


def standalone(question: Exportable) -> Exportable:
    """Return the question without the sentences of its feedback and explanations that point at its page."""
    kinds = EVERYWHERE if question.about_run else ALONE

    def kept(text: str) -> str:
        return without_pointers(text, kinds)

    found = structs.replace(question, explanation=kept(question.explanation))
    if isinstance(found, ChoiceQuestion):
        choices = (
            structs.replace(each, feedback=kept(each.feedback), explanation=kept(each.explanation))
            for each in found.choices
        )
        return structs.replace(found, choices=tuple(choices))
    if isinstance(found, Order):
        events = tuple(structs.replace(each, feedback=kept(each.feedback)) for each in found.events)
        return structs.replace(found, events=events)
    mistakes = tuple(structs.replace(each, feedback=kept(each.feedback)) for each in found.mistakes)
    return structs.replace(found, feedback=kept(found.feedback), mistakes=mistakes)


def _choices(question: ChoiceQuestion, seed: str) -> BankChoices:
    listed = (question.choices[index] for index in question.shown_order(seed))
    return BankChoices(
        is_multiple=question.several,
        choices=tuple(
            BankChoice(
                text=inline(each.text),
                right=each.correct,
                feedback=inline(f"{each.feedback} {each.explanation}"),
                fixed=each.fixed,
            )
            for each in listed
        ),
    )


def _order(question: Order, seed: str) -> BankOrder:
    listed = ((place, question.events[place]) for place in question.shown_order(seed))
    return BankOrder(
        events=tuple(
            BankEvent(text=inline(event.text), place=place + 1, feedback=inline(event.feedback))
            for place, event in listed
        )
    )


def _unit_instruction(question: Numeric) -> str:
    """Return the instruction for the unit: a course system accepts only a bare number."""
    unit = units.split(question.answer)[1]
    if unit:
        return f"Give the answer in {unit}, as a number without the unit."
    return f"Give the answer as a {'whole ' if question.unit == 'count' else ''}number."


def _number(question: Numeric) -> BankNumber:
    value, unit = units.split(question.answer)
    right = _decimal(value)
    return BankNumber(
        value=right,
        tolerance=abs(right) * _decimal(question.tolerance),
        right=f"The answer is {inline(question.answer)}.",
        wrong=inline(question.feedback),
        mistakes=tuple(_mistakes(question, unit)),
    )


def _mistakes(question: Numeric, unit: str) -> Iterator[BankSlip]:
    """Yield the known mistakes in the unit of the answer, with the tolerance of the course."""
    scale = units.parse(f"1 {unit}".strip(), question.unit)
    near = _decimal(max(question.tolerance, MIN_TOLERANCE_DRAWN))
    for each in question.mistakes:
        value = _decimal(units.parse(each.value, question.unit) / scale)
        yield BankSlip(
            value=value, tolerance=abs(value) * near, text=inline(each.value), feedback=inline(each.feedback)
        )


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.12g}")


def format_decimal(value: Decimal) -> str:
    """Return all digits, without an exponent."""
    return f"{value.normalize():f}"
