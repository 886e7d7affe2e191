"""Quantities with units in a text, "8.97 Mbit/s", and arithmetic over them, "window * 8 / rtt"."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError, unknown

_UNIT = r"[kMG]?bit/s|m?s\b|µs\b|[kKMG]i?B\b|bytes?\b|%"
# A match starts only at the first digit of a number, so that long numbers take linear time.
_QUANTITY = re.compile(rf"(?<!\d)(?P<number>\d++(?:,\d{{3}})*+(?:\.\d++)?)\s*+\**+\s*+(?P<unit>{_UNIT})")
_WORDS = (
    (re.compile(r"(?<!\d)(?<!\d\.)(\d[\d.]*+) million bits? (?:per|a|in a) second"), r"\1 Mbit/s"),
    (re.compile(r"(?<!\d)(?<!\d\.)(\d[\d.]*+) million bytes"), r"\1 MB"),
)
KINDS = ("rate", "time", "ratio", "size")


class ParsedQuantity(NamedTuple):
    """Number and its kind."""

    value: float
    """In the base unit."""
    kind: str


@lru_cache(4096)
def with_unit(written: str) -> ParsedQuantity | None:
    """Parse "20 ms" by the kind of its unit; return None for text without a unit."""
    for kind in KINDS:
        try:
            return ParsedQuantity(units.parse(written, kind), kind)
        except UnitError:
            continue
    return None


class WrittenQuantity(NamedTuple):
    """Position and value of a quantity in a text."""

    start: int
    end: int
    text: str
    kind: str
    value: float
    """In the base unit of its kind."""


def quantities(text: str) -> list[WrittenQuantity]:
    """Return the quantities in `text`, in order; numbers without a unit are skipped."""
    found = []
    for match in _QUANTITY.finditer(text):
        written = f"{match['number'].replace(',', '')} {match['unit']}"
        if (parsed := with_unit(written)) is not None:
            found.append(WrittenQuantity(match.start(), match.end(), match[0], parsed.kind, parsed.value))
    return found


def in_words(text: str) -> str:
    """Rewrite "9 million bits per second" as "9 Mbit/s"."""
    for pattern, written in _WORDS:
        text = pattern.sub(written, text)
    return text


_ROUNDING = 1e-9
"""Relative slack so that a value exactly at the tolerance counts in spite of binary rounding."""


def is_close(value: float, right: float, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Return True if `value` is within `absolute`, or within the relative tolerance, of `right`."""
    allowed = max(abs(right) * (relative + _ROUNDING), absolute + abs(right) * _ROUNDING)
    return math.isclose(value, right, rel_tol=0, abs_tol=allowed)


def slip(value: float, right: float, kind: str) -> str:
    """Return a sentence about an error by a factor of 8 or a power of ten, or an empty string."""
    if not value or not right or kind == "count":
        return ""
    factor = max(value / right, right / value)
    if not 1 < factor < 1e12:
        return ""
    if math.isclose(factor, 8, rel_tol=0.02) and kind in ("rate", "size"):
        return "That is off by a factor of 8: bits or bytes? "
    power = round(math.log10(factor))
    if power >= 1 and math.isclose(factor, 10**power, rel_tol=0.02):
        return f"That is off by a factor of {10**power}: look at the decimal point and the prefix. "
    return ""


OPERATORS: Mapping[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "min": min,
    "max": max,
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
}
_LONGEST = 200
"""Most characters: deep nesting could exhaust the parser."""


class Expression:
    """Parsed arithmetic expression. Raises UsageError for any other text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._root = _parsed(text)
        self.names = frozenset(
            node.id
            for node in ast.walk(self._root)
            if isinstance(node, ast.Name) and node.id not in FUNCTIONS
        )
        """Quantities the expression uses."""

    def check(self, known: Iterable[str]) -> None:
        """Check that every name is `known`.

        Raises:
            UsageError: A name is unknown.
        """
        known = tuple(known)
        for name in sorted(self.names - set(known)):
            raise UsageError(f"{self.text!r}: {unknown('name', name, known)}")

    def value(self, quantities: Mapping[str, float]) -> float:
        """Evaluate the expression.

        Raises:
            UsageError: The value is not finite, for example after a division by zero.
        """
        try:
            value = float(_value(self._root, quantities))
        except KeyError as error:
            raise UsageError(f"{self.text!r}: no drawn value {error}") from None
        except (ArithmeticError, ValueError, TypeError) as error:
            raise UsageError(f"{self.text!r} cannot be evaluated: {error}") from None
        if not math.isfinite(value):
            raise UsageError(f"{self.text!r} is not finite")
        return value


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """Parse `text`, with a cache.

    Raises:
        UsageError: The text is not arithmetic.
    """
    return Expression(text)


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise UsageError(f"an expression of {len(text)} characters, at most {_LONGEST}: simplify it")
    example = "'window * 8 / rtt'"
    unreadable = UsageError(f"{text!r} is not an expression: write arithmetic like {example}")
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise unreadable from None
    _check(root, text)
    return root


def _check(node: ast.expr, text: str) -> None:
    """Allow only numbers, names, operators and the functions."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return
        case ast.Name(id=name) if name not in FUNCTIONS:
            return
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            parts = [left, right]
        case ast.UnaryOp(op, operand) if type(op) in OPERATORS:
            parts = [operand]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            parts = args
        case _:
            written = ast.get_source_segment(text.strip(), node) or text
            raise UsageError(f"{written!r} is not allowed: write + - * / ** and {', '.join(FUNCTIONS)}")
    for part in parts:
        _check(part, text)


def _value(node: ast.expr, quantities: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]  # powers of integers could fill the memory
        case ast.Name(id=name):
            return quantities[name]
        case ast.BinOp(left, op, right):
            return OPERATORS[type(op)](_value(left, quantities), _value(right, quantities))
        case ast.UnaryOp(op, operand):
            return OPERATORS[type(op)](_value(operand, quantities))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(arg, quantities) for arg in args))
    raise AssertionError("was checked")  # pragma: no cover
