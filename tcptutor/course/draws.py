"""Numbers that a question draws anew each time it comes back, and the texts that name them.

A draw has the values as they are written, "32 KiB": that is what a student reads, what the journal keeps, and what the
question can be marked again by. Expressions have them in base units: bytes, s, bit/s, ratios, plain numbers.

    {window}               the value as written
    {answer}               the right answer
    {rate * rtt / 8: size} an expression, and the kind of quantity to write it as
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from keyword import iskeyword
from typing import Literal, TypeAlias, get_args

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError, unknown
from tcptutor.course.expression import FUNCTIONS, expression
from tcptutor.course.quantities import ParsedQuantity, with_unit

Draw: TypeAlias = Mapping[str, str]
"""The values of one draw as written, by name; empty where nothing is drawn."""

AnswerUnit = Literal["rate", "time", "ratio", "size", "count", "number"]
"""Kinds of quantities that a question may ask for, or write."""

ANSWER = "answer"
MOST_VALUES = 200
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_DIGITS = 4
"""Of a value that was worked out."""


class DrawnRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`rtt = { from = "20 ms", to = "100 ms", step = "10 ms" }`, all in one unit."""

    start: str | int | float = msgspec.field(name="from")
    end: str | int | float = msgspec.field(name="to")
    step: str | int | float

    def values(self) -> tuple[str, ...]:
        """From the first to the last. Raises UsageError."""
        (first, unit), (last, unit_of_last), (step, unit_of_step) = (
            units.split(str(each)) for each in (self.start, self.end, self.step)
        )
        if not unit == unit_of_last == unit_of_step:
            raise UsageError("from, to and step have different units: write them in one")
        if step <= 0 or last < first:
            raise UsageError("from, to and step give no value: `to` is above `from`, and `step` above 0")
        number = int((last - first) / step + 1e-9) + 1
        if number > MOST_VALUES:
            raise UsageError(
                f"from, to and step give {number} values, at most {MOST_VALUES}: take larger steps"
            )
        return tuple(f"{first + at * step:.6g} {unit}".strip() for at in range(number))


Drawn: TypeAlias = tuple[str | int | float, ...] | DrawnRange
"""What a name stands for: some values, or a range."""


@lru_cache(maxsize=256)
def values(drawn: Drawn) -> tuple[str, ...]:
    """All that it may be, as written. Raises UsageError for none, and for what is no quantity."""
    found = drawn.values() if isinstance(drawn, DrawnRange) else tuple(map(str, drawn))
    if len(set(found)) < 2:
        raise UsageError("nothing to draw from: give two different values or more")
    kinds = {quantity(each).kind for each in found}
    if len(kinds) > 1:
        raise UsageError(
            f"{found[0]!r} and others are of different kinds ({', '.join(sorted(kinds))}): take one"
        )
    return found


@lru_cache(maxsize=4096)
def quantity(written: str) -> ParsedQuantity:
    """That of "20 ms"; one without a unit is a number. Raises UnitError."""
    if units.is_plain(written):
        return ParsedQuantity(units.parse(written, "number"), "number")
    found = with_unit(written)
    if found is None:
        raise UnitError(
            f"{written!r} is no quantity: write it like '20 ms', '64 KiB', '10 Mbit/s', '0.1 %' or '8'"
        )
    return found


def in_base_units(draw: Draw) -> dict[str, float]:
    """Bytes, s, bit/s, ratios, plain numbers. Raises UnitError."""
    return {name: quantity(written).value for name, written in draw.items()}


def drawn(of: Mapping[str, Drawn], seed: str) -> dict[str, str]:
    """One draw; the same for the same seed, on every machine."""
    generator = random.Random(seed)
    return {name: generator.choice(values(each)) for name, each in of.items()}


def write(found: ParsedQuantity) -> str:
    """What was worked out, in few digits, so that `base.units.parse` reads it back."""
    return units.rounded(found.value, found.kind, _DIGITS)


def placeholders(text: str) -> list[str]:
    """What stands in braces."""
    return [match[1].strip() for match in _PLACEHOLDER.finditer(text)]


def names_in(text: str) -> frozenset[str]:
    """The drawn names that a text tells or works with. Raises UsageError."""
    found: set[str] = set()
    for each in placeholders(text):
        found |= expression(each.rpartition(":")[0] or each).names
    return frozenset(found - {ANSWER})


def worked_out(placeholder: str, quantities: Mapping[str, float], answer: ParsedQuantity) -> ParsedQuantity:
    """What a placeholder that is no drawn name stands for. Raises UsageError."""
    if placeholder == ANSWER:
        return answer
    text, colon, kind = (part.strip() for part in placeholder.rpartition(":"))
    if not colon and placeholder.isidentifier():
        raise UsageError(unknown("name", placeholder, (*quantities, ANSWER)))
    if not colon:
        raise UsageError(f"{{{placeholder}}} does not say its kind: write it like {{{placeholder}: time}}")
    if kind not in get_args(AnswerUnit):
        raise UsageError(unknown("kind", kind, get_args(AnswerUnit)))
    expression(text).check(quantities)
    return ParsedQuantity(expression(text).value(quantities), kind)


def filled(text: str, draw: Draw, answer: ParsedQuantity) -> str:
    """`text` with a value for each placeholder. Raises UsageError for one that means nothing."""
    quantities = in_base_units(draw)

    def written(match: re.Match[str]) -> str:
        inside = match[1].strip()
        return draw[inside] if inside in draw else write(worked_out(inside, quantities, answer))

    return _PLACEHOLDER.sub(written, text)


def unfit_names(of: Mapping[str, Drawn]) -> Iterator[str]:
    """Names that an expression could not use."""
    for name in of:
        if not name.isidentifier() or iskeyword(name) or name in FUNCTIONS or name == ANSWER:
            yield name
