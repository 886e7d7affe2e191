"""Numbers drawn anew for each attempt at a question, and the texts that contain them.

A draw holds values as written, "32 KiB": the student reads them, the journal stores them, and the question
can be marked again with them. Expressions use base units: bytes, s, bit/s, ratios, plain numbers.

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

from tcptutor.base import sizes, units
from tcptutor.base.errors import UnitError, UsageError, unknown
from tcptutor.course.quantities import FUNCTIONS, ParsedQuantity, expression, with_unit

Draw: TypeAlias = Mapping[str, str]
"""Drawn values as written, by name."""

AnswerUnit = Literal["rate", "time", "ratio", "size", "count", "number"]
"""Kinds of quantities a question may ask for or write."""

ANSWER = "answer"
MOST_VALUES = 200
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_DIGITS = 4
"""Significant digits of a computed value."""


class DrawnRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Evenly spaced values in a common unit: `rtt = { from = "20 ms", to = "100 ms", step = "10 ms" }`."""

    start: str | int | float = msgspec.field(name="from")
    """Smallest value."""
    end: str | int | float = msgspec.field(name="to")
    """Largest value."""
    step: str | int | float
    """Distance between two values."""

    def values(self) -> tuple[str, ...]:
        """Return the values from first to last.

        Raises:
            UsageError: The units differ, or the range is empty or too long.
        """
        (first, unit), (last, unit_of_last), (step, unit_of_step) = (
            units.split(str(each)) for each in (self.start, self.end, self.step)
        )
        if not unit == unit_of_last == unit_of_step:
            raise UsageError("from, to and step have different units: use one unit")
        if step <= 0 or last < first:
            raise UsageError("from, to and step give no value: set `to` above `from`, and `step` above 0")
        number = int((last - first) / step + 1e-9) + 1
        if number > MOST_VALUES:
            raise UsageError(
                f"from, to and step give {number} values, at most {MOST_VALUES}: use larger steps"
            )
        return tuple(f"{first + at * step:.6g} {unit}".strip() for at in range(number))


Drawn: TypeAlias = tuple[str | int | float, ...] | DrawnRange
"""Possible values of a name: a list or a range."""


@lru_cache(maxsize=256)
def values(drawn: Drawn) -> tuple[str, ...]:
    """Return all possible values, as written.

    Raises:
        UsageError: The list is shorter than two, or a value is not a quantity.
    """
    found = drawn.values() if isinstance(drawn, DrawnRange) else tuple(map(str, drawn))
    if len(set(found)) < 2:
        raise UsageError("too few values to draw from: give two or more different ones")
    kinds = {quantity(each).kind for each in found}
    if len(kinds) > 1:
        raise UsageError(
            f"{found[0]!r} and the other values have different kinds ({', '.join(sorted(kinds))}): use one kind"
        )
    return found


@lru_cache(maxsize=4096)
def quantity(written: str) -> ParsedQuantity:
    """Parse "20 ms"; text without a unit is a plain number.

    Raises:
        UnitError: The text is not a quantity.
    """
    if units.is_plain(written):
        return ParsedQuantity(units.parse(written, "number"), "number")
    found = with_unit(written)
    if found is None:
        raise UnitError(
            f"{written!r} is not a quantity: write it like '20 ms', '64 KiB', '10 Mbit/s', '0.1 %' or '8'"
        )
    return found


def in_base_units(draw: Draw) -> dict[str, float]:
    """Return the drawn values as bytes, s, bit/s, ratios, or plain numbers.

    Raises:
        UnitError: A value is not a quantity.
    """
    return {name: quantity(written).value for name, written in draw.items()}


def drawn(of: Mapping[str, Drawn], seed: str) -> dict[str, str]:
    """Draw a value per name; the same seed gives the same draw on every machine."""
    generator = random.Random(seed)
    return {name: generator.choice(values(each)) for name, each in of.items()}


def write(found: ParsedQuantity) -> str:
    """Format a computed value in a few digits, so that `base.units.parse` can read it."""
    return sizes.rounded(found.value, found.kind, _DIGITS)


def placeholders(text: str) -> list[str]:
    """Return the contents of all braces in `text`."""
    return [match[1].strip() for match in _PLACEHOLDER.finditer(text)]


def names_in(text: str) -> frozenset[str]:
    """Return the drawn names a text uses.

    Raises:
        UsageError: A placeholder is not an expression.
    """
    found: set[str] = set()
    for each in placeholders(text):
        found |= expression(each.rpartition(":")[0] or each).names
    return frozenset(found - {ANSWER})


def worked_out(placeholder: str, quantities: Mapping[str, float], answer: ParsedQuantity) -> ParsedQuantity:
    """Evaluate a placeholder that is not a drawn name.

    Raises:
        UsageError: The placeholder is not an expression with a kind.
    """
    if placeholder == ANSWER:
        return answer
    text, colon, kind = (part.strip() for part in placeholder.rpartition(":"))
    if not colon and placeholder.isidentifier():
        raise UsageError(unknown("name", placeholder, (*quantities, ANSWER)))
    if not colon:
        raise UsageError(f"{{{placeholder}}} has no kind: write it like {{{placeholder}: time}}")
    if kind not in get_args(AnswerUnit):
        raise UsageError(unknown("kind", kind, get_args(AnswerUnit)))
    expression(text).check(quantities)
    return ParsedQuantity(expression(text).value(quantities), kind)


def filled(text: str, draw: Draw, answer: ParsedQuantity) -> str:
    """Replace every placeholder in `text`.

    Raises:
        UsageError: A placeholder is not a name or an expression.
    """
    quantities = in_base_units(draw)

    def written(match: re.Match[str]) -> str:
        inside = match[1].strip()
        return draw[inside] if inside in draw else write(worked_out(inside, quantities, answer))

    return _PLACEHOLDER.sub(written, text)


def left_open(text: str) -> str:
    """Return `text` with "…" for each value that is not drawn yet."""
    return _PLACEHOLDER.sub("…", text)


def unfit_names(of: Mapping[str, Drawn]) -> Iterator[str]:
    """Yield the names an expression cannot use."""
    for name in of:
        if not name.isidentifier() or iskeyword(name) or name in FUNCTIONS or name == ANSWER:
            yield name
