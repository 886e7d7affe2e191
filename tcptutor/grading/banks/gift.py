"""GIFT, the text format of Moodle's question banks.

https://docs.moodle.org/en/GIFT_format; escapes and the order of parsing follow Moodle's own importer
(question/format/gift/format.php). A text is a single line: an empty line would end the question.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from tcptutor.grading.banks.items import Bank, BankChoices, BankItem, BankNumber, BankOrder, format_decimal
from tcptutor.grading.banks.pages import with_charts

_ROOT = "tcptutor"
_CONTROL = re.compile(r"[\\#=~{}:]")
_LEADING = {"[": "&#91;", "%": "&#37;"}
"""Leading characters that Moodle would read as a text format or an answer's share."""


def format_gift(bank: Bank) -> str:
    """Return a bank in GIFT, charts included.

    A category holds the questions of a page; a subcategory holds the draws of a question, for a quiz to pick from at
    random.
    """
    return "\n".join(_blocks(bank))


def _blocks(bank: Bank) -> Iterator[str]:
    def address(name: str) -> str:
        return f"data:image/png;base64,{base64.b64encode(bank.charts[name]).decode()}"

    for module in bank.modules:
        for page in module.pages:
            place = f"{_ROOT}/{module.id}/{page.id}"
            single = [group.items[0] for group in page.groups if len(group.items) == 1]
            if single:
                yield f"$CATEGORY: {place}\n"
                yield from (_question(item, address) for item in single)
            for group in page.groups:
                if len(group.items) > 1:
                    yield f"$CATEGORY: {place}/{group.id.rpartition('/')[2]}\n"
                    yield from (_question(item, address) for item in group.items)


def _question(item: BankItem, address: Callable[[str], str]) -> str:
    match item.answers:
        case BankChoices() as choices:
            prefix, answers = "", _choices(choices)
        case BankNumber() as number:
            prefix, answers = "#", _number(number)
        case BankOrder() as order:
            prefix, answers = "", _order(order)
    after = item.explanation + _order_feedback(item.answers)
    return "\n".join(
        [
            f"// {item.id}",
            f"::{_escape(item.title)}::[html]{_escape(with_charts(item.stem, address))}{{{prefix}",
            *(f"\t{answer}" for answer in answers),
            f"\t####{_escape(after)}",
            "}\n",
        ]
    )


def _choices(found: BankChoices) -> Iterator[str]:
    """Yield the choices with their shares: right 100 % in total, wrong -100 %, so that ticking everything gains 0."""
    right = sum(choice.right for choice in found.choices)
    wrong = len(found.choices) - right
    for choice in found.choices:
        if found.is_multiple:
            prefix = f"~%{_share(right) if choice.right else '-' + _share(wrong)}%"
        else:
            prefix = "=" if choice.right else "~"
        yield f"{prefix}{_escape(choice.text)}#{_escape(choice.feedback)}"


def _share(of: int) -> str:
    """Return a share in percent, with as many digits as Moodle compares."""
    return f"{100 / of:.5f}".rstrip("0").rstrip(".")


def _number(found: BankNumber) -> Iterator[str]:
    """Yield the right number first, since Moodle takes the first match; mistakes are worth 0 %."""
    yield f"={format_decimal(found.value)}:{format_decimal(found.tolerance)}#{_escape(found.right)}"
    for slip in found.mistakes:
        yield f"=%0%{format_decimal(slip.value)}:{format_decimal(slip.tolerance)}#{_escape(slip.feedback)}"
    yield f"~#{_escape(found.wrong)}"


def _order(found: BankOrder) -> Iterator[str]:
    """Return the events as pairs with their places: GIFT has no ordering question."""
    return (f"={_escape(event.text)} -> {event.place}" for event in found.events)


def _order_feedback(answers: object) -> str:
    """Return the reason for each event's place: a pair has no feedback of its own."""
    if not isinstance(answers, BankOrder):
        return ""
    events = sorted(answers.events, key=lambda event: event.place)
    return f"<ol>{''.join(f'<li>{event.text}: {event.feedback}</li>' for event in events)}</ol>"


def _escape(text: str) -> str:
    first = _LEADING.get(text[:1], text[:1])
    return _CONTROL.sub(r"\\\g<0>", first + text[1:]).replace("\n", r"\n")
