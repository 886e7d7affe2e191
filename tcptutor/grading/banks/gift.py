"""GIFT, the text format of Moodle's question banks.

https://docs.moodle.org/en/GIFT_format; what is escaped, and in which order things are looked for, is as Moodle's own
importer has it (question/format/gift/format.php). A text is one line: an empty one would end the question.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from tcptutor.grading.banks.items import (
    Bank,
    BankChoices,
    BankItem,
    BankNumber,
    BankOrder,
    written,
)
from tcptutor.grading.banks.markup import with_charts

_ROOT = "tcptutor"
_CONTROL = re.compile(r"[\\#=~{}:]")
_BEGINS = {"[": "&#91;", "%": "&#37;"}
"""What Moodle takes for a text's format, or for an answer's share, where a text begins with it."""


def gift(bank: Bank) -> str:
    """All of it. A category holds the questions of a page; one below it the draws of a question, of which a quiz can
    take one at random. Charts are in the text itself."""
    return "\n".join(_blocks(bank))


def _blocks(bank: Bank) -> Iterator[str]:
    def address(name: str) -> str:
        return f"data:image/png;base64,{base64.b64encode(bank.charts[name]).decode()}"

    for module in bank.modules:
        for page in module.pages:
            place = f"{_ROOT}/{module.id}/{page.id}"
            alone = [group.items[0] for group in page.groups if len(group.items) == 1]
            if alone:
                yield f"$CATEGORY: {place}\n"
                yield from (_question(item, address) for item in alone)
            for group in page.groups:
                if len(group.items) > 1:
                    yield f"$CATEGORY: {place}/{group.id.rpartition('/')[2]}\n"
                    yield from (_question(item, address) for item in group.items)


def _question(item: BankItem, address: Callable[[str], str]) -> str:
    match item.answers:
        case BankChoices() as choices:
            begins, answers = "", _choices(choices)
        case BankNumber() as number:
            begins, answers = "#", _number(number)
        case BankOrder() as order:
            begins, answers = "", _order(order)
    after = item.explanation + _places(item.answers)
    return "\n".join(
        [
            f"// {item.id}",
            f"::{_text(item.title)}::[html]{_text(with_charts(item.stem, address))}{{{begins}",
            *(f"\t{answer}" for answer in answers),
            f"\t####{_text(after)}",
            "}\n",
        ]
    )


def _choices(found: BankChoices) -> Iterator[str]:
    """Of several right ones each is an equal share. The wrong ones take all of it away together: who ticks everything
    gains nothing."""
    right = sum(choice.right for choice in found.choices)
    wrong = len(found.choices) - right
    for choice in found.choices:
        if found.several:
            begins = f"~%{_share(right) if choice.right else '-' + _share(wrong)}%"
        else:
            begins = "=" if choice.right else "~"
        yield f"{begins}{_text(choice.text)}#{_text(choice.feedback)}"


def _share(of: int) -> str:
    """In percent, with as many digits as Moodle compares."""
    return f"{100 / of:.5f}".rstrip("0").rstrip(".")


def _number(found: BankNumber) -> Iterator[str]:
    """The right one comes first: Moodle takes the first that fits. A slip is one of no worth, all else is wrong."""
    yield f"={written(found.value)}:{written(found.tolerance)}#{_text(found.right)}"
    for slip in found.slips:
        yield f"=%0%{written(slip.value)}:{written(slip.tolerance)}#{_text(slip.feedback)}"
    yield f"~#{_text(found.wrong)}"


def _order(found: BankOrder) -> Iterator[str]:
    """As pairs: GIFT knows no order."""
    return (f"={_text(event.text)} -> {event.place}" for event in found.events)


def _places(answers: object) -> str:
    """Why each event stands where it does: a pair has no feedback of its own."""
    if not isinstance(answers, BankOrder):
        return ""
    told = sorted(answers.events, key=lambda event: event.place)
    return f"<ol>{''.join(f'<li>{event.text}: {event.feedback}</li>' for event in told)}</ol>"


def _text(text: str) -> str:
    first = _BEGINS.get(text[:1], text[:1])
    return _CONTROL.sub(r"\\\g<0>", first + text[1:]).replace("\n", r"\n")
